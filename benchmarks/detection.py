"""Scenarios of planted faults, and how often they are found and somebody healthy is named."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from benchmarks.planted import LEAF, Element, Fault, Scenario
from benchmarks.tables import table

from fabricgauge.model.pairs import Quantity

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
#: Scenarios without a fault in each draw.
HEALTHY = 4

#: Of two groups nobody can say whose uplink is slow.
FEWEST_GROUPS = 3

#: A part and whom it names: ("pair", ("n00001", "n00002")).
Named = tuple[str, tuple[str, ...]]


class Claim(Protocol):
    """Whatever names a part: a finding, or what a simple method says."""

    @property
    def part(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]: ...


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


class Draw(msgspec.Struct, frozen=True):
    """What is drawn for one quantity: each element with each effect, two at once, and nothing.

    ``leaf`` is how many nodes a group has; uplinks are planted where there are three of them.
    """

    quantity: Quantity
    nodes: int
    leaf: int
    elements: tuple[Element, ...]
    effects: tuple[float, ...]
    healthy: int = HEALTHY

    def plans(self, repeats: int, seed: int) -> Iterator[tuple[Fault, ...]]:
        """What to plant in one scenario after the other."""
        rng = np.random.default_rng([7, seed])
        for _ in range(repeats):
            yield from [()] * self.healthy
            for effect in self.effects:
                for element in self.elements:
                    if element != "group" or self.nodes // self.leaf >= FEWEST_GROUPS:
                        yield (self._fault(rng, element, effect),)
                yield self._two(rng, effect)

    def _two(self, rng: np.random.Generator, effect: float) -> tuple[Fault, ...]:
        """Two faults that do not hide each other: on different nodes, neither a group."""
        single = [one for one in self.elements if one != "group"]
        while True:
            first = self._fault(rng, single[rng.integers(len(single))], effect)
            element = single[rng.integers(len(single))]
            other = self._fault(rng, element, float(rng.choice(self.effects)))
            if not set(first.at) & set(other.at):
                return (first, other)

    def _fault(self, rng: np.random.Generator, element: Element, effect: float) -> Fault:
        if element == "group":
            return Fault(element, (int(rng.integers(self.nodes // self.leaf)),), effect)
        at = rng.choice(self.nodes, 2 if element in ("pair", "direction") else 1, replace=False)
        if element != "direction":
            at = np.sort(at)
        return Fault(element, tuple(int(one) for one in at), effect)


def scenarios(
    nodes: Sequence[int],
    repeats: int,
    passes: int,
    planted: Mapping[Quantity, tuple[Element, ...]] = ELEMENTS,
) -> Iterator[Scenario]:
    """Every combination of size, quantity and noise, each with its own draw."""
    seed = 0
    for count in nodes:
        for quantity, elements in planted.items():
            draw = Draw(quantity, count, LEAF, elements, EFFECTS[quantity])
            for noise in NOISES:
                for faults in draw.plans(repeats, seed):
                    seed += 1
                    yield Scenario(seed, count, quantity, noise, passes, faults)


def compared(scenario: Scenario, planted: Collection[Named], findings: Iterable[Claim]) -> Outcome:
    """What was named against what was planted."""
    named = {(one.part, tuple(sorted(one.names))) for one in findings}
    places = {place for _, place in named}
    exact = set(planted) & named
    missed = [one for one in planted if one[1] not in places]
    healthy = places - {place for _, place in planted}
    return Outcome(
        scenario, len(planted), len(exact), len(planted) - len(exact) - len(missed),
        len(missed), len(healthy),
    )  # fmt: skip


def print_tables(outcomes: Sequence[Outcome], *, verbose: bool) -> None:
    """Rates by noise and by element; with ``verbose`` also what went wrong."""
    print(_by_noise(outcomes), end="\n\n")
    print(_by_element(outcomes), end="\n\n")
    for one in outcomes:
        if verbose and (one.missed or one.healthy or one.inexact):
            print(one)


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
