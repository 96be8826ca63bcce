"""What each part of the localiser is worth: every one is switched off alone on planted faults.

Scenarios are drawn with a seed for 4, 8, 16 and 32 nodes, one and three passes, and go the way of
a check, with a recheck. A part is worth its lines if without it fewer faults are named exactly,
or healthy nodes are named more often. Some parts are for fabrics that these scenarios do not have:
a second table counts what they are for.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.detection import ELEMENTS, Outcome, scenarios
from benchmarks.fault_detection import AGAIN, outcome
from benchmarks.planted import Element, Fault, Scenario, leaves, measured
from benchmarks.tables import heading, table

from benchmarks import planted
from fabricgauge.judge.localise import confirm, detect, ends, limits, slowness, ways
from fabricgauge.model.pairs import Quantity

#: Draws of each combination by the number of nodes: of four, chance decides more.
DRAWS = {4: 2, 8: 1, 16: 1, 32: 1}
PASSES = (1, 3)
PLANTED: dict[Quantity, tuple[Element, ...]] = {
    **ELEMENTS, "bandwidth": ("node", "sender", "receiver", "pair", "direction", "group"),
}  # fmt: skip
#: Seeds of each fabric of the second table.
SEEDS = range(24)

_NEVER = 10**9


def _usual(_matrix: object, solved: detect.Solved) -> float:
    return solved.slow.typical


#: What is switched off: the module, the name in it, and what stands there instead.
PARTS: dict[str, tuple[Any, str, Any]] = {
    "nothing": (limits, "MOST_UNSURE", limits.MOST_UNSURE),
    "the shortest half (MAD instead)": (slowness, "_shortest_half", slowness.scale),
    "pairs below the threshold": (limits, "MOST_DOUBTFUL", 0),
    "ends that look slow": (ends, "_doubtful", lambda *_: []),
    "the fast side of small blocks": (limits, "FAST_SHARE", 0.5),
    "both directions of a node joined": (confirm, "_join_directions", tuple),
    "agreement of the passes": (limits, "FEW_PASSES", -1),
    "many slow pairs as one suspicion": (limits, "FEW_PAIRS", _NEVER),
    "each node's own small excess": (
        ways,
        "_small_excesses",
        lambda ends: np.zeros_like(ends.unexplained.ends),
    ),
    "nodes that change": (detect, "changing", lambda *_: []),
    "samples that scatter": (ways, "restless", lambda _: np.zeros(0, dtype=np.int64)),
    "effects estimated again": (
        ends,
        "_estimate_by_medians",
        lambda unexplained, named, both: [*named],
    ),
    "the typical pair among healthy ones": (detect, "_healthy", _usual),
    "passes of most pairs only": (limits, "WHOLE_PASS", 0.0),
    "the test of a group's nodes": (limits, "SHOWN_BY_NODES", 0.0),
    "looking within groups as well": (ends, "_worse", lambda every, _inside: every),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, for each part, what is named without it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part")
    options = parser.parse_args(arguments)
    drawn = list(drawn_scenarios())
    print(heading("What each part is worth", f"{len(drawn)} scenarios"))
    rows = [(name, *_rates(without(name, drawn))) for name in options.part or PARTS]
    print(table(("without", "faults", "exact", "missed", "name somebody healthy"), rows))
    special = [
        (part, what, *(str(_counted(each, count)) for each in ("nothing", part)))
        for part, what, count in FOR
        if part in (options.part or PARTS)
    ]
    print(table(("part", "what is counted", "with it", "without it"), special))


def drawn_scenarios() -> Iterator[Scenario]:
    for nodes, repeats in DRAWS.items():
        for passes in PASSES:
            yield from scenarios((nodes,), repeats, passes, PLANTED)


def without(part: str, drawn: Sequence[Scenario]) -> list[Outcome]:
    """What is found with one part switched off."""
    module, name, instead = PARTS[part]
    with patch.object(module, name, instead):
        return [outcome(one, AGAIN) for one in drawn]


def _rates(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    totals = (
        sum(getattr(one, name) for one in outcomes) for name in ("planted", "exact", "missed")
    )
    return (*map(str, totals), str(sum(one.healthy > 0 for one in outcomes)))


def _counted(part: str, count: Callable[[], int]) -> int:
    module, name, instead = PARTS[part]
    with patch.object(module, name, instead):
        return count()


def _collided() -> int:
    drawn = (
        Scenario(seed, 32, "bandwidth", 0.01, 3, (), collided=share)
        for share in (0.05, 0.2)
        for seed in SEEDS
    )
    return sum(outcome(one, AGAIN).healthy > 0 for one in drawn)


def _uneven() -> int:
    with patch.object(planted, "SAMENESS", 0.02):
        drawn = (one for passes in PASSES for one in scenarios((32,), 1, passes, PLANTED))
        return sum(outcome(one, AGAIN).healthy > 0 for one in drawn)


def _most_of_a_group() -> int:
    with patch.object(planted, "LEAF", 4):
        drawn = (
            Scenario(seed, 32, "bandwidth", 0.01, 3, tuple(Fault("node", (i,), 0.5) for i in at))
            for seed in SEEDS
            for at in ((4, 5, 6), (9, 10, 11))
        )
        return sum(outcome(one, AGAIN).exact for one in drawn)


def _behind_uplinks() -> int:
    """By the matrices alone: a pair that measures alone has the uplinks to itself."""
    found = 0
    for seed in SEEDS:
        fault = (Fault("node", (7,), 0.5),)
        matrix = measured(Scenario(seed, 64, "bandwidth", 0.01, 3, fault, oversubscribed=2.0))
        named = detect.analyse(matrix, leaves(64)).faults
        found += any((one.part, one.names) == ("node", (matrix.nodes[7],)) for one in named)
    return found


def _changing() -> int:
    found = 0
    for seed in SEEDS:
        matrix = measured(Scenario(seed, 32, "bandwidth", 0.01, 3, ()))
        matrix.repeats[1, 4] *= 0.4
        suspects = detect.analyse(matrix, leaves(32)).suspects
        found += any(one.names == (matrix.nodes[4],) for one in suspects)
    return found


def _scattering() -> int:
    found = 0
    for seed in SEEDS:
        matrix = measured(Scenario(seed, 32, "bandwidth", 0.01, 3, ()))
        matrix.spread[4] = matrix.spread[:, 4] = 0.4
        suspects = detect.analyse(matrix, leaves(32)).suspects
        found += any(one.names == (matrix.nodes[4],) for one in suspects)
    return found


def _late() -> int:
    """Of four nodes one is 50 % late: how much its effect is told as, in percent, the median."""
    told = []
    for seed in SEEDS:
        scenario = Scenario(seed, 4, "latency", 0.01, 3, (Fault("node", (1,), 0.5),))
        told += [one.effect for one in detect.analyse(measured(scenario), leaves(4)).findings]
    return round(100 * float(np.median(told))) if told else 0


#: A part, what its fabric is and what is counted there.
FOR: tuple[tuple[str, str, Callable[[], int]], ...] = (
    ("many slow pairs as one suspicion",
     "5 or 20 % of the routes collide: of 48 runs, those that name somebody healthy", _collided),
    ("each node's own small excess",
     "links that differ by 2 %: of 352 runs, those that name somebody healthy", _uneven),
    ("the test of a group's nodes",
     "three slow nodes of four in a group: of 144 named exactly", _most_of_a_group),
    ("looking within groups as well",
     "a node at half its rate, crossing oversubscribed 2:1: of 24 named exactly", _behind_uplinks),
    ("nodes that change", "slow in one pass of three: of 24 suspected", _changing),
    ("samples that scatter", "samples that scatter by 40 %: of 24 suspected", _scattering),
    ("the typical pair among healthy ones", "of four nodes one is 50 % late: told as, %", _late),
)  # fmt: skip


if __name__ == "__main__":
    main()
