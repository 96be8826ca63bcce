"""Synthetic two-node runs: a sound one, and knobs that plant a fault in it."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import RunEvidence
from fabricgauge.model.fabric import Address, Fabric, Interface, Member, Network, Node
from fabricgauge.model.measurement import (
    DataCheck,
    InterfaceCounters,
    Measurement,
    NodeCounters,
    Placement,
    ProcessorUse,
    Socket,
    Times,
)
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

NODES = ("c1", "c2")
SIZES = (8, 1024, 65536, 262144, 1048576, 4194304)
WINDOW = 64
RATE = 1e9
CEILING_BYTES_PER_S = RATE / 8 * 1448 / 1538
NO_TRAFFIC = InterfaceCounters(0, 0, 0, 0, 0, 0, 0, 0)
QUIET = ProcessorUse(0, 0.4, 0.1, 0.001, 0.45, 0.02, 0.0, 0.04)

Split = dict[str, float]
Status = Literal["ok", "failed", "timeout", "skipped"]


class Sample(msgspec.Struct, frozen=True):
    """What one case is to look like; the fields are the knobs."""

    pattern: Pattern
    message_bytes: int
    origin: int
    median_s: float
    width: float = 0.002
    p99: float = 1.5


def ceiling(burst_bytes: int = 0, rate: float = RATE) -> Ceiling:
    limit = rate / 8 * 1448 / 1538
    return Ceiling("net1", limit, 1448, 1538, burst_bytes, "Ethernet line rate", ())


def median_s(pattern: Pattern, message_bytes: int, fraction: float = 0.995) -> float:
    """A sound medium: 11 µs of software, then the wire at ``fraction`` of the ceiling."""
    rate = CEILING_BYTES_PER_S * fraction
    if pattern == "latency":
        return 11e-6 + message_bytes / rate
    if pattern == "put_latency":
        return 25e-6 + message_bytes / rate
    return WINDOW * max(0.5e-6, message_bytes / rate) + 15e-6


def samples(fraction: float = 0.995) -> tuple[Sample, ...]:
    """Every pattern at every size, streams in both directions."""
    patterns: tuple[tuple[Pattern, int], ...] = (
        ("latency", 0), ("bandwidth", 0), ("bandwidth", 1), ("bidirectional_bandwidth", 0),
        ("put_latency", 0), ("put_bandwidth", 0),
    )  # fmt: skip
    return tuple(
        Sample(pattern, size, origin, median_s(pattern, size, fraction))
        for pattern, origin in patterns
        for size in SIZES
    )


def measurement(
    sample: Sample, *, split: Split | None = None, status: Status = "ok", samples_count: int = 1000
) -> Measurement:
    """``split`` is the share of the wire bytes that each interface carries."""
    one = sample.message_bytes if "latency" in sample.pattern else sample.message_bytes * WINDOW
    sent = one * samples_count
    both = sample.pattern in ("latency", "bidirectional_bandwidth")
    payload = (sent if sample.origin == 0 or both else 0, sent if sample.origin == 1 or both else 0)
    ok = status == "ok"
    return Measurement(
        case=name(sample), pattern=sample.pattern, message_bytes=sample.message_bytes,
        window=1 if "latency" in sample.pattern else WINDOW, origin=sample.origin,
        target=1 - sample.origin, status=status, reason="" if ok else "planted",
        stop="interval" if ok else "", warmup_samples=20, samples=samples_count if ok else 0,
        batch=1, wall_s=0.5, sample_payload_bytes=one, payload_sent_bytes=payload,
        times=times(sample) if ok else None, histogram_resolution=1 / 128, histogram_ps=(),
        block_medians_s=(), data_check=DataCheck(False, True),
        counters=tuple(counters(rank, payload[rank], split or {"eth0": 1.0}) for rank in (0, 1)),
        sockets=tuple((socket(rank, payload[rank]),) for rank in (0, 1)),
        processors=tuple(msgspec.structs.replace(QUIET, rank=rank) for rank in (0, 1)),
    )  # fmt: skip


def name(sample: Sample) -> str:
    return f"{sample.pattern}/{sample.message_bytes}/{sample.origin}>{1 - sample.origin}"


def times(sample: Sample) -> Times:
    middle, width = sample.median_s, sample.width
    return Times(
        middle * 0.9, middle, middle * (1 - width), middle * (1 + width), 0.95, middle * 1.01,
        middle * 1.2, middle * sample.p99, middle * 3, middle * 8,
    )  # fmt: skip


def counters(rank: int, payload_bytes: int, split: Split) -> NodeCounters:
    octets = payload_bytes * 1.05
    after = {
        interface: InterfaceCounters(0, int(octets * share) + 600, 0, 9, 0, 0, 0, 0)
        for interface, share in {"lo": 0.0, "eth0": 0.0, "eth1": 0.0, **split}.items()
    }
    return NodeCounters(rank, NODES[rank], dict.fromkeys(after, NO_TRAFFIC), after)


def socket(rank: int, payload_bytes: int) -> Socket:
    carried = int(payload_bytes * 1.05)  # as the counters have it: MPI's own messages are in it
    return Socket(
        f"10.77.0.1{rank + 1}:50000", f"10.77.0.1{2 - rank}:50001", carried, carried,
        0, 1448, 1e-3, 0.49, 0.0, 0.0, "cubic",
    )  # fmt: skip


def placements() -> tuple[Placement, ...]:
    return tuple(
        Placement(rank, node, 100 + rank, f"boot-{node}", f"net:[{rank}]", "0-1", 0, 0, "eth0")
        for rank, node in enumerate(NODES)
    )


def launch(
    measurements: Iterable[Measurement], number: int = 1, network: str | None = "net1"
) -> Launch:
    ended = Ended("ok", 0, "", ("mpiexec",), 30.0)
    return Launch(number, network, NODES, None, placements(), tuple(measurements), ended)


def interface(index: int, number: int, mtu: int = 1500) -> Interface:
    return Interface(
        f"eth{index}", "e1000e", "up", True, RATE, mtu, f"02:00:00:00:0{index}:0{number}",
        (Address(f"10.77.{index}.1{number}", 24),), Skipped("none"), 0,
    )  # fmt: skip


def node(number: int) -> Node:
    return Node(
        f"c{number}", f"c{number}", f"boot-c{number}", f"net:[{number - 1}]", 2, "6.1",
        (interface(0, number), interface(1, number)), {},
    )  # fmt: skip


def network(index: int = 0) -> Network:
    members = tuple(
        Member(f"c{number}", f"eth{index}", f"10.77.{index}.1{number}", 1500) for number in (1, 2)
    )
    return Network(
        f"net{index + 1}", f"10.77.{index}.0/24", "ethernet", RATE, "ethtool", members
    )  # fmt: skip


def fabric() -> Fabric:
    return Fabric((node(1), node(2)), (), (network(0), network(1)))


def run(
    launches: Iterable[Launch] | None = None, *, of: Fabric | None = None, plan: Plan | None = None
) -> Run:
    """A run of these launches; by default three sound ones that did all that was planned."""
    done = tuple(launches) if launches is not None else sound_launches()
    return Run(
        "r1", "2026-01-01T00:00:00Z", ("fabricgauge", "check"), {}, of or fabric(),
        plan or plan_of(done), done, True,
    )  # fmt: skip


def sound_launches(fraction: float = 0.995) -> tuple[Launch, ...]:
    return tuple(launch(map(measurement, samples(fraction)), number) for number in (1, 2, 3))


def plan_of(launches: Iterable[Launch]) -> Plan:
    planned = tuple(
        PlannedLaunch(one.number, one.network, "10.77.0.0/24", one.nodes, cases(one))
        for one in launches
    )
    return Plan("standard", Stopping(0.01, 0.95), False, planned)


def cases(of: Launch) -> tuple[Case, ...]:
    return tuple(
        Case(m.case, m.pattern, m.message_bytes, m.window, m.origin, m.target, 0.5)
        for m in of.measurements
    )


def changed(
    launches: Iterable[Launch], change: Callable[[Measurement], Measurement]
) -> list[Launch]:
    """The launches with every measurement changed."""
    return [
        msgspec.structs.replace(one, measurements=tuple(map(change, one.measurements)))
        for one in launches
    ]


def without_sockets(launches: Iterable[Launch]) -> tuple[Launch, ...]:
    """As a transport leaves it that is not TCP."""
    return tuple(changed(launches, lambda one: msgspec.structs.replace(one, sockets=((), ()))))


def judge(
    of: Run,
    ceilings: dict[str, Ceiling | Skipped],
    thresholds: Thresholds = DEFAULTS,
    fabric: FabricResult = NO_PAIRS,
    evidence: RunEvidence | None = None,
) -> tuple[Verdict, ...]:
    return judgement(Context(of, ceilings, thresholds, fabric, evidence)).verdicts


def verdicts(
    of: Run, limit: Ceiling | Skipped | None = None, thresholds: Thresholds = DEFAULTS
) -> tuple[Verdict, ...]:
    return judge(of, {"net1": limit or ceiling()}, thresholds)


def by_rule(given: Iterable[Verdict], rule: str) -> tuple[Verdict, ...]:
    return tuple(one for one in given if one.rule == rule)


def outcomes(given: Iterable[Verdict], rule: str) -> set[Outcome]:
    return {one.outcome for one in by_rule(given, rule)}


def the(given: Iterable[Verdict], rule: str, outcome: Outcome) -> Verdict:
    """The first verdict of that rule and outcome; fails when there is none."""
    found = [one for one in given if (one.rule, one.outcome) == (rule, outcome)]
    assert found, f"{rule} gave no {outcome.value}"
    return found[0]
