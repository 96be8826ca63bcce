"""How often planted faults are found, and how often somebody healthy is named.

Scenarios are drawn with a seed, so that a second run prints the same table. Each is measured in
some passes; what is conspicuous is then measured again, as a real run does it, and analysed a
second time. Bandwidth is planted as a bottleneck and latency as a sum of delays, with noise whose
tails are heavy: see planted.py.
"""

import argparse
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from benchmarks.planted import (
    LEAF,
    Element,
    Fault,
    Scenario,
    Source,
    Synthetic,
    leaves,
    names,
)
from benchmarks.tables import heading, table

from fabricgauge.model.pairs import Finding, PairAnalysis, Quantity
from fabricgauge.stats.pairs.analysis import analyse
from fabricgauge.stats.pairs.doubtful import to_measure_again

NODES = (32, 128)
NOISES = (0.005, 0.01, 0.02, 0.05)
#: Effects: shares of the bandwidth that are lost, and of the latency that are added.
EFFECTS: dict[Quantity, tuple[float, ...]] = {
    "bandwidth": (0.10, 0.25, 0.50, 0.75),
    "latency": (0.05, 0.10, 0.25, 0.50),
}
ELEMENTS: dict[Quantity, tuple[Element, ...]] = {
    "bandwidth": ("node", "sender", "receiver", "pair", "group"),
    "latency": ("node", "pair"),
}
#: Passes over all pairs, and more passes over the conspicuous ones.
PASSES, AGAIN = 3, 12
#: Scenarios without a fault in each draw.
HEALTHY = 4

Named = frozenset[tuple[str, tuple[str, ...]]]


class Outcome(msgspec.Struct, frozen=True):
    """One scenario's result: what was planted and what was named.

    ``missed`` planted things were not named at all, ``inexact`` were named by another part (a node
    for its sender); ``healthy`` are names that nothing was planted in.
    """

    scenario: Scenario
    planted: int
    exact: int
    inexact: int
    missed: int
    healthy: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Print detection and false-alarm rates, by noise and by element."""
    options = _options(arguments)
    outcomes = [
        outcome(scenario, Synthetic(), options.again)
        for scenario in scenarios(options.repeats, options.passes)
    ]
    what = (
        f"{len(outcomes)} scenarios at N = {' and '.join(map(str, NODES))}; "
        f"{options.passes} passes over all pairs, {options.again} more over what is conspicuous.\n"
        f"A leaf has {LEAF} nodes. "
        "Noise is one pass's standard deviation, with heavy tails.\n"
        "named: by the right part; otherwise: the right place by another part; healthy: runs that "
        "name somebody else."
    )
    print(heading("Who is at fault: detection and false alarms", what))
    print(_by_noise(outcomes), end="\n\n")
    print(_by_element(outcomes), end="\n\n")
    for one in outcomes:
        if options.verbose and (one.missed or one.healthy or one.inexact):
            print(one)


def scenarios(repeats: int, passes: int) -> Iterator[Scenario]:
    """Every combination of size, quantity, noise and effect, for each element and for two faults.

    In ``HEALTHY`` more of each draw no fault is planted.
    """
    seed = 0
    for count in NODES:
        for quantity in ("bandwidth", "latency"):
            for noise in NOISES:
                for faults in _plans(quantity, count, repeats, seed):
                    seed += 1
                    yield Scenario(seed, count, quantity, noise, passes, faults)


def outcome(scenario: Scenario, source: Source, again: int) -> Outcome:
    """Measure, analyse, measure the conspicuous again, and compare what is named."""
    topology = leaves(scenario.nodes)
    matrix = source.measure(scenario)
    found = analyse(matrix, topology)
    if again:
        pairs = to_measure_again(found)
        found = analyse(source.again(scenario, matrix, pairs, again), topology)
    return compared(scenario, found)


def compared(scenario: Scenario, analysis: PairAnalysis) -> Outcome:
    """What was named against what was planted."""
    planted = {_planted(fault, scenario.quantity) for fault in scenario.faults}
    named = {_named(one) for one in analysis.findings if one.explanation == "fault"}
    places = {place for _, place in named}
    exact = planted & named
    missed = {one for one in planted if one[1] not in places}
    healthy = places - {place for _, place in planted}
    return Outcome(
        scenario, len(planted), len(exact), len(planted) - len(exact) - len(missed),
        len(missed), len(healthy),
    )  # fmt: skip


def _plans(quantity: Quantity, count: int, repeats: int, seed: int) -> Iterator[tuple[Fault, ...]]:
    rng = np.random.default_rng([7, seed])
    for _ in range(repeats):
        yield from [()] * HEALTHY
        for effect in EFFECTS[quantity]:
            for element in ELEMENTS[quantity]:
                if element != "group" or count // LEAF >= 3:
                    yield (_fault(rng, element, count, effect),)
            yield _two(rng, quantity, count, effect)


def _two(
    rng: np.random.Generator, quantity: Quantity, count: int, effect: float
) -> tuple[Fault, ...]:
    """Two faults that do not hide each other: on different nodes, neither a group."""
    elements = [one for one in ELEMENTS[quantity] if one != "group"]
    while True:
        first = _fault(rng, elements[rng.integers(len(elements))], count, effect)
        other = _fault(
            rng, elements[rng.integers(len(elements))], count, float(rng.choice(EFFECTS[quantity]))
        )
        if not set(first.at) & set(other.at):
            return (first, other)


def _fault(rng: np.random.Generator, element: Element, count: int, effect: float) -> Fault:
    if element == "group":
        return Fault(element, (int(rng.integers(count // LEAF)),), effect)
    at = rng.choice(count, 2 if element == "pair" else 1, replace=False)
    return Fault(element, tuple(int(one) for one in sorted(at)), effect)


def _planted(fault: Fault, quantity: Quantity) -> tuple[str, tuple[str, ...]]:
    if fault.element == "group":
        return "group", (f"leaf{fault.at[0]}",)
    return fault.element, tuple(names(fault.at[-1] + 1)[one] for one in fault.at)


def _named(one: Finding) -> tuple[str, tuple[str, ...]]:
    return one.part, tuple(sorted(one.names))


def _by_noise(outcomes: Sequence[Outcome]) -> str:
    heads = ("quantity", "N", "noise", "runs", "faults", "named", "otherwise", "missed",
             "found", "healthy named")  # fmt: skip
    keys = dict.fromkeys(
        (o.scenario.quantity, o.scenario.nodes, o.scenario.noise) for o in outcomes
    )
    rows = []
    for quantity, count, noise in keys:
        here = [
            o for o in outcomes
            if (o.scenario.quantity, o.scenario.nodes, o.scenario.noise) == (quantity, count, noise)
        ]  # fmt: skip
        rows.append((quantity, str(count), f"{noise:.1%}", *_rates(here)))
    return table(heads, rows)


def _by_element(outcomes: Sequence[Outcome]) -> str:
    """At noise up to 2 %, by what was planted."""
    heads = ("planted, noise <= 2 %", "effect", "runs", "faults", "named", "otherwise", "missed",
             "found", "healthy named")  # fmt: skip
    quiet = [one for one in outcomes if one.scenario.noise <= 0.02]
    keys = dict.fromkeys(map(_what, quiet))
    rows = [(*key, *_rates([one for one in quiet if _what(one) == key])) for key in sorted(keys)]
    return table(heads, rows)


def _what(one: Outcome) -> tuple[str, str]:
    faults = one.scenario.faults
    if len(faults) == 1:
        return f"{one.scenario.quantity}: {faults[0].element}", f"{faults[0].effect:.0%}"
    return f"{one.scenario.quantity}: {'two' if faults else 'none'}", ""


def _rates(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    faults = sum(one.planted for one in outcomes)
    missed = sum(one.missed for one in outcomes)
    alarms = sum(one.healthy > 0 for one in outcomes)
    return (
        str(len(outcomes)),
        str(faults),
        str(sum(one.exact for one in outcomes)),
        str(sum(one.inexact for one in outcomes)),
        str(missed),
        f"{1 - missed / faults:.1%}" if faults else "",
        f"{alarms} ({alarms / len(outcomes):.1%})",
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2, help="draws of each combination")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--again", type=int, default=AGAIN, help="0 for a single look")
    parser.add_argument("--verbose", action="store_true", help="print what went wrong")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
