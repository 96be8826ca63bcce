"""Was everything measured that was planned?"""

from fabricgauge.judge import imported
from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject, case_names, launches_of, missing
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.words import sentences

ID = "completeness"
TITLE = "Everything that was planned was measured"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        return imported.judge(ID, subject)
    planned = sum(len(case_names(launch)) for launch in subject.planned)
    lost = missing(subject)
    if not planned:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "nothing was planned")
    figure = Figure(1 - len(lost) / planned, "share", f"of {planned} planned cases were measured")
    threshold = Threshold(1.0, "share", "equal to", "the run's own plan")
    if not lost:
        summary = f"all {planned} planned cases were measured"
        return verdict_on(ID, Outcome.PASS, subject.about, summary, figure, threshold)
    ends = tuple(_ends(subject))
    return verdict_on(
        ID, Outcome.INCONCLUSIVE, subject.about,
        f"{len(lost)} of {planned} planned cases were not measured: {sentences.listed(lost, 3)}"
        + (f"; {ends[0]}" if ends else ""),
        figure, threshold, (*ends, *_reasons(subject)),
        ends[0] if ends else "the cases themselves failed",
        f"mend what the launch says, then measure the rest: {sentences.resume(context.run)}",
    )  # fmt: skip


def _ends(subject: Subject) -> list[str]:
    """What launches that did not end well say, each once."""
    said = [
        f"launch {launch.number}: {launch.ended.message}"
        for launch in subject.launches
        if launch.ended.message
    ]
    never = [
        f"launch {planned.number} was never started"
        for planned in subject.planned
        if not launches_of(subject, planned.number)
    ]
    return [*dict.fromkeys(said), *never]


def _reasons(subject: Subject) -> list[str]:
    return [_sentence(launch, one) for launch in subject.launches for one in _not_ok(launch)]


def _not_ok(launch: Launch) -> list[Measurement]:
    fine = {id(one) for one in launch.completed}
    return [one for one in launch.measurements if id(one) not in fine]


def _sentence(launch: Launch, measurement: Measurement) -> str:
    reason = measurement.reason or "no reason given"
    return f"launch {launch.number} {measurement.case}: {measurement.status}, {reason}"
