"""What each part of the localiser is worth: every one is switched off alone on planted faults.

Scenarios are drawn with a seed for 4, 8, 16 and 32 nodes, one and three passes, and go the way of
a check, with a second look. A part is worth its lines if without it fewer faults are named exactly,
or healthy nodes are named more often.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.detection import ELEMENTS, Outcome, scenarios
from benchmarks.fault_detection import AGAIN, outcome
from benchmarks.planted import Element, Scenario
from benchmarks.tables import heading, table

from fabricgauge.localise import confirm, detect, ends, groups, limits, noise, unsteady, ways
from fabricgauge.model.pairs import Quantity

#: Draws of each combination by the number of nodes: of four, chance decides more.
DRAWS = {4: 2, 8: 1, 16: 1, 32: 1}
PASSES = (1, 3)
PLANTED: dict[Quantity, tuple[Element, ...]] = {
    **ELEMENTS, "bandwidth": ("node", "sender", "receiver", "pair", "direction", "group"),
}  # fmt: skip

_NEVER = 10**9


def _no_own(left: ends.Left, both: ends.Both, nodes: int) -> tuple[Any, Any]:
    zeros = np.zeros(nodes, dtype=np.float32)
    return zeros, zeros


#: What is switched off: the module, the name in it, and what stands there instead.
PARTS: dict[str, tuple[Any, str, Any]] = {
    "nothing": (ways, "MOST_UNSURE", limits.MOST_UNSURE),
    "the shortest half (MAD instead)": (noise, "_shortest_half", noise.scale),
    "pairs below the threshold": (ways, "MOST_DOUBTFUL", 0),
    "ends that look slow": (ends, "_doubtful", lambda *_: []),
    "the other direction, weaker test": (ends, "ALSO_SLOW", 1e-4),
    "the fast side of small blocks": (groups, "FAST_SHARE", 0.5),
    "both directions of a node joined": (confirm, "_joined", tuple),
    "agreement of the passes": (ways, "FEW_PASSES", -1),
    "many slow pairs as one suspicion": (ways, "FEW_PAIRS", _NEVER),
    "each node's own small excess": (ways, "_own", _no_own),
    "nodes that change": (detect, "changing", lambda *_: []),
    "samples that scatter": (detect, "restless", lambda _: np.zeros(0, dtype=np.int64)),
    "effects estimated again": (ends, "_estimated_again", lambda search, named, both: [*named]),
    "the typical pair among healthy ones": (
        detect, "_healthy", lambda _matrix, solved, _limits: solved.slow.typical
    ),
    "passes of most pairs only": (unsteady, "WHOLE_PASS", 0.0),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, for each part, what is named without it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part")
    options = parser.parse_args(arguments)
    drawn = list(drawn_scenarios())
    print(heading("What each part is worth", f"{len(drawn)} scenarios"))
    rows = [(name, *_rates(without(name, drawn))) for name in options.part or PARTS]
    print(table(("without", "faults", "exact", "missed", "name somebody healthy"), rows))


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


if __name__ == "__main__":
    main()
