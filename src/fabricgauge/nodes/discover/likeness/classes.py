"""Many nodes → classes of like nodes, and the differences of single ones; pure.

Nodes are alike in their shape: processors, memory, adapters, GPUs, MPIs. A node of a rare shape
joins the frequent one that is most like it, so that a node with a dead adapter stands out in its
class instead of forming its own. Within a class nodes vote on each attribute: a node with another
value than most is named, attribute by attribute.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fabricgauge.model.fabric import Network
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.surveyed import InterfaceNaming, LikeNodes, Oddity, Split
from fabricgauge.nodes.discover.likeness.traits import (
    ADAPTER,
    Traits,
    group_members,
    identify_adapter,
    list_traits,
)
from fabricgauge.nodes.discover.survey.same import NUMBERS

#: Sizes of memory within this share of each other are one size: firmware takes more or less.
SAME_MEMORY = 0.01

#: A rare shape has at most this share of the nodes of the frequent one that it is compared with,
RARE = 0.1

#: but two nodes are rare compared with four.
MIN_RARE = 2

#: It shares at least this share of its features with the frequent shape.
MIN_LIKENESS = 0.5

#: Order in which differences are reported.
_KINDS = ("shape", "part", "end", "detail")

Shape = frozenset[tuple[str, str]]


class _Class(msgspec.Struct):
    """Nodes with the shape of most of them; ``founders`` is how many have exactly that shape."""

    shape: Shape
    founders: int
    members: list[Traits]


def classify_nodes(
    inventories: Sequence[Inventory], networks: Sequence[Network] = ()
) -> tuple[LikeNodes, ...]:
    """Return the classes, the largest first; a node that no source describes is in none.

    Like nodes are also compared by their members of ``networks``.
    """
    products = _name_products(inventories)
    memory = _name_memory_sizes(inventories)
    members = group_members(networks)
    node_traits = [
        list_traits(inventory, products, memory, members.get(inventory.name, {}))
        for inventory in inventories
        if inventory.sources
    ]
    return classify_traits(node_traits)


def classify_traits(node_traits: Sequence[Traits]) -> tuple[LikeNodes, ...]:
    """Return the classes of nodes with these traits, the largest first."""
    return tuple(map(_describe_class, _form_classes(node_traits)))


def _name_products(inventories: Sequence[Inventory]) -> dict[str, str]:
    """Return the name of each PCI identity: a node without the database gives numbers only.

    If no node has the name, the driver precedes the numbers.
    """
    names: dict[str, str] = {}
    drivers: dict[str, str] = {}
    for inventory in inventories:
        for adapter in inventory.adapters:
            numbers = identify_adapter(inventory, adapter)
            if isinstance(adapter.product, str) and adapter.product != numbers:
                names.setdefault(numbers, adapter.product)
            elif isinstance(adapter.driver, str) and NUMBERS.fullmatch(numbers):
                drivers.setdefault(numbers, f"{adapter.driver} {numbers}")
    return {**drivers, **names}


def _name_memory_sizes(inventories: Sequence[Inventory]) -> dict[str, str]:
    """Return by the fact's text the size that a report shows, the same for nearly equal sizes."""
    texts = {inventory.facts.get("memory bytes", "") for inventory in inventories}
    sizes = sorted((int(text), text) for text in texts if text.isdigit() and len(text) < 18)
    names: dict[str, str] = {}
    group: list[tuple[int, str]] = []
    for size in [*sizes, (1 << 62, "")]:
        if group and size[0] > group[-1][0] * (1 + SAME_MEMORY):
            median_gib = group[len(group) // 2][0] / (1 << 30)
            name = f"{float(f'{median_gib:.4g}'):,g} GiB"
            names.update((text, name) for _, text in group)
            group = []
        group.append(size)
    return names


def _form_classes(node_traits: Sequence[Traits]) -> list[_Class]:
    by_shape: dict[tuple[bool, Shape], list[Traits]] = {}
    for traits in node_traits:
        features = (
            (attribute, trait.value)
            for attribute, trait in traits.by_attribute.items()
            if trait.kind in ("shape", "part")
        )
        by_shape.setdefault((traits.is_complete, frozenset(features)), []).append(traits)
    classes: list[_Class] = []
    # Complete answers first, and of them the most frequent shape.
    ordered = sorted(by_shape.items(), key=lambda item: (not item[0][0], -len(item[1])))
    for (is_complete, shape), members in ordered:
        home = _find_home(classes, shape, len(members), is_complete)
        if home is None:
            classes.append(_Class(shape, len(members), members))
        else:
            home.members.extend(members)
    return classes


def _find_home(
    classes: Sequence[_Class], shape: Shape, count: int, is_complete: bool
) -> _Class | None:
    """Return the most similar class compared with which ``count`` nodes are rare.

    An answer that was cut off belongs to a class that has all features of its arrived part, however
    many answers were cut off.
    """

    def compute_likeness(candidate: _Class) -> float:
        size = max(len(candidate.shape), len(shape)) if is_complete else len(shape)
        return len(candidate.shape & shape) / max(size, 1)

    candidates = [
        candidate
        for candidate in classes
        if (not is_complete and shape <= candidate.shape)
        or (2 * count <= candidate.founders and count <= max(MIN_RARE, RARE * candidate.founders))
    ]
    most_similar = max(candidates, key=compute_likeness, default=None)
    if most_similar and compute_likeness(most_similar) >= MIN_LIKENESS:
        return most_similar
    return None


def _describe_class(node_class: _Class) -> LikeNodes:
    majority: dict[str, str] = {}
    oddities: list[Oddity] = []
    splits: list[Split] = []
    for attribute, ballots in _collect_ballots(node_class.members):
        result = vote(attribute, ballots)
        if isinstance(result, Split):
            splits.append(result)
            continue
        usual, attribute_oddities = result
        oddities += attribute_oddities
        if usual:
            majority[attribute] = usual
    odd_nodes = {node for oddity in oddities for node in oddity.nodes}
    names = tuple(member.name for member in node_class.members)
    namings = tuple(_list_namings(node_class.members, majority))
    return LikeNodes(
        nodes=names,
        example=next((name for name in names if name not in odd_nodes), names[0]),
        traits=majority,
        oddities=tuple(oddities),
        splits=tuple(splits),
        namings=tuple(naming for naming in namings if len(naming.names) > 1),
        names={naming.adapter: naming.names[0][0] for naming in namings if len(naming.names) == 1},
    )


def _collect_ballots(members: Sequence[Traits]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield by attribute the known value of each node; "" for a part that it lacks.

    A member of a network, or a detail of a part, is a difference only if more than half have it.
    """
    by_kind: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in _KINDS}
    parts: dict[str, str] = {}
    for member in members:
        for attribute, trait in member.by_attribute.items():
            by_kind[trait.kind].setdefault(attribute, {})[member.name] = trait.value
            parts.setdefault(attribute, trait.part)
    lacking = {member.name: "" for member in members if member.is_complete}
    for kind in _KINDS:
        for attribute, ballots in by_kind[kind].items():
            part = parts[attribute]
            holders = by_kind["part"].get(part, {}) if part else ballots
            if (part or kind == "end") and 2 * len(holders) <= len(members):
                continue
            yield attribute, {**lacking, **ballots} if kind in ("part", "end") else ballots


def _list_namings(members: Sequence[Traits], majority: dict[str, str]) -> Iterator[InterfaceNaming]:
    """Yield the names of each part's interfaces, the most frequent first."""
    for part in (attribute for attribute in majority if attribute.startswith(ADAPTER)):
        names = {
            member.name: member.interfaces[part] for member in members if part in member.interfaces
        }
        yield InterfaceNaming(part, _sort_by_frequency(names))


def _sort_by_frequency(ballots: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each value with its nodes, the most frequent first."""
    by_value = group_by(ballots, ballots.__getitem__)
    return tuple(sorted(by_value.items(), key=lambda item: (-len(item[1]), item[0])))


def vote(attribute: str, ballots: Mapping[str, str]) -> tuple[str, list[Oddity]] | Split:
    """Return the majority's value, and an oddity for each other value; a ``Split`` without one.

    Two nodes that differ, or many with many values, have no majority: no node is odd.
    """
    ordered = _sort_by_frequency(ballots)
    usual, holders = ordered[0] if ordered else ("", ())
    if len(ordered) > 1 and 2 * len(holders) <= len(ballots):
        return Split(attribute, ordered)
    return usual, [
        Oddity(attribute, value, nodes, usual, len(holders)) for value, nodes in ordered[1:]
    ]
