"""Everything about a judged run as one JSON document for other programs."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.conclusion import headline
from fabricgauge.report.interface import Judged, Setting

VERSION = "1.1"


class Document(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-report"):
    """The JSON report; docs/reference/report.md describes each field.

    All quantities are bytes, seconds, bit/s and bytes/s, as in the model. A reader
    accepts every document of the same major version.
    """

    version: str
    overall: Outcome
    headline: str
    virtual: bool
    judged_utc: str
    rules_version: str
    verdicts: tuple[Verdict, ...]
    ceilings: dict[str, Ceiling | Skipped]
    curves: tuple[Curve, ...]
    run: Run
    against: tuple[SuiteCurve, ...]


def render(judged: Judged, _setting: Setting) -> str:
    """The document as JSON on one line: histograms would fill a line per number otherwise."""
    document = Document(
        version=VERSION,
        overall=judged.overall,
        headline=headline(judged),
        virtual=judged.run.fabric.virtual,
        judged_utc=judged.judged_utc,
        rules_version=judged.rules_version,
        verdicts=judged.verdicts,
        ceilings=judged.ceilings,
        curves=judged.curves,
        run=judged.run,
        against=judged.against,
    )
    return msgspec.json.encode(document).decode() + "\n"
