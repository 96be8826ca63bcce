"""A realistic judged run of two nodes on 1 Gb/s Ethernet, with made-up but fixed figures."""

import random

from tests.report import sample_verdicts

from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.estimate import Curve, CurvePoint, Estimate
from fabricgauge.model.fabric import Address, Fabric, Interface, Member, Network, Node, Unreached
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import (
    DataCheck,
    Header,
    InterfaceCounters,
    Measurement,
    NodeCounters,
    Placement,
    Timer,
    Times,
)
from fabricgauge.model.pattern import LATENCY_PATTERNS, Pattern
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

SIZES = (0, *(2**power for power in range(23)))
PATTERNS: tuple[Pattern, ...] = (
    "latency", "bandwidth", "bidirectional_bandwidth", "put_latency", "put_bandwidth",
)  # fmt: skip
LIMIT = 1e9 / 8 * 1448 / 1538
WINDOW = 64
NODES = ("c1", "c2")


def judged(
    nodes: tuple[str, str] = NODES,
    verdicts: tuple[Verdict, ...] | None = None,
    *,
    rate: float = 1.0,
    virtual: bool = True,
) -> Judged:
    """The sample; ``rate`` scales what was measured against what the ceiling allows."""
    given = sample_verdicts.passing(nodes) if verdicts is None else verdicts
    verdicts = tuple(sample_verdicts.placed(one, nodes) for one in given)
    order = list(Outcome)
    decided = [one.outcome for one in verdicts if one.outcome is not Outcome.SKIPPED]
    made = run(nodes, rate, virtual)
    return Judged(
        run=made,
        ceilings={"net1": ceiling()},
        curves=curves(nodes, rate),
        verdicts=verdicts,
        overall=min(decided, key=order.index, default=Outcome.SKIPPED),
        judged_utc="2026-11-21T20:17:44Z",
        rules_version="1",
        evidence=gather_evidence(made),
    )


def ceiling() -> Ceiling:
    return Ceiling(
        network="net1",
        payload_bytes_per_s=LIMIT,
        payload_per_packet_bytes=1448,
        wire_bytes_per_packet=1538,
        burst_bytes=32768,
        binding="link rate",
        steps=(
            CeilingStep("line rate", "1 Gb/s per direction, as the lab set it", 1e9, "bit/s"),
            CeilingStep("packet", "MTU", 1500, "bytes"),
            CeilingStep("IP and TCP headers", "20 + 20 + 12 (timestamps)", 52, "bytes"),
            CeilingStep("payload per packet", "1500 - 52", 1448, "bytes"),
            CeilingStep(
                "on the wire", "1500 + 14 + 4 (FCS) + 8 (preamble) + 12 (gap)", 1538, "bytes"
            ),
            CeilingStep("payload share", "1448 / 1538", 1448 / 1538, "share"),
            CeilingStep("ceiling", "1e9 / 8 × 1448 / 1538", LIMIT, "bytes/s per direction"),
        ),
    )


def curves(nodes: tuple[str, str], rate: float) -> tuple[Curve, ...]:
    there, back = nodes, (nodes[1], nodes[0])
    plan: tuple[tuple[Pattern, tuple[str, str]], ...] = (
        *((pattern, there) for pattern in PATTERNS),
        ("bandwidth", back),
    )
    return tuple(
        Curve("net1", pattern, ends[0], ends[1], tuple(points(pattern, ends is back, rate)))
        for pattern, ends in plan
    )


def points(pattern: Pattern, reverse: bool, rate: float) -> list[CurvePoint]:
    noise = random.Random(f"{pattern}{reverse}")  # noqa: S311
    return [
        point(pattern, size, rate, noise)
        for size in SIZES
        if (size or pattern in LATENCY_PATTERNS) and (not reverse or size >= 65536)
    ]


def point(pattern: Pattern, size: int, rate: float, noise: random.Random) -> CurvePoint:
    middle = sample_s(pattern, size, rate) * noise.uniform(
        1.0, 1.02 if window(pattern) == 1 else 1.003
    )
    spread = noise.uniform(0.002, 0.008)
    time = Estimate(middle, middle * (1 - spread), middle * (1 + spread), 0.95, 3, 3600)
    payload = size * window(pattern) * (2 if pattern == "bidirectional_bandwidth" else 1)
    bandwidth = None
    if pattern not in LATENCY_PATTERNS:
        bandwidth = Estimate(
            payload / time.value, payload / time.high, payload / time.low, 0.95, 3, 3600
        )
    return CurvePoint(
        size, window(pattern), time, bandwidth, middle * 1.9, middle * 0.93, middle * 6.1,
        middle * 1.02,
    )  # fmt: skip


def window(pattern: Pattern) -> int:
    return 1 if pattern in LATENCY_PATTERNS else WINDOW


def sample_s(pattern: Pattern, size: int, rate: float) -> float:
    """A plausible time per sample: software at small sizes, the wire at large ones."""
    wire_s = size / (LIMIT * rate)
    if pattern == "latency":
        return 10.3e-6 + size / 2.4e9 + max(0.0, size - 32768 * 0.9) / (LIMIT * rate)
    if pattern == "put_latency":
        return 27e-6 + size / 2.4e9 + max(0.0, size - 32768 * 0.9) / (LIMIT * rate)
    software_s = {"bandwidth": 0.42e-6, "put_bandwidth": 0.75e-6}.get(pattern, 0.9e-6)
    loss = 1.05 if pattern == "bidirectional_bandwidth" else 1.003
    return WINDOW * max(software_s + size / 6e9, wire_s * loss + 0.1e-6) + 14e-6


def run(nodes: tuple[str, str], rate: float, virtual: bool) -> Run:
    return Run(
        identity="20261121T201503Z-k3f9",
        started_utc="2026-11-21T20:15:03Z",
        command=("fabricgauge", "check", "--lab"),
        environment={"fabricgauge": "0.1.0", "kernel": "6.1.0", "MPI": "MPICH 5.0.2"},
        fabric=fabric(nodes, virtual),
        plan=Plan("standard", Stopping(0.01, 0.95), True, tuple(map(planned, (1, 2, 3)))),
        launches=tuple(launch(number, nodes, rate) for number in (1, 2, 3)),
        complete=True,
    )


def planned(number: int) -> PlannedLaunch:
    return PlannedLaunch(number, "net1", "10.77.1.0/24", NODES, tuple(cases()))


def cases() -> list[Case]:
    return [
        Case(
            case_name(pattern, size, origin), pattern, size, window(pattern), origin, 1 - origin, 1
        )
        for pattern, origin in (*((pattern, 0) for pattern in PATTERNS), (PATTERNS[1], 1))
        for size in SIZES
        if (size or pattern in LATENCY_PATTERNS) and (not origin or size >= 65536)
    ]


def case_name(pattern: Pattern, size: int, origin: int) -> str:
    return f"{pattern}/{size}/{origin}>{1 - origin}"


def launch(number: int, nodes: tuple[str, str], rate: float) -> Launch:
    return Launch(
        number=number,
        network="net1",
        nodes=nodes,
        header=Header(
            "fabricgauge-engine", "1.0", "0.1.0", "MPICH Version: 5.0.2", "4.1", "GNU 12.2.0 -O2",
            2, "2026-11-21T20:15:05Z", Timer("CLOCK_MONOTONIC", 1e-9, 2.4e-8),
        ),
        placements=tuple(
            Placement(rank, node, 4711 + rank, f"boot-{node}", f"net:[402653221{rank}]", "0-1",
                      rank, 0, "eth0")
            for rank, node in enumerate(nodes)
        ),
        measurements=tuple(measurement(case, nodes, rate) for case in cases()),
        ended=Ended("ended", 0, "", ("mpiexec", "-hosts", ",".join(nodes), "engine"), 31.2),
    )  # fmt: skip


def measurement(case: Case, nodes: tuple[str, str], rate: float) -> Measurement:
    middle = sample_s(case.pattern, case.message_bytes, rate)
    payload = case.message_bytes * case.window
    sent = (payload + 64) * min(1200, int(4e8 / (payload + 64)))
    sent_back = sent if case.pattern in ("latency", "bidirectional_bandwidth") else 64 * 1200
    by_rank = (sent, sent_back) if case.origin == 0 else (sent_back, sent)
    return Measurement(
        case=case.name, pattern=case.pattern, message_bytes=case.message_bytes,
        window=case.window, origin=case.origin, target=case.target, status="ok", reason="",
        stop="interval" if case.message_bytes < 1 << 20 else "budget", warmup_samples=40,
        samples=1200, batch=1, wall_s=0.4, sample_payload_bytes=payload,
        payload_sent_bytes=by_rank,
        times=Times(middle * 0.93, middle, middle * 0.996, middle * 1.004, 0.95, middle * 1.02,
                    middle * 1.3, middle * 1.9, middle * 4.2, middle * 6.1),
        histogram_resolution=1 / 128, histogram_ps=((int(middle * 1e12), 1200),),
        block_medians_s=(middle,) * 8, data_check=DataCheck(True, True),
        counters=tuple(
            counters(rank, node, by_rank[rank], by_rank[1 - rank])
            for rank, node in enumerate(nodes)
        ),
        sockets=((), ()), processors=(),
    )  # fmt: skip


def counters(rank: int, host: str, sent: int, received: int) -> NodeCounters:
    still = InterfaceCounters(0, 0, 0, 0, 0, 0, 0, 0)
    out, into = (int(one * 1.045) + received // 60 + 1000 for one in (sent, received))
    moved = InterfaceCounters(into, out, into // 1514, out // 1514, 0, 0, 0, 0)
    little = InterfaceCounters(640, 640, 4, 4, 0, 0, 0, 0)
    return NodeCounters(rank, host, {"lo": still, "eth0": still}, {"lo": little, "eth0": moved})


def fabric(nodes: tuple[str, str], virtual: bool) -> Fabric:
    return Fabric(
        nodes=tuple(node(name, number) for number, name in enumerate(nodes, 1)),
        unreached=(),
        networks=(
            Network(
                "net1", "10.77.1.0/24", "ethernet", 1e9, "set by the lab",
                tuple(Member(name, "eth0", f"10.77.1.1{number}", 1500)
                      for number, name in enumerate(nodes, 1)),
                burst_bytes=32768,
            ),
        ),
        virtual=virtual,
    )  # fmt: skip


def node(name: str, number: int) -> Node:
    return Node(
        name, name, f"boot-{name}", f"net:[402653221{number}]", 2, "6.1.0-28-amd64",
        (
            Interface(
                "eth0", "veth", "up", True, 1e9, 1500, f"02:00:00:00:00:0{number}",
                (Address(f"10.77.1.1{number}", 24),), Skipped("none"), Skipped("virtual"),
            ),
        ),
        {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_timestamps": "1"},
    )  # fmt: skip


def unreached(name: str) -> Unreached:
    return Unreached(name, "ssh: connect: No route to host")
