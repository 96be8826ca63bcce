"""The localiser beside simple methods, on the same planted faults.

Each method sees the same matrices of pairs, and may measure single pairs again. What it names is a
node, where most of its pairs in a direction are slow, or else pairs: a method that knows nothing of
nodes is given that rule, so that it is not charged with every pair of a slow node. Slow ways of
groups are left out: none of the simple methods knows of groups.

- median and MAD: a pair more than 6 robust deviations, and 10 % (latency: 5 %), from the median;
- the same, measured again: pairs found so are measured alone and must be found so once more;
- ClusterKit's filter: bandwidth below 93 % of the mean, latency above 2.1 times the mean;
- FastFabric's: bandwidth 20 % below the average, latency 50 % above it.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from benchmarks.detection import Named, Outcome, compared, scenarios
from benchmarks.fault_detection import AGAIN, PASSES, outcome, planted_as
from benchmarks.planted import F64, Scenario, measured, measured_again, names
from benchmarks.tables import heading, table

from fabricgauge.model.pairs import Meeting, PairMatrix

NODES = (32, 128)
#: Robust deviations beyond which a pair stands out, and the least effect of a fault.
DEVIATIONS, LEAST = 6.0, {"bandwidth": 0.10, "latency": 0.05}
#: Mellanox ClusterKit's defaults, and Intel FastFabric's (hostverify, deviation).
CLUSTERKIT = {"bandwidth": 0.93, "latency": 2.1}
FASTFABRIC = {"bandwidth": 0.80, "latency": 1.5}
#: A node is named when this share of its pairs in a direction is slow.
MOST = 0.5

Method = Callable[[Scenario, PairMatrix], set[Named]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each method finds and whom it names falsely, by quantity and noise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2, help="draws of each combination")
    parser.add_argument("--passes", type=int, default=PASSES)
    options = parser.parse_args(arguments)
    drawn = [
        one
        for one in scenarios(NODES, options.repeats, options.passes)
        if all(fault.element != "group" for fault in one.faults)
    ]
    what = (
        f"{len(drawn)} scenarios at N = {' and '.join(map(str, NODES))}, {options.passes} passes; "
        "exact: the right part at the right place; false: runs that name somebody healthy."
    )
    print(heading("The localiser beside simple methods", what))
    found = {name: [_outcome(one, method) for one in drawn] for name, method in METHODS.items()}
    found["fabricgauge"] = [outcome(one, AGAIN) for one in drawn]
    heads = ("method", "quantity", "noise", "faults", "exact", "right place", "missed", "false")
    print(table(heads, list(_rows(found))))


def _rows(found: dict[str, list[Outcome]]) -> Iterator[tuple[str, ...]]:
    for name, outcomes in found.items():
        keys = dict.fromkeys((o.scenario.quantity, o.scenario.noise > 0.02) for o in outcomes)
        for quantity, noisy in keys:
            here = [
                o
                for o in outcomes
                if (o.scenario.quantity, o.scenario.noise > 0.02) == (quantity, noisy)
            ]
            alarms = sum(one.healthy > 0 for one in here)
            yield (
                name, quantity, "5 %" if noisy else "0.5 to 2 %",
                *(str(sum(getattr(one, field) for one in here))
                  for field in ("planted", "exact", "inexact", "missed")),
                f"{alarms} of {len(here)} ({alarms / len(here):.0%})",
            )  # fmt: skip


class _Claim(msgspec.Struct, frozen=True):
    """A name as :func:`compared` asks for it."""

    part: str
    names: tuple[str, ...]


def _outcome(scenario: Scenario, method: Method) -> Outcome:
    claims = [_Claim(*one) for one in method(scenario, measured(scenario))]
    return compared(scenario, [planted_as(fault) for fault in scenario.faults], claims)


def _by_median(scenario: Scenario, matrix: PairMatrix) -> set[Named]:
    return _named(scenario, _beyond_median(matrix.values, scenario.quantity))


def _by_retest(scenario: Scenario, matrix: PairMatrix) -> set[Named]:
    """Every pair that stands out is measured alone and held against the same limits."""
    slow = _beyond_median(matrix.values, scenario.quantity)
    at = [(int(i), int(j)) for i, j in np.argwhere(slow | slow.T) if i < j]
    called = names(scenario.nodes)
    size = matrix.message_bytes
    meetings = [Meeting(called[i], called[j], scenario.quantity, size) for i, j in at]
    again = np.array(matrix.values)
    index = {name: i for i, name in enumerate(called)}
    for one in measured_again(scenario, meetings, AGAIN):
        origin, target = index[one.origin], index[one.target]
        (point,) = one.points
        again[origin, target] = point.time.value
        if scenario.quantity == "latency":
            again[target, origin] = point.time.value
    return _named(scenario, slow & _beyond_median(again, scenario.quantity))


def _beyond_median(values: F64, quantity: str) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    median = np.nanmedian(values)
    deviation = 1.4826 * np.nanmedian(np.abs(values - median))
    least = max(DEVIATIONS * deviation, LEAST[quantity] * median)
    slow = values > median + least if quantity == "latency" else values < median - least
    return np.asarray(slow, dtype=np.bool_)


def _beyond_mean(shares: dict[str, float]) -> Method:
    def method(scenario: Scenario, matrix: PairMatrix) -> set[Named]:
        limit = shares[scenario.quantity] * np.nanmean(matrix.values)
        late = scenario.quantity == "latency"
        return _named(scenario, matrix.values > limit if late else matrix.values < limit)

    return method


def _named(scenario: Scenario, slow: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> set[Named]:
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
    return found


METHODS: dict[str, Method] = {
    "median and MAD": _by_median,
    "median and MAD, measured again": _by_retest,
    "ClusterKit: 93 %, 2.1 ×": _beyond_mean(CLUSTERKIT),
    "FastFabric: -20 %, +50 %": _beyond_mean(FASTFABRIC),
}


if __name__ == "__main__":
    main()
