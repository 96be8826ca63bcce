"""Synthetic runs of many nodes: every pair's rate and latency, and suspects measured again."""

from collections.abc import Callable, Iterable
from itertools import permutations

import msgspec
from tests.judge import planted

from fabricgauge.judge.localise.detect import localise
from fabricgauge.model.fabric import Address, Fabric, Member, Network, Topology
from fabricgauge.model.measurement import Measurement, Placement, Round
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.verdict import Verdict

MIB = 1 << 20
WINDOW = 16
LATENCY_S = 11e-6

#: From rank, to rank: a share of the ceiling, or half a round trip in seconds.
Pairs = Callable[[int, int], float]


def sound(origin: int, target: int) -> float:
    """Every pair at 99.5 % of the ceiling, less up to 0.3 % that differ from pair to pair."""
    return 0.995 - 0.003 * ((7 * origin + 3 * target) % 5) / 4


def slow(*ranks: int, share: float = 0.25) -> Pairs:
    """Whatever these ranks send or receive is at ``share`` of what it should be."""
    return lambda one, other: sound(one, other) * (share if {one, other} & set(ranks) else 1.0)


def even(origin: int, target: int) -> float:
    return LATENCY_S * (1 + 0.004 * ((5 * origin + 5 * target) % 3))


def rounds(count: int, shares: Pairs = sound, latencies: Pairs = even) -> tuple[Round, ...]:
    """One round of each kind that holds all pairs: the analysis does not ask which round it was."""
    there = tuple(permutations(range(count), 2))
    once = tuple(pair for pair in there if pair[0] < pair[1])
    payload = MIB * WINDOW
    rate = planted.CEILING_BYTES_PER_S
    return (
        _round("all_pairs_latency", 8, 1, once, [latencies(*pair) for pair in once]),
        _round(
            "all_pairs_bandwidth", MIB, WINDOW, there,
            [payload / (rate * shares(*pair)) for pair in there],
        ),
    )  # fmt: skip


def _round(
    pattern: str, size: int, window: int, pairs: tuple[tuple[int, int], ...], times: list[float]
) -> Round:
    median_ps = tuple(round(one * 1e12) for one in times)
    return Round(
        f"{pattern}/{size}", 0, 1, size, window, tuple(pair[0] for pair in pairs),
        tuple(pair[1] for pair in pairs), (20,) * len(pairs), median_ps, median_ps,
        tuple(one // 200 for one in median_ps), 0.5,
    )  # fmt: skip


def launch(count: int, made: tuple[Round, ...], number: int = 1) -> Launch:
    nodes = tuple(f"c{one}" for one in range(1, count + 1))
    placements = tuple(
        Placement(rank, node, 100 + rank, f"boot-{node}", f"net:[{rank}]", "0-1", 0, 0, "eth0")
        for rank, node in enumerate(nodes)
    )
    cases = tuple(end_of_case(one, count) for one in made)
    ended = Ended("ok", 0, "", ("mpiexec",), 120.0)
    return Launch(number, "net1", nodes, None, placements, cases, ended, rounds=made)


def end_of_case(made: Round, count: int) -> Measurement:
    """The record that ends a round robin: counters of every node, no times of its own."""
    payload = made.message_bytes * made.window * 20 * count
    like = planted.measurement(planted.Sample("latency", made.message_bytes, 0, 1e-5))
    return msgspec.structs.replace(
        like, case=made.case, pattern=made.case.partition("/")[0], times=None, samples=0,
        window=made.window, target=0, payload_sent_bytes=(payload,) * count,
        counters=tuple(
            msgspec.structs.replace(
                planted.counters(0, payload, {"eth0": 1.0}), rank=rank, host=f"c{rank + 1}"
            )
            for rank in range(count)
        ),
        sockets=((),) * count, processors=(),
    )  # fmt: skip


def again(
    count: int, pairs: Iterable[tuple[int, int]], shares: Pairs, latencies: Pairs = even
) -> Launch:
    """Pairs of ranks measured one at a time."""
    alone = launch(count, (), 2)
    cases = []
    for origin, target in pairs:
        seconds = WINDOW * MIB / (planted.CEILING_BYTES_PER_S * shares(origin, target))
        for sample in (
            planted.Sample("bandwidth", MIB, 0, seconds),
            planted.Sample("latency", 8, 0, latencies(origin, target)),
        ):
            one = planted.measurement(sample)
            streams = sample.pattern == "bandwidth"
            cases.append(msgspec.structs.replace(
                one, case=f"{sample.pattern}/{origin}>{target}", origin=origin, target=target,
                window=WINDOW if streams else 1, counters=(), sockets=(), processors=(),
                sample_payload_bytes=WINDOW * MIB if streams else 8,
                payload_sent_bytes=(0,) * count,
            ))  # fmt: skip
    return msgspec.structs.replace(alone, measurements=tuple(cases), purpose="again")


def run(*launches: Launch) -> Run:
    nodes = tuple(_node(number) for number in range(1, len(launches[0].nodes) + 1))
    members = tuple(
        Member(one.name, "eth0", one.interfaces[0].addresses[0].ip, 1500) for one in nodes
    )
    network = Network("net1", "10.77.0.0/24", "ethernet", planted.RATE, "ethtool", members)
    return planted.run(launches, of=Fabric(nodes, (), (network,)))


def _node(number: int):  # type: ignore[no-untyped-def]
    plain = planted.node(1)
    address = (Address(f"10.77.0.{10 + number}", 24),)
    interface = msgspec.structs.replace(plain.interfaces[0], addresses=address)
    return msgspec.structs.replace(
        plain, name=f"c{number}", hostname=f"c{number}", boot_id=f"boot-c{number}",
        net_namespace=f"net:[{number - 1}]", interfaces=(interface,),
    )  # fmt: skip


def verdicts(of: Run, topology: Topology = Topology()) -> tuple[Verdict, ...]:  # noqa: B008
    fabric = localise(of.launches, topology)
    return planted.judge(of, {"net1": planted.ceiling()}, fabric=fabric)
