"""Fabrics for the tests, from the planted ones of the benchmarks."""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
from benchmarks.planted import Fault, Scenario
from benchmarks.planted import measured as measured_in
from numpy.typing import NDArray

from fabricgauge.check.plan import round_robin
from fabricgauge.judge.localise.confirm import confirm
from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.recheck import recheck
from fabricgauge.judge.stats.series import Point, Series
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.measurement import Round
from fabricgauge.model.pairs import Meeting, PairAnalysis, PairMatrix, Quantity
from fabricgauge.model.run import Ended, Launch

NOWHERE = Topology()


def measured(
    nodes: int,
    *faults: Fault,
    quantity: Quantity = "bandwidth",
    noise: float = 0.01,
    passes: int = 3,
    seed: int = 1,
    oversubscribed: float = 1.0,
    collided: float = 0.0,
) -> PairMatrix:
    """A matrix with planted faults."""
    return measured_in(
        Scenario(seed, nodes, quantity, noise, passes, faults, oversubscribed, collided)
    )


def named(matrix: PairMatrix, topology: Topology = NOWHERE) -> set[tuple[str, tuple[str, ...]]]:
    """Parts and names of all faults."""
    return faults(analyse(matrix, topology))


def faults(analysis: PairAnalysis) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (one.part, tuple(sorted(one.names)))
        for one in analysis.findings
        if one.explanation == "fault"
    }


def matrix_of(
    values: NDArray[np.float64], quantity: Quantity = "bandwidth", passes: int = 3
) -> PairMatrix:
    """A matrix in which every pass measured the same."""
    count = len(values)
    off = np.array(values, dtype=float)
    np.fill_diagonal(off, np.nan)
    names = tuple(f"n{i:05d}" for i in range(count))
    return PairMatrix(
        "net", quantity, 1 << 20, names, off, np.zeros_like(off), np.stack([off] * passes)
    )


class Tree(msgspec.Struct, frozen=True):
    """A fat tree 2:1 with fixed routes: a receiver's number decides which uplink leads to it.

    Pairs that measure at once have half of an uplink. ``slow_uplinks`` are shares by leaf and
    uplink, ``slow_nodes`` shares by node, for both directions, the others for one.
    """

    leaves: int
    leaf: int
    slow_uplinks: dict[tuple[int, int], float] = {}
    slow_nodes: dict[int, float] = {}
    slow_senders: dict[int, float] = {}
    slow_receivers: dict[int, float] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"n{i:05d}" for i in range(self.leaves * self.leaf))

    @property
    def topology(self) -> Topology:
        groups = (
            Group(f"leaf{i}", self.names[i * self.leaf : (i + 1) * self.leaf], "spine")
            for i in range(self.leaves)
        )
        return Topology(tuple(groups), "planted")

    def rate(self, origin: int, target: int, *, alone: bool) -> float:
        nodes = min(
            *(self.slow_nodes.get(node, 1.0) for node in (origin, target)),
            self.slow_senders.get(origin, 1.0),
            self.slow_receivers.get(target, 1.0),
        )
        leaves = {origin // self.leaf, target // self.leaf}
        if len(leaves) == 1:
            return nodes
        uplink = target % max(1, self.leaf // 2)
        ways = min(self.slow_uplinks.get((leaf, uplink), 1.0) for leaf in leaves)
        return min(nodes, ways if alone else 0.5 * ways)

    def check(self, noise: float = 0.0, seed: int = 1) -> PairAnalysis:
        """One pass over all pairs at once, and what a second measurement leaves of it."""
        rng = np.random.default_rng(seed)
        count = len(self.names)
        values = np.array([
            [self.rate(i, j, alone=False) for j in range(count)] for i in range(count)
        ])  # fmt: skip
        values *= 1.0 - noise * np.abs(rng.standard_normal(values.shape))
        given = analyse(matrix_of(1e10 * values, passes=1), self.topology)
        return self.second_look(given, rng, noise / 5)

    def second_look(
        self, given: PairAnalysis, rng: np.random.Generator, noise: float = 0.0
    ) -> PairAnalysis:
        """What the pairs that are measured again, one at a time, leave of an analysis."""
        made = recheck([given])
        if made is None or isinstance(made.meetings, Skipped):
            return given
        (found,) = confirm([given], [*self._again(made.meetings, rng, noise)])
        return found

    def _again(
        self, meetings: Iterable[Meeting], rng: np.random.Generator, noise: float
    ) -> Iterator[Series]:
        for one in meetings:
            if one.quantity != "bandwidth":
                continue
            for ends in ((one.one, one.other), (one.other, one.one)):
                places = (self.names.index(end) for end in ends)
                rate = 1e10 * self.rate(*places, alone=True)
                rate *= 1.0 - noise * abs(float(rng.standard_normal()))
                told = Estimate(rate, rate, rate, 0.95, 1, 1)
                yield Series("bandwidth", *ends, (Point(one.message_bytes, told, told, ()),))


class Dragonfly(msgspec.Struct, frozen=True):
    """Four groups of two chassis with four routers, a node on each, routed as SimGrid routes it.

    A link between two groups carries what four nodes send; ``uplinks`` are shares by group.
    """

    uplinks: dict[int, float] = {}
    late_s: dict[int, float] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"n{i:05d}" for i in range(32))

    @property
    def topology(self) -> Topology:
        groups = (Group(f"group{i}", self.names[8 * i : 8 * i + 8], "") for i in range(4))
        return Topology(tuple(groups), "planted")

    def latencies(self) -> PairMatrix:
        """Half round trips: 0.11 µs for each link, and 0.71 µs for both ends."""
        links = np.array([[_links(i, j) for j in range(32)] for i in range(32)])
        late = np.array([self.late_s.get(i, 0.0) for i in range(32)])
        values = 0.11e-6 * (links + links.T) / 2 + 0.71e-6 + late[:, None] + late[None, :]
        return matrix_of(values, "latency", passes=1)

    def launch(self) -> Launch:
        """All pairs, sixteen at once: those that cross share the link of their groups."""
        rounds = []
        for number in range(31):
            pairs = [
                (int(one), int(other)) for one, other in round_robin.pairs_of_round(number, 32)
            ]
            for turn in (pairs, [(target, origin) for origin, target in pairs]):
                crossing = Counter((origin // 8, target // 8) for origin, target in turn)
                rates = [
                    min(1.0, self._capacity(*ways) / crossing[ways])
                    for ways in ((origin // 8, target // 8) for origin, target in turn)
                ]
                times = tuple(int(1e12 * (1 << 20) / (1e10 * rate)) for rate in rates)
                rounds.append(Round(
                    "all_pairs_bandwidth/1048576", number, 31, 1 << 20, 1,
                    tuple(origin for origin, _ in turn), tuple(target for _, target in turn),
                    (9,) * 16, times, times, (0,) * 16, 0.1,
                ))  # fmt: skip
        ended = Ended("done", 0, "", (), 1.0)
        return Launch(1, "net", self.names, None, (), (), ended, rounds=tuple(rounds))

    def _capacity(self, origin: int, target: int) -> float:
        if origin == target:
            return 8.0
        return 4.0 * min(self.uplinks.get(group, 1.0) for group in (origin, target))


def _links(origin: int, target: int) -> int:
    """How many links lead from one node to the other."""
    (group, chassis, router), (to_group, to_chassis, to_router) = (
        (node // 8, node // 4 % 2, node % 4) for node in (origin, target)
    )
    links = 2
    if group != to_group:
        links += (router != to_group) + (chassis != 0) + 1
        chassis, router = 0, group
    if router != to_router:
        links, chassis = links + 1, 0
    return links + (chassis != to_chassis)
