"""What a preflight came to as one JSON document for other programs."""

import msgspec

from fabricgauge.model.finding import Checked, Diagnosis
from fabricgauge.report.interface import Setting
from fabricgauge.report.preflight.words import conclusion

#: The version of the document; readers check it.
VERSION = 1


def render(diagnosis: Diagnosis, _setting: Setting) -> str:
    """Everything; ``findings`` are worst first."""
    document = {
        "doctor": VERSION,
        "conclusion": conclusion(diagnosis),
        "nodes": diagnosis.nodes,
        "networks": diagnosis.networks,
        "seconds": diagnosis.seconds,
        "findings": diagnosis.findings,
        "checks": [_row(one) for one in diagnosis.checked],
        "untried": diagnosis.untried,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _row(one: Checked) -> dict[str, object]:
    skipped = {"skipped": one.skipped.reason} if one.skipped else {}
    return {
        "check": one.check,
        "title": one.title,
        "findings": len(one.findings),
        **skipped,
    }
