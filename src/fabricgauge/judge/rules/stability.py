"""Check whether the deciding figures are steady enough to decide."""

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np

from fabricgauge.judge import foreign
from fabricgauge.judge.evidence.placement import throttles, unseen_waits, waits
from fabricgauge.judge.host import LEAST_REST, signs
from fabricgauge.judge.interface import Context, Subject, Verdicts, judge_networks
from fabricgauge.judge.kept_rate import FULL_BYTES, spares_small
from fabricgauge.judge.rates_over_time import (
    LEVEL,
    LEVEL_CAUSE,
    LEVEL_REMEDY,
    STALL_CAUSE,
    UnsteadyRate,
    find_unsteady,
)
from fabricgauge.judge.rules import asymmetry, fraction
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.stats.levels import Levels, RatedCase, find_levels, find_shared_level
from fabricgauge.judge.stats.series import Point, Series, node_of
from fabricgauge.judge.streams import STREAMS, Stream, streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.groups import group_by
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.model.words import figures, patterns, sentences

ID = "stability"

#: A size that reaches this share of the best rate is limited by the link, however small it is.
LINE_RATE = 0.9

_CAUSE = "other load on the hosts or the link, power saving, or a run that was too short"
_APPENDED = "a second run was appended to the log, or the network changed during the measurement"
_EDITED = (
    "the log was edited, or has columns of two runs",
    "import the log as its suite wrote it",
)
#: Fewer iterations are one accident; the first one may also connect the ranks.
LEAST_SAMPLES = 3
_FEW = (
    "the program was told to iterate once or twice",
    "measure again with the suite's own number of iterations (without -i and -x of OSU)",
)
#: IMB sends 40 MB of each size in all (IMB_mem_manager.c of IMB 2021).
_FEW_OF_IMB = (
    "each figure is of one or two iterations: IMB makes fewer of large messages, or was told to",
    "measure again with IMB's options -iter 20 -iter_policy off",
)
#: Suites that stream for seconds; their samples are streams or intervals.
_OF_SECONDS = ("iperf2", "iperf3")
_UNLIKE = (
    "candidates: one of several ways between the nodes is slow or loses its data (a bond's port, a"
    " route, a node's link), or ranks of some groups share a node",
    "measure each connection or each pair of nodes alone; look at the error counters of both ends",
)
_CLOCK = (
    "the log says that its clock is wrong: the processors change their frequency",
    "set the governor to performance (cpupower frequency-set -g performance) and measure again",
)
#: Bandwidths from here on, in bytes/s, are printed exactly enough; 2^20 bytes are 4.9 % more.
_EXACT, _ROUNDED = 1e6, 0.1
#: perftest prints six decimals of 10^6 messages/s: fewer are rounded by more than a twentieth.
_FEWEST_MESSAGES = 10
#: nccl-tests prints two decimals of GB/s.
_EXACT_NCCL = 1e8
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_REMEDY_OF_LOGS = "import each run as a separate log; measure again if it is one run"
_REMEDY = "measure again when nodes and network are idle: fabricgauge check --profile full"

#: A sample that is longer than the median by ``stability.stall`` and by this share holds a stall.
STALL_SHARE = 0.25
#: Fewer stalls may be one hiccup.
LEAST_STALLS = 3
#: A fault of the network shows in several cases; a machine that paused once does not.
LEAST_CASES = 2
#: Limits that a change of rate exceeds as well.
_WIDENED = ("stability.interval", "stability.launches")

_CAUSES = {
    LEVEL: (LEVEL_CAUSE, LEVEL_REMEDY),
    "stability.stalls": (STALL_CAUSE, LEVEL_REMEDY),
    "stability.stalls_fail": (STALL_CAUSE, LEVEL_REMEDY),
}


class _Finding(NamedTuple):
    """An unsteady figure with the name of its limit.

    ``nodes`` are the ends of its stream. ``by_host`` is true if a host may explain it.
    """

    outcome: Outcome
    limit: str
    value: float
    sentence: str
    nodes: frozenset[str] = frozenset()
    by_host: bool = False


@judge_networks(ID)
def judge(subject: Subject) -> Verdicts:
    network = _judge_figures(subject)
    if not subject.pairs:
        return network
    from fabricgauge.judge.closing_round import falls

    fallen = list(falls(subject))
    if not fallen:
        return network
    return fallen if isinstance(network, Skipped) else [network, *fallen]


def _judge_figures(subject: Subject) -> Verdict | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    all_streams = streams(subject)
    smallest = [(series, series.points[0]) for series in subject.series if series.is_latency]
    points = [*(stream.best for stream in all_streams), *(point for _, point in smallest)]
    if not points:
        return Skipped("no deciding figure was measured")
    single = all(not point.time.supported and point.time.launches == 1 for point in points)
    if single and not any(point.measurements for point in points):
        return Skipped(
            "unknown: there is one launch, with means only; --profile standard makes three"
        )
    findings = [finding for stream in all_streams for finding in _bandwidth(stream, all_streams)]
    for series, point in smallest:
        findings += _spread(subject, "stability.latency_launches", series, point)
        findings += _tail(subject, series, point, "median")
    findings += _changes_of_rate(subject, all_streams)
    findings += _stalls(subject)
    if not findings:
        summary = "intervals, launches and tails of the deciding figures are within their limits"
        return Verdict(Outcome.PASS, summary)
    worst = min(findings, key=lambda finding: finding.outcome.rank)
    # A change of rate makes an interval wide.
    changes = (
        finding
        for finding in findings
        if finding.limit == LEVEL and not finding.by_host and finding.nodes == worst.nodes
    )
    lead = next(changes, worst) if worst.limit in _WIDENED else worst
    relation = "at least" if lead.limit == LEVEL else "at most"
    threshold = subject.threshold(lead.limit, relation)
    by_network = {} if lead.by_host else _CAUSES
    cause, remedy = by_network.get(lead.limit, (_CAUSE, _REMEDY))
    return Verdict(
        worst.outcome, lead.sentence, Figure(lead.value, threshold.unit, lead.sentence), threshold,
        tuple(finding.sentence for finding in findings), cause, remedy,
    )  # fmt: skip


def find_changing(subject: Subject) -> set[frozenset[str]]:
    """Return the pairs of nodes between which the rate changes, without those a host explains."""
    if subject.imported:
        return set()
    findings = _changes_of_rate(subject, streams(subject))
    return {finding.nodes for finding in findings if not finding.by_host}


def _judge_logs(subject: Subject) -> Verdict | Skipped:
    """Judge columns of a row that contradict each other, and rows of one size that differ."""
    if few := tuple(_single(subject)):
        lines = tuple(line for _, line in few)
        cause_and_remedy = _FEW_OF_IMB if few[0][0] == "imb" else _FEW
        return Verdict(Outcome.WARN, lines[0], None, None, lines, *cause_and_remedy)
    without_pairs = (
        f"{curve.name}: its heading has 0 pairs"
        for curve in subject.curves
        if curve.settings.get("pairs") == "0"
    )
    contradicting = (*_contradicting(subject), *_unlike_times(subject), *without_pairs)
    if columns := (*contradicting, *_beyond_extremes(subject)):
        messages = (message for curve in subject.curves for message in curve.evidence.messages)
        # A wrong clock changes all columns of a row alike.
        is_clock = not contradicting and any(message.kind == "clock" for message in messages)
        cause_and_remedy = _CLOCK if is_clock else _EDITED
        return Verdict(Outcome.WARN, columns[0], None, None, columns, *cause_and_remedy)
    if unsteady := sorted(_unsteady(subject), key=lambda unsteady: unsteady[0].rank):
        lead, findings = unsteady[0], tuple(sentence for _, _, sentence in unsteady)
        outcome, rate, sentence = lead
        value, limit, unit = rate.low / rate.high, subject.threshold(LEVEL), "share"
        if rate.silent_s:
            value, limit, unit = rate.silent_s, subject.threshold("stability.stall", "at most"), "s"
        return Verdict(
            outcome, sentence, Figure(value, unit, sentence), limit, findings,
            rate.cause, LEVEL_REMEDY,
        )  # fmt: skip
    if lagging := tuple(_lagging(subject)):
        return Verdict(Outcome.WARN, lagging[0], None, None, lagging, *_UNLIKE)
    tails = [
        finding
        for series in subject.series
        for point in series.points[: series.is_latency]
        for finding in _tail(subject, series, point, "figure")
    ]
    if tails:
        tail = max(tails, key=attrgetter("value"))
        return Verdict(
            Outcome.WARN, tail.sentence, Figure(tail.value, "times", tail.sentence),
            subject.threshold(tail.limit, "at most"),
            tuple(finding.sentence for finding in tails), _CAUSE, _REMEDY,
        )  # fmt: skip
    repeated = sorted(_repeated(subject), key=itemgetter(0), reverse=True)
    if not repeated:
        return Skipped("unknown: the logs have only means, which do not show how steady they were")
    spread, name, sentence = repeated[0]
    return Verdict(
        Outcome.WARN, sentence, Figure(spread, "share", sentence),
        subject.threshold(name, "at most"), tuple(line for _, _, line in repeated),
        _APPENDED, _REMEDY_OF_LOGS,
    )  # fmt: skip


def _unsteady(subject: Subject) -> Iterator[tuple[Outcome, UnsteadyRate, str]]:
    """Yield streams of logs whose intervals have outages or two levels.

    They fail if the stream had filled the network and its whole does not pass: what limited it
    later had not limited it before. Both directions at once share hosts.
    """
    for stream in streams(subject, *STREAMS, "get_bandwidth"):
        rate = find_unsteady(stream)
        if rate is None:
            continue
        most_silent = subject.limit("stability.stalls_fail") if rate.silent_s else 0.0
        low = stream.plain_outcome is not Outcome.PASS and stream.directions == 1
        fails = rate.full and low and rate.slow > most_silent
        yield (
            Outcome.FAIL if fails else Outcome.WARN, rate,
            f"{stream.series.source}: {rate.sentence}",
        )  # fmt: skip


def _lagging(subject: Subject) -> Iterator[str]:
    """Yield connections that moved nothing, and groups slower than others at the same time."""
    for curve in subject.curves:
        silent = curve.settings.get("silent streams")
        if silent and not curve.what.endswith("mean per connection"):
            yield f"{curve.name}: {silent} of {curve.settings['streams']} connections moved nothing"
    groups = [curve for curve in subject.curves if "group" in curve.settings and curve.points]
    of_one_table = group_by(groups, lambda curve: (*_table(curve), curve.quantity))
    for curves in of_one_table.values():
        by_rate = sorted(curves, key=lambda curve: curve.points[-1].estimate.value)
        slow, fast = by_rate[0], by_rate[-1]
        share = slow.points[-1].estimate.value / fast.points[-1].estimate.value
        size = min(slow.points[-1].message_bytes or 0, fast.points[-1].message_bytes or 0)
        is_stream = slow.quantity == "bandwidth" and size >= subject.limit("fraction.from")
        if is_stream and share < subject.limit(LEVEL):
            yield (
                f"{slow.name}: group {slow.settings['group']} (ranks"
                f" {slow.settings.get('ranks', 'unknown')}) carries {figures.percent(share)} of"
                f" group {fast.settings['group']} {figures.at(size)}"
            )


def _single(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield suite and name of tables whose every figure is of one or two iterations."""
    for curve in subject.curves:
        samples = {point.estimate.samples for point in curve.points}
        judged = curve.suite in SUITES or (curve.pattern and curve.suite not in _OF_SECONDS)
        if judged and samples and samples <= set(range(1, LEAST_SAMPLES)):
            count = sentences.counted(max(samples), "iteration")
            yield curve.suite, f"{curve.name}: each figure is of {count}"


def _contradicting(subject: Subject) -> Iterator[str]:
    """Yield rows whose messages/s times their size are not their bytes/s."""
    rates = {
        _row(curve, point): point.estimate.value
        for curve in subject.curves
        if curve.quantity == "message_rate" and curve.directions == 1
        for point in curve.points
    }
    for curve in subject.curves:
        # Columns of groups and threads count differently.
        shared = {"groups", "group", "threads"} & curve.settings.keys()
        is_stream = curve.pattern is not None  # a port's part of a stream is none
        if curve.quantity != "bandwidth" or curve.directions != 1 or shared or not is_stream:
            continue
        for point in curve.points:
            value, size = point.estimate.value, point.message_bytes
            rate = rates.get(_row(curve, point))
            if not rate or not size or value < _EXACT:
                continue
            if curve.suite == "perftest" and rate < _FEWEST_MESSAGES:
                continue
            if _differ(value, rate * size):
                yield (
                    f"{curve.name_at(point.line)}: {figures.rate(value)}"
                    f" {figures.at(size)}, but {rate:,.0f} messages/s of that size are"
                    f" {figures.rate(rate * size)}"
                )


def _beyond_extremes(subject: Subject) -> Iterator[str]:
    """Yield rows whose figure is below its printed minimum, or above its maximum or peak."""
    for curve in subject.curves:
        for point in curve.points:
            value, besides = point.estimate.value, point.besides
            most = max(besides.get("maximum", 0.0), besides.get("peak", 0.0))
            least = besides.get("minimum", 0.0)
            if 0.0 < most * (1.0 + _ROUNDED) < value or value * (1.0 + _ROUNDED) < least:
                at = "" if point.message_bytes is None else f" {figures.at(point.message_bytes)}"
                yield (
                    f"{curve.name_at(point.line)}: the figure{at} is not between"
                    " the extremes beside it"
                )


def _unlike_times(subject: Subject) -> Iterator[str]:
    """Yield rows of nccl-tests whose bandwidth is not size over time, and means beyond all rows."""
    nccl = [curve for curve in subject.curves if curve.suite in SUITES]
    times = {
        _row(curve, point): point.estimate.value
        for curve in nccl
        if curve.quantity == "time" and "time" not in curve.settings
        for point in curve.points
    }
    for curve in nccl:
        for point in curve.points if curve.quantity == "bandwidth" else ():
            time_s = times.get(_row(curve, point), 0.0)
            value, size = point.estimate.value, point.message_bytes or 0
            if value >= _EXACT_NCCL and time_s > 0 and _differ(value, size / time_s):
                yield (
                    f"{curve.name_at(point.line)}: {figures.rate(value)} {figures.at(size)}, but"
                    f" that size in {figures.duration(time_s)} is {figures.rate(size / time_s)}"
                )
        stated = curve.settings.get("average bus bandwidth", "").partition(" ")[0]
        if curve.quantity == "bus_bandwidth" and _NUMBER.fullmatch(stated) and curve.points:
            mean, place = 1e9 * float(stated), (curve.quantity, curve.source)
            # The mean is of both placements.
            tables = (table for table in nccl if (table.quantity, table.source) == place)
            all_rates = (point.estimate.value for table in tables for point in table.points)
            if mean > (1.0 + _ROUNDED) * max(all_rates):
                yield (
                    f"{curve.name_at(curve.last_line)}: the mean bus bandwidth of"
                    f" {figures.rate(mean)} is above all rows"
                )


def _row(curve: SuiteCurve, point: SuitePoint) -> tuple[object, ...]:
    placement = curve.settings.get("placement", "")
    return (*_table(curve), placement, point.line, point.message_bytes)


def _differ(value: float, second: float) -> bool:
    return second <= 0 or max(value / second, second / value) > 1.0 + _ROUNDED


def _table(curve: SuiteCurve) -> tuple[str, str, int, str]:
    window = curve.settings.get("window", "")
    return curve.source, curve.benchmark, curve.first_line, window


def _repeated(subject: Subject) -> Iterator[tuple[float, str, str]]:
    """Yield the largest difference between rows of one size, its limit, and the sentence on it."""
    for curve in subject.curves:
        timed = curve.quantity == "time"
        sizes = {point.message_bytes for point in curve.points}
        if curve.pattern is None or len(sizes) == len(curve.points):
            continue
        limit = "stability.latency_launches" if timed else "stability.launches"
        for size, points in group_by(curve.points, lambda point: point.message_bytes).items():
            values = [point.estimate.value for point in points]
            spread = max(values) / min(values) - 1.0
            if spread > subject.limit(limit):
                at = "" if size is None else f" {figures.at(size)}"
                lines = sentences.listed([str(point.line) for point in points], 4)
                rows = f"{len(values)} rows{at} (lines {lines})"
                yield spread, limit, f"{curve.name}: {rows} differ by {figures.percent(spread)}"


def _bandwidth(stream: Stream, all_streams: tuple[Stream, ...]) -> Iterator[_Finding]:
    subject, series, point = stream.subject, stream.series, stream.best
    width = point.bandwidth.half_width
    means_only = not point.measurements and not point.bandwidth.supported
    if not means_only and width > subject.limit("stability.interval"):
        outcome = Outcome.INCONCLUSIVE if stream.decides(all_streams) else Outcome.WARN
        sentence = (
            f"{_where(series, point)}: the interval is ± {figures.percent(width)},"
            f" and ± {figures.percent(subject.limit('stability.interval'))} is the limit"
        )
        yield _Finding(outcome, "stability.interval", width, sentence, frozenset(series.ends))
    yield from _spread(subject, "stability.launches", series, point)


def _changes_of_rate(subject: Subject, all_streams: Sequence[Stream]) -> list[_Finding]:
    """Return rates that change between two levels: in one stream, or in all of a pair together."""
    findings = [finding for stream in all_streams for finding in _levels(stream)]
    failed = {finding.nodes for finding in findings if finding.outcome is Outcome.FAIL}
    between = group_by(
        (stream for stream in all_streams if not stream.series.of_pairs),
        lambda stream: frozenset(stream.series.ends),
    )
    for nodes, pair_streams in between.items():
        if nodes not in failed:
            findings += _shared_levels(subject, nodes, pair_streams)
    return findings


def _shared_levels(
    subject: Subject, nodes: frozenset[str], pair_streams: Sequence[Stream]
) -> Iterator[_Finding]:
    """Yield a rate at which several patterns and sizes between two nodes were, for a time."""
    least_bytes = subject.limit("fraction.from")
    all_cases = list(_stream_cases(subject, nodes))
    best: dict[tuple[str, int, str], float] = {}
    for kind, case in all_cases:
        best[kind] = max(*_rates(case), best.get(kind, 0.0))
    # What reaches the line rate with 1 KiB counts too.
    line_rate = max(best.values(), default=0.0)
    cases = [
        (kind, case)
        for kind, case in all_cases
        if case.message_bytes >= least_bytes or best[kind] >= LINE_RATE * line_rate
    ]
    # The first block of each case may still be slow: TCP starts anew after a pause.
    rated_cases = [
        RatedCase(kind, case.sample_payload_bytes, tuple(_rates(case)[1:])) for kind, case in cases
    ]
    levels = find_shared_level(rated_cases)
    if levels is None or levels.low >= subject.limit(LEVEL) * levels.high:
        return
    slow_s = [_slow_time_s(case, case.sample_payload_bytes / levels.middle) for _, case in cases]
    slow = [case for (_, case), time_s in zip(cases, slow_s, strict=True) if time_s > 0.0]
    waited = median_or_zero(max(waits([case]), default=0.0) for case in slow)
    ranks = {rank for case in slow for rank in (case.origin, case.target)}
    stopped = max(median_or_zero(throttles(slow, rank)) for rank in ranks)
    share = levels.low / levels.high
    # One rate in several patterns is as steady as a wire; of a host's signs only these make it.
    traffic = foreign.foreign_in(subject, "bandwidth")
    by_host = (
        _waiting_explains(subject, waited, share, 1.0 - levels.low_share * (1.0 - share))
        or stopped >= subject.limit("host-limited.delay")
        or any(
            traffic[node].share >= subject.limit("foreign-traffic.share")
            for node in nodes & traffic.keys()
        )
    )
    fails = _lasts(subject, slow_s) and not by_host and not unseen_waits(slow)
    losses = [loss for loss in subject.evidence.lost if {loss.origin, loss.target} == nodes]
    lossy = [loss for loss in losses if loss.share >= subject.limit("errors.share")]
    if lossy and not spares_small(subject, [(loss.origin, loss.target) for loss in lossy]):
        fails = False  # messages of all sizes lose segments
    sentence = (
        f"{' ↔ '.join(sorted(nodes))}: the rate changes between {figures.rate(levels.low)} and"
        f" {figures.rate(levels.high)} in {len(slow)} cases of streams"
        f" ({figures.duration(sum(slow_s))} slow)"
    )
    outcome = Outcome.FAIL if fails else Outcome.WARN
    yield _Finding(outcome, LEVEL, share, sentence, nodes, by_host)


def _stream_cases(
    subject: Subject, nodes: frozenset[str]
) -> Iterator[tuple[tuple[str, int, str], Measurement]]:
    """Yield the streams between two nodes in time order, with pattern, size and origin."""
    for launch, case in subject.cases(*STREAMS, "latency"):
        origin, target = node_of(launch, case.origin), node_of(launch, case.target)
        fills = case.pattern != "latency" or case.message_bytes >= FULL_BYTES
        usable = fills and case.block_medians_s and not case.variant
        if usable and launch.network == subject.name and {origin, target} == nodes:
            yield (case.pattern, case.message_bytes, origin), case


def _rates(case: Measurement) -> list[float]:
    """Return the bytes/s of each block, per direction."""
    return [case.sample_payload_bytes / block_s for block_s in case.block_medians_s]


def _waiting_explains(subject: Subject, waited: float, low: float, mean: float) -> bool:
    """Check whether waiting explains the low level; ``mean`` is the mean share of the rate."""
    # What waiting leaves is halved at most.
    excuse = min(subject.limit("host-limited.delay"), (1.0 - mean) / 2.0)
    return waited >= excuse and low >= LEAST_REST * (1.0 - waited)


def _levels(stream: Stream) -> Iterator[_Finding]:
    """Yield a rate that changes between two: large messages of all launches, in time order."""
    subject, series = stream.subject, stream.series
    change = _find_levels(stream)
    if change is None:
        return
    levels, cases, usual_s = change
    slow = [_slow_time_s(case, usual_s[case.message_bytes] / levels.middle) for case in cases]
    changing = [case for case, slow_s in zip(cases, slow, strict=True) if slow_s > 0.0]
    # Subtract the host's waiting: the network did not cause that part.
    mean = float(np.mean(_shares(changing, usual_s)))
    waited = float(np.mean([max(waits([case]), default=0.0) for case in changing]))
    by_host = _waiting_explains(subject, waited, levels.low, mean)
    host_signs = signs(stream)
    by_host = by_host or bool(host_signs.limiting or host_signs.foreign)
    fails = levels.low < subject.limit(LEVEL) and _lasts(subject, slow)
    fails = fails and not by_host and not host_signs.unseen
    reached = stream.best.bandwidth.value
    times = f"{levels.changes} times" if levels.toggles else "for good"
    sentence = (
        f"{series.name}, {patterns.sentence(series.pattern)}: the rate changes {times} between"
        f" {figures.rate(reached * levels.low)} and {figures.rate(reached * levels.high)}"
        f" ({figures.percent(levels.low_share)} of the blocks slow,"
        f" {figures.duration(sum(slow))})"
    )
    outcome = Outcome.FAIL if fails else Outcome.WARN
    yield _Finding(outcome, LEVEL, levels.low, sentence, frozenset(series.ends), by_host)


def _find_levels(stream: Stream) -> tuple[Levels, list[Measurement], dict[int, float]] | None:
    """Return the levels, the cases that show them, and the usual time of a sample by its size."""
    measured = _large_cases(stream, [stream.series])
    rechecked = [series for series in stream.subject.again if series.about == stream.series.about]
    all_cases = [*measured, *_large_cases(stream, rechecked)]
    quickest_s: dict[int, float] = {}
    for case in all_cases:
        size, case_s = case.message_bytes, float(np.quantile(case.block_medians_s, 0.05))
        quickest_s[size] = min(case_s, quickest_s.get(size, case_s))
    payloads = {case.message_bytes: case.sample_payload_bytes for case in all_cases}
    best = max((payloads[size] / time_s for size, time_s in quickest_s.items()), default=0.0)
    joint_s = {size: payload / best for size, payload in payloads.items()} if best else {}
    # All sizes are compared with the best of them, if slow sizes were also fast at times.
    levels = find_levels(_shares(all_cases, joint_s))
    if levels is not None:
        slow = [
            case.message_bytes
            for case in all_cases
            if joint_s[case.message_bytes] / max(case.block_medians_s) < levels.middle
        ]
        fast_sizes = {
            size for size in quickest_s if joint_s[size] / quickest_s[size] >= levels.middle
        }
        if 2 * sum(size in fast_sizes for size in slow) >= len(slow):
            return levels, all_cases, joint_s
    # Else each is compared with its own best: protocols reach different rates.
    levels = find_levels(_shares(measured, quickest_s))
    return None if levels is None else (levels, measured, quickest_s)


def _large_cases(stream: Stream, all_series: Sequence[Series]) -> list[Measurement]:
    least_bytes = stream.limit("fraction.from")
    cases = [
        (observation.launch, order, observation.measurement)
        for series in all_series
        for order, point in enumerate(series.at_least(least_bytes))
        for observation in point.observed
        if observation.measurement is not None and observation.measurement.block_medians_s
    ]
    return [case for *_, case in sorted(cases, key=lambda case: case[:2])]


def _shares(cases: Sequence[Measurement], usual_s: Mapping[int, float]) -> list[float]:
    """Return each block's rate as a share of the usual one of its size, at most 1."""
    return [
        min(1.0, usual_s[case.message_bytes] / block_s)
        for case in cases
        for block_s in case.block_medians_s
    ]


def _slow_time_s(case: Measurement, from_s: float) -> float:
    """Return the seconds of a case that passed in blocks whose samples took ``from_s`` or more."""
    blocks = case.block_medians_s
    return case.wall_s * sum(block_s for block_s in blocks if block_s >= from_s) / sum(blocks)


def _lasts(subject: Subject, slow_s: Sequence[float]) -> bool:
    """Check whether the slow time of the cases is more than one or two pauses of a machine."""
    slow_cases = sum(case_s > 0.0 for case_s in slow_s)
    return slow_cases >= LEAST_CASES and sum(slow_s) >= subject.limit("stability.slow_time")


def _stalls(subject: Subject) -> Iterator[_Finding]:
    stall_s = subject.limit("stability.stall")
    cases = [
        (series, case, list(_stall_lengths(case, stall_s)))
        for series in subject.series
        for point in series.points
        for case in point.measurements
    ]
    slow_s = [sum(length_s * samples for length_s, samples in stalls) for *_, stalls in cases]
    count = sum(samples for *_, stalls in cases for _, samples in stalls)
    stalled_s = sum(slow_s)
    share = stalled_s / max(sum(case.wall_s for _, case, _ in cases), stalled_s, stall_s)
    if count < LEAST_STALLS or share <= subject.limit("stability.stalls"):
        return
    waiting = waits(case for _, case, stalls in cases if stalls)
    by_host = max(waiting, default=0.0) >= subject.limit("host-limited.delay")
    lengths = ((length_s, series.name) for series, _, stalls in cases for length_s, _ in stalls)
    longest_s, longest_series = max(lengths, key=itemgetter(0))
    fails = share > subject.limit("stability.stalls_fail") and _lasts(subject, slow_s)
    fails = fails and not by_host
    sentence = (
        f"{count} stalls took {figures.percent(share)} of the time; the longest took"
        f" {figures.duration(longest_s)} ({longest_series})"
    )
    limit = "stability.stalls_fail" if fails else "stability.stalls"
    outcome = Outcome.FAIL if fails else Outcome.WARN
    yield _Finding(outcome, limit, share, sentence, by_host=by_host)


def _stall_lengths(case: Measurement, stall_s: float) -> Iterator[tuple[float, int]]:
    """Yield seconds beyond the median, and the number of samples, for samples with a stall."""
    if case.times is None or case.status != "ok":
        return
    median_s = case.times.median_s
    for lowest_ps, samples in case.histogram_ps:
        beyond_s = lowest_ps * 1e-12 - median_s
        if beyond_s >= STALL_SHARE * median_s and beyond_s * case.batch >= stall_s:
            yield beyond_s * case.batch, samples


def _tail(subject: Subject, series: Series, point: Point, what: str) -> Iterator[_Finding]:
    if (ratio := point.tail_ratio) > subject.limit("stability.tail"):
        tail = f"the 99th percentile is {ratio:.1f} times the {what}"
        yield _Finding(Outcome.WARN, "stability.tail", ratio, f"{_where(series, point)}: {tail}")


def _spread(subject: Subject, limit: str, series: Series, point: Point) -> Iterator[_Finding]:
    spread = point.spread
    if spread > subject.limit(limit):
        sentence = f"{_where(series, point)}: launches differ by {figures.percent(spread)}"
        yield _Finding(Outcome.WARN, limit, spread, sentence, frozenset(series.ends))


def _where(series: Series, point: Point) -> str:
    return (
        f"{series.name}, {patterns.sentence(series.pattern)}"
        f" {figures.at(point.message_bytes, point.sized)}"
    )


def find_consequences(context: Context, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return ids of verdicts on streams whose rate changes, each with that on the rate.

    A rate that changes makes the interval wide. Beside a rate that fails, a low stream that only
    warns was measured at the lower rate.
    """
    causes = {}
    for subject in context.subjects:
        unsteady = (verdict for verdict in verdicts if verdict.about == subject.about)
        changes = [
            verdict
            for verdict in unsteady
            if verdict.rule == ID and verdict.outcome is not Outcome.PASS
        ]
        fails = any(verdict.outcome is Outcome.FAIL for verdict in changes)
        explained = (Outcome.INCONCLUSIVE, *((Outcome.WARN,) if fails else ()))
        undecided = [
            verdict
            for verdict in verdicts
            if verdict.network == subject.name
            and verdict.rule in (fraction.ID, asymmetry.ID)
            and verdict.outcome in explained
        ]
        changing = find_changing(subject) if changes and undecided else set()
        for verdict in undecided:
            if frozenset(verdict.about.names) in changing:
                causes[verdict.id] = changes[0].id
    return causes
