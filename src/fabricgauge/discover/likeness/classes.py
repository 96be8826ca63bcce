"""Many nodes → classes of like nodes, and what sets single ones apart; pure.

Nodes are like by their shape: processors, memory, adapters, GPUs, MPIs. Those of a rare shape that
has most in common with a frequent one count to it, so that a node with a dead adapter stands
out among its like instead of being a class of one. Within a class each attribute is put to
the vote: a node with another value than most is named, attribute by attribute.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fabricgauge.discover.likeness.traits import ADAPTER, Traits, ends, identity, traits
from fabricgauge.discover.survey.same import NUMBERS
from fabricgauge.model.fabric import Network
from fabricgauge.model.groups import grouped
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import InterfaceNaming, LikeNodes, Oddity, Split

#: Sizes of memory within this share of each other are one size: firmware takes more or less.
SAME_MEMORY = 0.01

#: A rare shape has at most this share of the nodes of the frequent one that it is held against,
RARE = 0.1

#: but two nodes are rare beside four.
FEW = 2

#: It has at least this share of its features in common with it.
LIKE = 0.5

#: In this order their differences are told.
_KINDS = ("shape", "part", "end", "detail")

Shape = frozenset[tuple[str, str]]


class _Class(msgspec.Struct):
    """Nodes by the shape of most of them; ``founders`` is how many have just that."""

    shape: Shape
    founders: int
    members: list[Traits]


def classes(
    inventories: Sequence[Inventory], networks: Sequence[Network] = ()
) -> tuple[LikeNodes, ...]:
    """The largest class first; a node that no source describes is in none.

    Like nodes are compared by their ends in ``networks`` as well.
    """
    products = _products(inventories)
    memory = _memory(inventories)
    own = ends(networks)
    known = [
        traits(one, products, memory, own.get(one.name, {})) for one in inventories if one.sources
    ]
    return tuple(_described(one) for one in _classes(known))


def _products(inventories: Sequence[Inventory]) -> dict[str, str]:
    """The name of each PCI identity: a node that lacks the database gives numbers only.

    Where no node has it, the driver stands beside the numbers.
    """
    names: dict[str, str] = {}
    drivers: dict[str, str] = {}
    for inventory in inventories:
        for adapter in inventory.adapters:
            numbers = identity(inventory, adapter)
            if isinstance(adapter.product, str) and adapter.product != numbers:
                names.setdefault(numbers, adapter.product)
            elif isinstance(adapter.driver, str) and NUMBERS.fullmatch(numbers):
                drivers.setdefault(numbers, f"{adapter.driver} {numbers}")
    return {**drivers, **names}


def _memory(inventories: Sequence[Inventory]) -> dict[str, str]:
    """By the fact's own text the size that a report shows, one for all that are nearly equal."""
    texts = {one.facts.get("memory bytes", "") for one in inventories}
    sizes = sorted((int(text), text) for text in texts if text.isdigit() and len(text) < 18)
    found: dict[str, str] = {}
    group: list[tuple[int, str]] = []
    for size in [*sizes, (1 << 62, "")]:
        if group and size[0] > group[-1][0] * (1 + SAME_MEMORY):
            middle = group[len(group) // 2][0] / (1 << 30)
            shown = f"{float(f'{middle:.4g}'):,g} GiB"
            found.update((text, shown) for _, text in group)
            group = []
        group.append(size)
    return found


def _classes(known: Sequence[Traits]) -> list[_Class]:
    by_shape: dict[tuple[bool, Shape], list[Traits]] = {}
    for one in known:
        told = ((key, of.value) for key, of in one.told.items() if of.kind in ("shape", "part"))
        by_shape.setdefault((one.whole, frozenset(told)), []).append(one)
    found: list[_Class] = []
    # Whole answers first, and of them the most frequent shape.
    ordered = sorted(by_shape.items(), key=lambda pair: (not pair[0][0], -len(pair[1])))
    for (whole, shape), members in ordered:
        home = _home(found, shape, len(members), whole)
        if home is None:
            found.append(_Class(shape, len(members), members))
        else:
            home.members.extend(members)
    return found


def _home(found: Sequence[_Class], shape: Shape, count: int, whole: bool) -> _Class | None:
    """The likest class beside which ``count`` nodes are rare.

    What a node did not get to say is not held against it: however many answers were cut off,
    they count to a class that has all of what they say.
    """

    def likeness(one: _Class) -> float:
        size = max(len(one.shape), len(shape)) if whole else len(shape)
        return len(one.shape & shape) / max(size, 1)

    beside = [
        one
        for one in found
        if (not whole and shape <= one.shape)
        or (2 * count <= one.founders and count <= max(FEW, RARE * one.founders))
    ]
    likest = max(beside, key=likeness, default=None)
    return likest if likest and likeness(likest) >= LIKE else None


def _described(one: _Class) -> LikeNodes:
    voted: dict[str, str] = {}
    oddities: list[Oddity] = []
    splits: list[Split] = []
    for attribute, ballots in _ballots(one.members):
        result = vote(attribute, ballots)
        if isinstance(result, Split):
            splits.append(result)
            continue
        usual, others = result
        oddities += others
        if usual:
            voted[attribute] = usual
    odd = {node for oddity in oddities for node in oddity.nodes}
    names = tuple(member.name for member in one.members)
    namings = tuple(_names(one.members, voted))
    return LikeNodes(
        nodes=names,
        example=next((name for name in names if name not in odd), names[0]),
        traits=voted,
        oddities=tuple(oddities),
        splits=tuple(splits),
        namings=tuple(naming for naming in namings if len(naming.names) > 1),
        names={one.adapter: one.names[0][0] for one in namings if len(one.names) == 1},
    )


def _ballots(members: Sequence[Traits]) -> Iterator[tuple[str, dict[str, str]]]:
    """By attribute the value of each node that knows it; empty for a part that it lacks.

    What only some have is no difference: an end in a network, or a detail of a part, counts where
    more than half have it.
    """
    told: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in _KINDS}
    parts: dict[str, str] = {}
    for one in members:
        for attribute, trait in one.told.items():
            told[trait.kind].setdefault(attribute, {})[one.name] = trait.value
            parts.setdefault(attribute, trait.part)
    lacking = {one.name: "" for one in members if one.whole}
    for kind in _KINDS:
        for attribute, ballots in told[kind].items():
            part = parts[attribute]
            holders = told["part"].get(part, {}) if part else ballots
            if (part or kind == "end") and 2 * len(holders) <= len(members):
                continue
            yield attribute, {**lacking, **ballots} if kind in ("part", "end") else ballots


def _names(members: Sequence[Traits], voted: dict[str, str]) -> Iterator[InterfaceNaming]:
    """What each part's interfaces are called, the most frequent name first."""
    for part in (key for key in voted if key.startswith(ADAPTER)):
        called = {one.name: one.interfaces[part] for one in members if part in one.interfaces}
        yield InterfaceNaming(part, _most_first(called))


def _most_first(ballots: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each value with its nodes, the most frequent first."""
    by_value = grouped(ballots, ballots.__getitem__)
    return tuple(sorted(by_value.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def vote(attribute: str, ballots: Mapping[str, str]) -> tuple[str, list[Oddity]] | Split:
    """The value that more than half have, and an oddity for each other value.

    Two nodes that differ, or many with many values, have no majority: no node is odd.
    """
    ordered = _most_first(ballots)
    usual, holders = ordered[0] if ordered else ("", ())
    if len(ordered) > 1 and 2 * len(holders) <= len(ballots):
        return Split(attribute, ordered)
    return usual, [
        Oddity(attribute, value, nodes, usual, len(holders)) for value, nodes in ordered[1:]
    ]
