"""Judge how much a latency grows under bulk in another class, and in the same class; pure."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal

import msgspec

from fabricgauge.features.classes.setting import TrafficClass
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import duration, percent, rate, times

#: ``idle``: without bulk. ``own``: under bulk, in the victim's class. ``shared``: in bulk's class.
Phase = Literal["idle", "own", "shared"]
PHASES: tuple[Phase, ...] = ("idle", "own", "shared")

#: Bulk holds a victim of its own class up from this many times the idle latency on. Below it there
#: was no queue that another class could pass.
HELD_UP = 2.0
#: A shared class is a warning from this many times the idle latency on. So is a class of its own
#: from as many times the least that it can take: idle, and a frame of bulk that the wire already
#: carries, which no class interrupts.
GROWN = 5.0
FRAME_BYTES = 9000
#: A class passes the queue if it takes at most this share of the time in bulk's class.
PASSES = 0.5
#: Bulk fills the link from this share of the ceiling on.
FULL = 0.5
VERSION = "1.0"


class VictimTime(msgspec.Struct, frozen=True):
    """The victim's half round trip in one launch.

    ``waiting`` is true if waits for a processor determine it. ``bulk_bytes_per_s`` is what bulk
    carried meanwhile, the median of ``bulk_cases``.
    """

    round: int
    phase: Phase
    median_s: float
    p99_s: float
    samples: int
    waiting: bool = False
    bulk_bytes_per_s: float = 0.0
    bulk_cases: int = 0


class MeasuredClasses(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-classes"):
    """classes.json: both classes, the settings that asked for them, and the victim's times.

    ``failures`` are launches without a figure. ``path`` and ``path_reason`` are what counters and
    placement prove. ``ceiling_bytes_per_s`` is bulk's, 0 if the rate is unknown. ``unheeded`` is
    why a setting cannot have had an effect, empty if it may have had one.
    """

    network: str
    nodes: tuple[str, str]
    victim: TrafficClass
    bulk: TrafficClass
    victim_setting: str
    bulk_setting: str
    victim_bytes: int
    bulk_bytes: int
    times: tuple[VictimTime, ...]
    failures: tuple[str, ...]
    ceiling_bytes_per_s: float
    path: Outcome
    path_reason: str
    unheeded: str = ""
    interrupted: bool = False
    virtual: bool = False
    emulated: bool = False
    version: str = VERSION

    @property
    def shares_class(self) -> bool:
        return self.victim == self.bulk

    def select(self, phase: Phase) -> list[VictimTime]:
        return [time for time in self.times if time.phase == phase]

    def median_of(self, phase: Phase) -> float:
        """Return the median over the rounds in seconds, 0 without a figure."""
        return median([time.median_s for time in self.select(phase)] or [0.0])

    @property
    def bulk_bytes_per_s(self) -> float:
        """The median of what bulk carried beside a victim."""
        loaded = [time.bulk_bytes_per_s for time in self.times if time.phase != "idle"]
        return median(loaded or [0.0])


def judge(measured: MeasuredClasses) -> tuple[Outcome, str]:
    """Return the outcome of both classes and its reason.

    INVALID: the bytes took another path. INCONCLUSIVE: a phase has no figure, bulk did not fill
    the link or held nobody up, rounds disagree, or hosts made the victim wait. WARN: the victim's
    class waits like bulk's, or the latency grows in it, shared or not. Nothing fails.
    """
    if measured.path is Outcome.INVALID:
        return measured.path, measured.path_reason
    if reason := next(_find_doubts(measured), ""):
        return Outcome.INCONCLUSIVE, reason
    return _judge_shared(measured) if measured.shares_class else _judge_own(measured)


def _find_doubts(measured: MeasuredClasses) -> Iterator[str]:
    if measured.emulated:
        yield "the nodes' processors are emulated: their times mean nothing"
    if measured.interrupted:
        yield "it was interrupted"
    yield from measured.failures
    wanted = [phase for phase in PHASES if phase != "own" or not measured.shares_class]
    for phase in wanted:
        if not measured.select(phase):
            yield f"the victim has no figure {describe_phase(measured, phase)}"
    if measured.unheeded:
        yield measured.unheeded
    if measured.path not in (Outcome.PASS, Outcome.WARN):
        yield measured.path_reason
    beside = [time for time in measured.times if time.phase != "idle"]
    if any(not time.bulk_cases for time in beside):
        yield "no case of bulk ended beside a victim: whether there was load is unknown"
    carried, ceiling = measured.bulk_bytes_per_s, measured.ceiling_bytes_per_s
    if ceiling and carried < FULL * ceiling:
        yield (
            f"bulk carried {rate(carried)}, {percent(carried / ceiling)} of the ceiling ("
            f"{percent(FULL)} fill the link): it was not full"
        )


def _judge_shared(measured: MeasuredClasses) -> tuple[Outcome, str]:
    idle_s, shared_s = measured.median_of("idle"), measured.median_of("shared")
    grown = shared_s / idle_s
    figures = f"{measured.victim_bytes} B took {duration(idle_s)} idle, {duration(shared_s)} under"
    figures += f" bulk in the same {measured.bulk}: {times(grown)} times"
    if grown < GROWN and _waits(measured.select("idle")):
        return Outcome.INCONCLUSIVE, _describe_idle_waits(idle_s)
    if grown < GROWN:
        return Outcome.PASS, figures
    if _waits(measured.select("shared")):
        return Outcome.INCONCLUSIVE, f"{figures}: its processes waited for a processor"
    return Outcome.WARN, f"{figures}: give the latency a class that the network prefers"


def _judge_own(measured: MeasuredClasses) -> tuple[Outcome, str]:
    idle_s, own_s, shared_s = (measured.median_of(phase) for phase in PHASES)
    if shared_s < HELD_UP * idle_s and _waits(measured.select("idle")):
        return Outcome.INCONCLUSIVE, _describe_idle_waits(idle_s)
    if shared_s < HELD_UP * idle_s:
        return Outcome.INCONCLUSIVE, (
            f"bulk held up a victim of its own {measured.bulk} {times(shared_s / idle_s)} times"
            f" only ({duration(idle_s)} → {duration(shared_s)}): no queue that a class could pass"
        )
    figures = (
        f"{measured.victim_bytes} B took {duration(idle_s)} idle; under bulk {duration(own_s)} in"
        f" {measured.victim} ({times(own_s / idle_s)} times), {duration(shared_s)} in bulk's"
        f" {measured.bulk} ({times(shared_s / idle_s)} times)"
    )
    shared = {time.round: time.median_s for time in measured.select("shared")}
    passes = [
        time.median_s <= PASSES * shared[time.round]
        for time in measured.select("own")
        if time.round in shared
    ]
    if not passes or len(set(passes)) > 1:
        return Outcome.INCONCLUSIVE, f"the rounds disagree: {figures}"
    # A class that always goes first waits for one frame of bulk.
    carried = measured.ceiling_bytes_per_s or measured.bulk_bytes_per_s
    least_s = idle_s + (FRAME_BYTES / carried if carried else 0.0)
    grown = own_s >= GROWN * least_s
    if passes[0] and not grown:
        return Outcome.PASS, figures
    if _waits(measured.select("own")):
        return Outcome.INCONCLUSIVE, f"{figures}: its processes waited for a processor"
    if passes[0]:
        return Outcome.WARN, f"{figures}: its class shortens the wait, but bulk still holds it up"
    return Outcome.WARN, f"{figures}: no queue on the way prefers the victim's class"


def _waits(victim_times: Sequence[VictimTime]) -> bool:
    return sum(time.waiting for time in victim_times) * 2 > len(victim_times)


def _describe_idle_waits(idle_s: float) -> str:
    return (
        f"the victim's processes waited for a processor without bulk ({duration(idle_s)}): what"
        " bulk adds is unknown"
    )


def describe_phase(measured: MeasuredClasses, phase: Phase) -> str:
    """Return a phase in words, e.g. ``under bulk, in traffic class 184``."""
    if phase == "idle":
        return "without bulk"
    return f"under bulk, in {measured.victim if phase == 'own' else measured.bulk}"
