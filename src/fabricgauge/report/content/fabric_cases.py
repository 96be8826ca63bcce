"""Cases of many ranks, over all launches that measured them alike, and their figures in words."""

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS
from fabricgauge.model.run import Run
from fabricgauge.model.together import Together
from fabricgauge.report.content.sweep import P99_SAMPLES, P999_SAMPLES
from fabricgauge.words.figures import digits, duration, microseconds, percent

TOO_FEW = "–"


class Alike(msgspec.Struct, frozen=True):
    """What makes two cases of many ranks the same."""

    network: str | None
    pattern: str
    ranks: int
    pairs: int
    load: str
    message_bytes: int
    window: int


class Joint(Alike, frozen=True):
    """One case of many ranks: times in s per sample, rates in bytes/s and messages/s, in sum.

    It is an entry of the JSON report as it is. Rates are 0 where messages are not counted.

    The median is that of the launches' medians, ``low_s`` to ``high_s`` reaches over all
    their intervals. Percentiles and late starts are those of the worst launch and of all;
    a percentile is None where no launch had the samples for it. ``overlap`` is 0 to 1, None
    for a blocking operation.
    """

    median_s: float
    low_s: float
    high_s: float
    confidence: float
    p90_s: float
    p99_s: float | None
    p999_s: float | None
    minimum_s: float
    maximum_s: float
    samples: int
    launches: int
    clock: str
    clock_error_s: float
    late_starts: int
    overlap: float | None
    compute_s: float
    messages_per_s: float
    bytes_per_s: float
    load_bytes_per_s: float

    @property
    def alike(self) -> Alike:
        """What it is a case of."""
        return Alike(*(getattr(self, name) for name in Alike.__struct_fields__))


class _Found(NamedTuple):
    launch: int
    case: Measurement
    times: Times
    together: Together


def joint(run: Run) -> tuple[Joint, ...]:
    """Every case of many ranks that came to its proper end, smallest first within a pattern."""
    found: dict[Alike, list[_Found]] = {}
    for alike, one in _usable(run):
        found.setdefault(alike, []).append(one)
    return tuple(_joined(alike, found[alike]) for alike in sorted(found, key=_order))


def _order(one: Alike) -> tuple[str, str, int, int, bool, str, int, int]:
    """Idle before loaded, for all ratios are to it."""
    return (
        one.network or "", one.pattern, one.ranks, one.pairs, one.load != "none", one.load,
        one.message_bytes, one.window,
    )  # fmt: skip


def _usable(run: Run) -> Iterator[tuple[Alike, _Found]]:
    for launch in run.launches:
        for one in launch.measurements:
            if one.status == "ok" and one.times is not None and one.together is not None:
                of = one.together
                alike = Alike(
                    launch.network, one.pattern, of.ranks, of.pairs, one.load,
                    one.message_bytes, one.window,
                )  # fmt: skip
                yield alike, _Found(launch.number, one, one.times, of)


def _joined(alike: Alike, found: Sequence[_Found]) -> Joint:
    together = [one.together for one in found]
    messages_per_s = statistics.median(one.messages_per_s for one in together)
    overlaps = [one.overlap for one in together if one.overlap is not None]
    return Joint(
        **msgspec.structs.asdict(alike),
        median_s=statistics.median(one.times.median_s for one in found),
        low_s=min(one.times.low_s for one in found),
        high_s=max(one.times.high_s for one in found),
        confidence=min(one.times.confidence for one in found),
        p90_s=max(one.times.p90_s for one in found),
        p99_s=_worst([one.times.p99_s for one in found if one.case.samples >= P99_SAMPLES]),
        p999_s=_worst([one.times.p999_s for one in found if one.case.samples >= P999_SAMPLES]),
        minimum_s=min(one.times.minimum_s for one in found),
        maximum_s=max(one.times.maximum_s for one in found),
        samples=sum(one.case.samples for one in found),
        launches=len({one.launch for one in found}),
        clock=_clock(together),
        clock_error_s=max(one.clock_error_s for one in together),
        late_starts=sum(one.late_starts for one in together),
        overlap=statistics.median(overlaps) if overlaps else None,
        compute_s=statistics.median(one.compute_s for one in together),
        messages_per_s=messages_per_s,
        bytes_per_s=messages_per_s * alike.message_bytes,
        load_bytes_per_s=statistics.median(one.load_bytes_per_s for one in together),
    )


def _worst(values: Sequence[float]) -> float | None:
    return max(values, default=None)


def _clock(together: Sequence[Together]) -> str:
    """The least trustworthy of the launches' clocks: a bias in one is a bias of all."""
    for clock in ("barrier", "origin"):
        if any(one.clock == clock for one in together):
            return clock
    return "synchronised"


def collectives(cases: Sequence[Joint]) -> tuple[Joint, ...]:
    return tuple(one for one in cases if one.pattern in COLLECTIVE_PATTERNS)


def of_pattern(cases: Sequence[Joint], *patterns: str) -> tuple[Joint, ...]:
    return tuple(one for one in cases if one.pattern in patterns)


def idle(cases: Sequence[Joint], loaded: Joint) -> Joint | None:
    """The same victims without a load, if that was measured."""
    wanted = msgspec.structs.replace(loaded.alike, load="none")
    return next((one for one in cases if one.alike == wanted), None)


def ratio(loaded: float | None, without: float | None) -> float | None:
    """How many times longer under load; None where either was not measured."""
    return loaded / without if loaded is not None and without else None


def is_biased(case: Joint) -> bool:
    """Whether its time is taken after a barrier, whose exit no two ranks leave together."""
    return case.clock == "barrier"


def tail(value_s: float | None) -> str:
    """A percentile in µs, or a sign that the samples were too few for it."""
    return microseconds(value_s) if value_s is not None else TOO_FEW


def times(ratio: float | None) -> str:
    """How many times longer: ``3.21 ×``."""
    return f"{digits(ratio, 3)} ×" if ratio is not None else TOO_FEW


def clock_error(case: Joint) -> str:
    """Within what the clock that all ranks share is right; empty without such a clock."""
    return duration(case.clock_error_s) if case.clock == "synchronised" else ""


def overlap(case: Joint) -> str:
    return percent(case.overlap) if case.overlap is not None else ""


def rate(case: Joint) -> str:
    """Payload of all pairs together in MB/s; empty where messages are not counted."""
    return digits(case.bytes_per_s / 1e6) if case.bytes_per_s else ""


def message_rate(case: Joint) -> str:
    """10^6 messages per second of all pairs together."""
    return digits(case.messages_per_s / 1e6) if case.messages_per_s else ""
