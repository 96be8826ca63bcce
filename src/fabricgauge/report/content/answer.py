"""Say a run or a preflight in one line, with figures for a monitor; pure."""

from collections.abc import Collection, Iterator

from fabricgauge.model.answer import Form, PerformanceFigure, format_answer
from fabricgauge.model.finding import Diagnosis, Severity
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome, Strictness
from fabricgauge.report.content import monitoring, preflight
from fabricgauge.report.content.conclusion import headline
from fabricgauge.report.interface import Setting

#: Most figures of a run: a monitor stores each as a series of its own.
MOST_FIGURES = 20

#: Gauges that are figures, with their unit for a monitor and the factor to it.
_FIGURES = {
    "bandwidth_ceiling_ratio": ("%", 100.0),
    "latency_seconds": ("s", 1.0),
}


def apply_strictness(outcome: Outcome, fail_on: Collection[Strictness]) -> Outcome:
    """Return FAIL for an outcome that ``--fail-on`` counts as a failure."""
    strict = {"warn": (Outcome.WARN,), "inconclusive": (Outcome.INVALID, Outcome.INCONCLUSIVE)}
    return Outcome.FAIL if any(outcome in strict[name] for name in fail_on) else outcome


def answer_run(judged: Judged, form: Form, outcome: Outcome) -> str:
    return format_answer(form, outcome, headline(judged), _list_figures(judged))


def _list_figures(judged: Judged) -> Iterator[PerformanceFigure]:
    """Yield figures of networks; an INVALID one would be stored as if it were theirs."""
    invalid = {verdict.network for verdict in judged.verdicts if verdict.outcome is Outcome.INVALID}
    count = 0
    for gauge in monitoring.gauges(judged, Setting()):
        if gauge.name not in _FIGURES:
            continue
        unit, factor = _FIGURES[gauge.name]
        for labels, value in gauge.series:
            if invalid & {"", labels["network"]}:
                continue
            count += 1
            if count > MOST_FIGURES:
                return
            ends = f"{labels['origin']}-{labels['target']}"
            label = f"{labels['network']} {labels['pattern']} {ends}"
            yield PerformanceFigure(label, factor * value, unit)


def find_outcome(diagnosis: Diagnosis) -> Outcome:
    """Return the outcome of a preflight: FAIL and WARN by its findings."""
    if not diagnosis.nodes or all(checked.skipped for checked in diagnosis.checked):
        return Outcome.INCONCLUSIVE
    severities = {finding.severity for finding in diagnosis.findings}
    if Severity.FAIL in severities:
        return Outcome.FAIL
    return Outcome.WARN if Severity.WARN in severities else Outcome.PASS


def answer_preflight(diagnosis: Diagnosis, form: Form) -> str:
    """Return the line about a preflight, with the number of findings by severity."""
    counts = [
        PerformanceFigure(
            f"{severity.value} findings",
            sum(finding.severity is severity for finding in diagnosis.findings),
        )
        for severity in Severity
    ]
    return format_answer(form, find_outcome(diagnosis), preflight.conclusion(diagnosis), counts)
