"""What was not measured or not judged, and why."""

from collections.abc import Iterator, Set
from typing import NamedTuple

from fabricgauge.model.absence import Skipped
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome


class Omission(NamedTuple):
    """Something that is missing from a report, with the reason as a sentence."""

    what: str
    why: str


def omissions(judged: Judged) -> tuple[Omission, ...]:
    """Everything that a reader might take for measured or judged although it was not."""
    return (*unmeasured(judged), *_of_rules(judged))


def unmeasured(judged: Judged) -> tuple[Omission, ...]:
    """What is missing of the run itself; rules that were skipped are not among it."""
    launches = judged.run.plan.launches
    return (
        *_of_run(judged.run),
        *_of_fabric(judged),
        *(one for launch in launches for one in _of_launch(judged.run, launch)),
    )


def _of_run(run: Run) -> Iterator[Omission]:
    if not run.complete:
        yield Omission("the rest of the run", "it was broken off before its end")
    for note in run.notes:
        yield Omission("a part of the stored run", note)


def _of_fabric(judged: Judged) -> Iterator[Omission]:
    for node in judged.run.fabric.unreached:
        yield Omission(f"node {node.name}", node.reason)
    for sentence in judged.run.fabric.unjoined:
        yield Omission("a network that was meant", sentence)
    measured = {launch.network for launch in judged.run.plan.launches}
    measured |= {launch.network for launch in judged.run.launches if launch.imported}
    for network in judged.run.fabric.networks:
        if network.name not in measured:
            yield Omission(f"network {network.name}", "no launch of the plan was pinned to it")
    for name, ceiling in judged.ceilings.items():
        if isinstance(ceiling, Skipped):
            yield Omission(f"the ceiling of {name}", ceiling.reason)


def _of_launch(run: Run, planned: PlannedLaunch) -> Iterator[Omission]:
    done = [launch for launch in run.launches if launch.number == planned.number]
    if not done:
        yield Omission(f"launch {planned.number}", "it was never started")
        return
    sound = {one.case for launch in done for one in launch.completed}
    whole = sound >= {case.name for case in planned.cases}
    for launch in done:
        yield from _of_ended(launch, sound, made_up_for=whole and launch is not done[-1])
    measured = {one.case for launch in done for one in launch.measurements}
    missing = [case.name for case in planned.cases if case.name not in measured]
    if missing:
        yield Omission(
            f"launch {planned.number}: {_some(missing)}",
            f"{len(missing)} of {len(planned.cases)} planned cases left no record",
        )


def _of_ended(launch: Launch, sound: Set[str], made_up_for: bool) -> Iterator[Omission]:
    """What an attempt lacks that no other one of the same launch has: ``sound`` are their cases."""
    if launch.ended.exit_code != 0 and not made_up_for:
        status = launch.ended.message or f"ended with status {launch.ended.status}"
        yield Omission(f"launch {launch.number} did not end well", status)
    reasons: dict[str, list[str]] = {}
    for one in launch.measurements:
        if one.status != "ok" and one.case not in sound:
            reasons.setdefault(f"{one.status}: {one.reason}", []).append(one.case)
    for reason, names in reasons.items():
        yield Omission(f"launch {launch.number}: {_some(names)}", reason)
    if launch.not_understood:
        yield Omission(
            f"launch {launch.number}: {len(launch.not_understood)} lines of output",
            f"not understood, the first reads: {launch.not_understood[0]}",
        )


def _of_rules(judged: Judged) -> Iterator[Omission]:
    for verdict in judged.verdicts:
        if verdict.outcome is Outcome.SKIPPED:
            yield Omission(f"rule {verdict.rule} on {verdict.subject}", verdict.summary)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
