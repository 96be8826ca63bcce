"""Check that every planned case was measured, in this run, and that imported logs are whole."""

from collections.abc import Iterator, Sequence

import numpy as np

from fabricgauge.judge.interface import Subject, case_names, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import PairPass
from fabricgauge.model.passes import passes_of
from fabricgauge.model.plan import rounds
from fabricgauge.model.run import IMPORTED, INTERRUPTED, UNSTORED, Launch
from fabricgauge.model.suite import LIMITED, UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.model.words import patterns, sentences

ID = "completeness"

_CUT_LOGS = "a run or its log ended early, or the file is not the log of a supported suite"
_WHOLE_LOGS = "import the whole logs, and only logs; the tables that were read are judged anyway"
#: Lines behind a table's last row among which its next row is sought.
_MOST_LINES_BEHIND = 3
#: Patterns that every MPI and transport can measure: no reason excuses that none was measured.
_BASIC = ("latency", "bandwidth")
#: A smaller share of pairs without a figure is a warning, by our reckoning.
MOST_UNMET = 0.1
_AGAIN = "remove the reason of the skipped cases, then measure again"
_TWO_RUNS = (
    "files of two runs were copied into one directory, or records were added to a run",
    "report each run from its own directory: copy it again from where it was measured",
)


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if mixed := tuple(
        f"launch {launch.number}: {sentence}"
        for launch in (*subject.launches, *subject.loopbacks)
        for sentence in launch.mixed
    ):
        summary = f"records do not belong to this run: {sentences.listed(mixed, 2)}"
        return Verdict(Outcome.INVALID, summary, None, None, mixed, *_TWO_RUNS)
    if subject.imported:
        return _judge_logs(subject)
    planned = sum(len(case_names(launch)) for launch in subject.planned)
    if not planned:
        return Skipped("nothing was planned")
    lost = subject.missing
    figure = Figure(1 - len(lost) / planned, "share", f"of {planned} planned cases were measured")
    threshold = Threshold(1.0, "share", "equal to", "the run's own plan")
    if not lost and (ways := _find_skipped_ways(subject)):
        return Verdict(
            Outcome.INCONCLUSIVE, f"nothing was measured of {sentences.listed(ways, 2)}", figure,
            threshold, ways, "all its cases were skipped", _AGAIN,
        )  # fmt: skip
    if not lost and (unmet := _find_unmet_pairs(subject)):
        return unmet
    if not lost:
        cases = (case for launch in subject.launches for case in launch.measurements)
        # A case that was skipped with a reason counts as a result.
        skipped = [case for case in cases if case.status == "skipped"]
        whole, broken = f"all {planned} planned cases were measured", _broken_ends(subject)
        if skipped:
            reason = skipped[0].reason
            whole = f"{len(skipped)} of {planned} planned cases were skipped: {reason}"
        if not broken:
            return Verdict(Outcome.PASS, whole, figure, threshold, _repeats(subject))
        return Verdict(
            Outcome.WARN, f"{whole}, but {broken[0]}", figure, threshold, broken, broken[0],
            f"look for the cause with: {sentences.doctor(subject.run)}; fix it, and measure again",
        )  # fmt: skip
    ends = _ends(subject)
    reasons = [
        f"launch {launch.number} {case.case}: {case.status}, {case.reason or 'no reason given'}"
        for launch in subject.launches
        for case in launch.measurements
        if case.status != "ok"
    ]
    cause = "the cases themselves failed" if reasons else "the stored records are not whole"
    return Verdict(
        Outcome.INCONCLUSIVE,
        f"{len(lost)} of {planned} planned cases were not measured: {sentences.listed(lost, 3)}"
        + (f"; {ends[0]}" if ends else ""),
        figure, threshold, (*ends, *reasons, *_repeats(subject)),
        ends[0] if ends else cause,
        f"{_next_step(subject, bool(reasons))}measure the rest: {sentences.resume(subject.run)}",
    )  # fmt: skip


def _find_unmet_pairs(subject: Subject) -> Verdict | None:
    """Judge planned pairs without a figure; None if each pair of the planned rounds has one."""
    worst: tuple[float, Verdict] | None = None
    for launch in subject.launches if subject.pairs else ():
        planned = [p for p in subject.planned if p.number == launch.number]
        cases = {case.name: case for plan in planned for case in plan.cases}
        best: dict[str, tuple[int, PairPass]] = {}
        for pair_pass in passes_of(launch):
            count = int(np.isfinite(pair_pass.values).sum())
            if pair_pass.case in cases and count > best.get(pair_pass.case, (-1, pair_pass))[0]:
                best[pair_pass.case] = count, pair_pass
        for name, (count, pair_pass) in best.items():
            case, ranks = cases[name], cases[name].ranks or len(launch.nodes)
            # A figure of a pair stands in both directions.
            expected = 2 * (len(case.rounds) or rounds(ranks)) * (ranks // 2)
            if count >= expected:
                continue
            absent = [launch.nodes[rank] for rank in np.flatnonzero(~pair_pass.ranks)[:ranks]]
            share = 1.0 - count / expected
            few = share < MOST_UNMET and (len(case.rounds) > 1 or not absent)
            who = f": none of {sentences.listed(absent, 3)}" if absent and not few else ""
            verdict = Verdict(
                Outcome.WARN if few else Outcome.INCONCLUSIVE,
                f"launch {launch.number}: {expected - count:,} of {expected:,} planned directed"
                f" pairs have no figure in {name}{who}",
                Figure(1.0 - share, "share", "of the planned pairs have a figure"),
                Threshold(1.0, "share", "equal to", "the run's own plan"),
                (), "the pairs were not measured, or the stored records are not whole",
                "measure again; if it is the same, measure these nodes in pairs: fabricgauge check"
                " -w and their names",
            )  # fmt: skip
            if worst is None or share > worst[0]:
                worst = share, verdict
    return worst[1] if worst else None


def _find_skipped_ways(subject: Subject) -> tuple[str, ...]:
    """Return latency and streams of a direction of which every case was skipped."""
    cases = [
        case for launch in subject.launches for case in launch.measurements
        if case.pattern in _BASIC and launch.purpose == "measure"
    ]  # fmt: skip
    measured = {(case.pattern, case.origin, case.target) for case in cases if case.status == "ok"}
    skipped = {
        (case.pattern, case.origin, case.target): case.reason or "no reason given"
        for case in cases
        if case.status == "skipped"
    }
    return tuple(
        f"{patterns.sentence(pattern)}, rank {origin} to {target} (skipped: {reason})"
        for (pattern, origin, target), reason in skipped.items()
        if (pattern, origin, target) not in measured
    )


def _repeats(subject: Subject) -> tuple[str, ...]:
    return tuple(
        f"launch {launch.number} was started twice: {launch.ended.repeated}, before a rank"
        " wrote anything"
        for launch in subject.launches
        if launch.ended.repeated
    )


def _broken_ends(subject: Subject) -> tuple[str, ...]:
    """Return how those launches ended of which no attempt ended well; an interrupt is no fault."""
    fine = ("ok", IMPORTED, INTERRUPTED)
    ended_well = {launch.number for launch in subject.launches if launch.ended.status in fine}
    lines = []
    for launch in (launch for launch in subject.launches if launch.number not in ended_well):
        ended = launch.ended
        code = "" if ended.exit_code is None else f" (exit status {ended.exit_code})"
        message = f": {ended.message}" if ended.message else ""
        lines.append(f"launch {launch.number} ended with {ended.status}{code}{message}")
    return tuple(lines)


def _next_step(subject: Subject, failed: bool) -> str:
    """Return the remedy's first step; ``doctor`` if the cause of a broken launch is unknown."""
    broken = [
        launch.ended for launch in subject.launches if launch.ended.status not in ("ok", IMPORTED)
    ]
    # The run was interrupted, or only its records are lost.
    if not failed and all(ended.status == INTERRUPTED for ended in broken):
        return ""
    if subject.run.fabric.simulated:
        return "read the simulator's output (raw/*/stderr.txt of the run), then "
    is_known = (ended.culprits or ended.changes or ended.status == UNSTORED for ended in broken)
    if not broken or any(is_known):
        return "fix the launch's error, then "
    return f"look for the cause with: {sentences.doctor(subject.run)}; fix it, then "


def _ends(subject: Subject) -> list[str]:
    """Return the messages of launches that ended badly, and launches that never began."""
    messages = (f"launch {launch.number}: {launch.ended.message}" for launch in subject.launches
                if launch.ended.message)  # fmt: skip
    started = {launch.number for launch in subject.launches}
    unstarted = (f"launch {launch.number} was never started" for launch in subject.planned
                 if launch.number not in started)  # fmt: skip
    return [*dict.fromkeys(messages), *unstarted]


def _judge_logs(subject: Subject) -> Verdict:
    """Return a warning that names all missing parts; figures that were read stay valid."""
    missing, unparsed = tuple(_missing(subject)), tuple(_unparsed(subject))
    tables = {curve.place for curve in subject.curves}
    folded = sum(family.tables for launch in subject.launches for family in launch.families)
    figure = Figure(len(tables) + folded, "", "tables were read")
    files = sentences.counted(len(subject.launches), "file")
    read = f"{sentences.counted(len(tables) + folded, 'table')} of {files} read"
    if waived := {
        curve.place
        for curve in subject.curves
        for failure in curve.failures
        if failure.trouble == "waived"
    }:
        tests = sentences.counted(len(waived), "test")
        read += f"; the suite waived {tests} as not for this machine"
    if not missing:
        return Verdict(Outcome.PASS, f"{read}{''.join(unparsed[:1])}", figure, None, unparsed[1:])
    # Beyond a limit the rest is unknown.
    limited = any(LIMITED in part for part in missing)
    return Verdict(
        Outcome.INCONCLUSIVE if limited else Outcome.WARN,
        f"{read}, but {sentences.listed(missing, 3)}",
        figure, None, (*missing, *unparsed[1:]), _CUT_LOGS, _WHOLE_LOGS,
    )  # fmt: skip


def _missing(subject: Subject) -> Iterator[str]:
    """Yield empty files, files and tables that were read in part, and rows without a figure."""
    yield from (_describe_empty(launch) for launch in subject.launches if not launch.curves)
    for launch in (launch for launch in subject.launches if launch.curves):
        for line in launch.unparsed:
            if line.reason.startswith(UNREADABLE):
                yield f"{line.source}:{line.line}: {line.reason}"
    curves = subject.curves
    rows = [
        line for launch in subject.launches for line in launch.unparsed if line.text[:1].isdecimal()
    ]
    yield from dict.fromkeys(
        f"{curve.name}: {curve.cut_off}" + _describe_unread_row(curve, rows)
        for curve in curves
        if curve.cut_off
    )
    yield from dict.fromkeys(
        f"{curve.name_at(message.line)}: the run broke: {message.text}"
        for curve in curves
        for message in curve.evidence.messages
        if message.kind == "broken"
    )
    yield from dict.fromkeys(
        f"{curve.name_at(failure.line)}: {failure.trouble}: {failure.text}"
        for curve in curves
        for failure in curve.failures
        if failure.trouble != "waived"
    )


def _describe_unread_row(curve: SuiteCurve, lines: Sequence[UnparsedLine]) -> str:
    """Return the first line behind a table that looks like its next row; empty if none does."""
    ends = (curve.last_line + 1, curve.last_line + _MOST_LINES_BEHIND)
    behind = [
        line for line in lines if line.source == curve.source and ends[0] <= line.line <= ends[1]
    ]
    return f"; line {behind[0].line} was not understood: {behind[0].text}" if behind else ""


def _describe_empty(launch: Launch) -> str:
    source = launch.ended.argv[-1] if launch.ended.argv else f"file {launch.number}"
    reasons = [line.reason for line in launch.unparsed]
    unreadable = [reason for reason in reasons if reason.startswith(UNREADABLE)] or reasons
    reason = f" ({unreadable[0]})" if unreadable else ""
    return f"{source} holds nothing that could be read{reason}"


def _unparsed(subject: Subject) -> Iterator[str]:
    """Yield how many lines were not understood, then each place; launchers write such lines."""
    unparsed = [line for launch in subject.launches if launch.curves for line in launch.unparsed]
    if unparsed:
        lines = sentences.counted(sum(line.count for line in unparsed), "line")
        yield f"; {lines} between them not understood"
    for line in unparsed:
        more = f" and {line.count - 1} more" if line.count > 1 else ""
        yield f"{line.source}:{line.line}{more}: {line.text or '(nothing)'} ({line.reason})"
