"""What a preflight came to for an issue tracker."""

from collections.abc import Iterator

from fabricgauge.model.finding import Diagnosis
from fabricgauge.report.inert import code, inert
from fabricgauge.report.interface import Setting
from fabricgauge.report.preflight.words import command, conclusion, looked_at, not_looked


def render(diagnosis: Diagnosis, _setting: Setting) -> str:
    """Findings, the worst first, then what could not be looked at; all text is inert."""
    return "\n\n".join(_blocks(diagnosis)) + "\n"


def _blocks(diagnosis: Diagnosis) -> Iterator[str]:
    summary = conclusion(diagnosis)
    yield f"# {inert(summary[:1].upper() + summary[1:])}"
    yield inert(looked_at(diagnosis))
    for finding in diagnosis.findings:
        network = f" ({finding.network})" if finding.network else ""
        place = inert(f"{finding.check}: {finding.where}{network}")
        yield f"## {finding.severity.value} {place}"
        yield f"{inert(finding.what)}."
        yield "\n".join(f"- {inert(line)}" for line in finding.evidence)
        yield f"Why it matters: {inert(finding.why)}"
        yield f"Remedy: {inert(finding.remedy)}"
        if finding.mends:
            yield "\n".join(f"- {code(command(one))}" for one in finding.mends)
    missing = [f"- {inert(f'{what}: {why}')}" for what, why in not_looked(diagnosis)]
    if missing:
        yield "Could not look:"
        yield "\n".join(missing)
