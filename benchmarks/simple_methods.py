"""The localiser beside simple methods, on the same planted faults.

Each method sees the same matrices of pairs, and may measure any pair again alone, for as long as a
check does. It names a node where most of its pairs in a direction are slow, or else pairs: a
method that knows nothing of nodes is given that rule, so that it is not charged with every pair of
a slow node. Slow ways of groups are left out: none of the simple methods knows of groups.

- median and MAD: a pair more than 3 robust deviations, and half of a fault's least effect, from
  the median of the pairs that are as far apart (within a leaf, between leaves); found so again
  when it is measured alone. Half, since a fault of the least effect is measured below it half of
  the time: the localiser heeds that as well;
- ClusterKit: bandwidth below 93 % of the most, latency above 2.1 times the least, again when
  measured alone;
- FastFabric: bandwidth 20 % below the average, latency 50 % above it, again when measured alone.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from unittest.mock import patch

import msgspec
import numpy as np
from benchmarks.ablation import PLANTED
from benchmarks.detection import Claim, Named, Outcome, compared, scenarios
from benchmarks.fault_detection import AGAIN, looked_at_again, planted_as
from benchmarks.planted import (
    F64,
    Fault,
    Scenario,
    every_pair_again,
    leaves,
    measured,
    names,
)
from benchmarks.tables import heading, table
from numpy.typing import NDArray

from benchmarks import planted
from fabricgauge.judge.localise.detect import analyse
from fabricgauge.judge.localise.limits import FAULT
from fabricgauge.judge.localise.recheck import recheck
from fabricgauge.model.absence import Skipped

#: Robust deviations beyond which a pair stands out.
DEVIATIONS = 3.0
#: ClusterKit's defaults, of the extreme values (NVIDIA HPC-X 2.24, "Running ClusterKit"), and
#: those of FastFabric, of the average (deviation.c of opa-ff 10, LATENCY_TOLERANCE and
#: BANDWIDTH_TOLERANCE), which measures each node with one partner and failures again in sequence.
CLUSTERKIT = {"bandwidth": 0.93, "latency": 2.1}
FASTFABRIC = {"bandwidth": 0.80, "latency": 1.5}
#: A node is named when this share of its pairs in a direction is slow.
MOST = 0.5
#: Seeds of each fabric that is not sound.
SEEDS = range(24)

Slow = NDArray[np.bool_]
Judge = Callable[[Scenario, F64], Slow]
#: Some scenarios of a kind, and by how much links of healthy nodes differ there.
Kind = tuple[str, Sequence[Scenario], float]


class Tried(NamedTuple):
    """What came of one scenario, and how many pairs were measured again for it."""

    outcome: Outcome
    again: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each method finds and whom it names falsely, by kind of fabric."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.parse_args(arguments)
    what = (
        "exact: the right part at the right place; false: runs that name somebody healthy; again: "
        "pairs that a run measures again, on average."
    )
    print(heading("The localiser beside simple methods", what))
    heads = ("fabric", "method", "runs", "faults", "exact", "missed", "false", "again")
    print(table(heads, [row for kind in _kinds() for row in _rows(kind)]))


def _kinds() -> Iterator[Kind]:
    for nodes, passes, repeats in ((4, 1, 2), (4, 3, 2), (8, 3, 2), (32, 3, 2), (128, 3, 2)):
        drawn = _sound(scenarios((nodes,), repeats, passes, PLANTED))
        for quantity in dict.fromkeys(one.quantity for one in drawn):
            for noisy in (False, True):
                said = f"{nodes} nodes, {quantity}, {'5 %' if noisy else '0.5 to 2 %'} noise"
                here = [
                    one for one in drawn if (one.quantity, one.noise > 0.02) == (quantity, noisy)
                ]
                yield f"{said}, {passes} passes", here, planted.SAMENESS
    half = (Fault("node", (7,), 0.5),)
    collided = [
        Scenario(seed, 32, "bandwidth", 0.01, 3, (), collided=share)
        for share in (0.05, 0.2)
        for seed in SEEDS
    ]
    yield "32 nodes, 5 or 20 % of the routes collide", collided, planted.SAMENESS
    crossing = [
        Scenario(seed, 64, "bandwidth", 0.01, 3, half, oversubscribed=2.0) for seed in SEEDS
    ]
    yield "64 nodes, 2:1, one at half its rate", crossing, planted.SAMENESS
    differ = _sound(scenarios((32,), 1, 3, PLANTED))
    yield "32 nodes, links differ by 2 %", differ, 0.02


def _sound(drawn: Iterable[Scenario]) -> list[Scenario]:
    return [one for one in drawn if all(fault.element != "group" for fault in one.faults)]


def _rows(kind: Kind) -> Iterator[tuple[str, ...]]:
    said, drawn, sameness = kind
    with patch.object(planted, "SAMENESS", sameness):
        for name, method in METHODS.items():
            tried = [method(one) for one in drawn]
            sums = (
                sum(getattr(one.outcome, field) for one in tried)
                for field in ("planted", "exact", "missed")
            )
            alarms = sum(one.outcome.healthy > 0 for one in tried)
            again = sum(one.again for one in tried) / len(tried)
            yield said, name, str(len(tried)), *map(str, sums), str(alarms), f"{again:.0f}"


def alone(scenario: Scenario) -> Scenario:
    """The same while one pair measures: it has the links between leaves to itself."""
    return msgspec.structs.replace(scenario, oversubscribed=1.0, collided=0.0)


def localiser(scenario: Scenario) -> Tried:
    """What a check does."""
    found = analyse(measured(scenario), leaves(scenario.nodes))
    made = recheck([found])
    meetings = () if made is None or isinstance(made.meetings, Skipped) else made.meetings
    met = {frozenset((one.one, one.other)) for one in meetings}
    named = looked_at_again(alone(scenario), found, AGAIN).faults
    return Tried(_compared(scenario, named), len(met))


def by(judge: Judge) -> Callable[[Scenario], Tried]:
    """A method by what it takes for a slow pair, among all pairs and alone."""

    def method(scenario: Scenario) -> Tried:
        values = measured(scenario).values
        slow = judge(scenario, values)
        met = slow | slow.T
        again = every_pair_again(alone(scenario), AGAIN)
        slow &= judge(scenario, np.where(met, again, values))
        return Tried(_compared(scenario, _named(scenario, slow)), int(met.sum()) // 2)

    return method


def _compared(scenario: Scenario, claims: Iterable[Claim]) -> Outcome:
    return compared(scenario, [planted_as(fault) for fault in scenario.faults], claims)


def beyond_median(scenario: Scenario, values: F64) -> Slow:
    leaf = np.arange(scenario.nodes) // planted.LEAF
    inside = leaf[:, None] == leaf[None, :]
    slow: Slow = np.zeros(values.shape, dtype=np.bool_)
    for alike in (inside, ~inside):
        here = values[alike & np.isfinite(values)]
        if here.size:
            median = np.median(here)
            deviation = 1.4826 * np.median(np.abs(here - median))
            least = max(DEVIATIONS * deviation, 0.5 * FAULT[scenario.quantity] * median)
            slow[alike & (_sign(scenario) * (values - median) > least)] = True
    return slow


def beyond_share(shares: dict[str, float], *, of_best: bool) -> Judge:
    def judge(scenario: Scenario, values: F64) -> Slow:
        best = np.nanmin if scenario.quantity == "latency" else np.nanmax
        usual = float((best if of_best else np.nanmean)(values))
        apart = _sign(scenario) * (values - shares[scenario.quantity] * usual)
        return np.asarray(apart > 0, dtype=np.bool_)

    return judge


def _sign(scenario: Scenario) -> int:
    """Of what a slow pair's figure differs by."""
    return 1 if scenario.quantity == "latency" else -1


class _Claim(msgspec.Struct, frozen=True):
    """A name as :func:`compared` asks for it."""

    part: str
    names: tuple[str, ...]


def _named(scenario: Scenario, slow: Slow) -> list[Claim]:
    """Nodes, senders and receivers most of whose pairs are slow, then pairs of the others."""
    called = names(scenario.nodes)
    least = MOST * (scenario.nodes - 1)
    sending, receiving = slow.sum(axis=1) > least, slow.sum(axis=0) > least
    found: set[Named] = set()
    for i in np.flatnonzero(sending | receiving):
        both = scenario.quantity == "latency" or (sending[i] and receiving[i])
        part = "node" if both else "sender" if sending[i] else "receiver"
        found.add((part, (called[i],)))
    named = sending | receiving
    left = slow & ~named[:, None] & ~named[None, :]
    pairs = Counter(tuple(sorted((int(i), int(j)))) for i, j in np.argwhere(left))
    found |= {
        ("pair" if times > 1 else "direction", (called[i], called[j]))
        for (i, j), times in pairs.items()
    }
    return [_Claim(*one) for one in found]


METHODS: dict[str, Callable[[Scenario], Tried]] = {
    "median and MAD": by(beyond_median),
    "ClusterKit": by(beyond_share(CLUSTERKIT, of_best=True)),
    "FastFabric": by(beyond_share(FASTFABRIC, of_best=False)),
    "fabricgauge": localiser,
}


if __name__ == "__main__":
    main()
