"""Learn what nodes should have: facts of many nodes → classes of like nodes; pure."""

import re
from collections.abc import Mapping

from ClusterShell.NodeSet import NodeSet

from fabricgauge.features.health.expectations import (
    KEYS,
    NODE,
    Expectations,
    NodeClass,
    Part,
    Values,
)
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.surveyed import LikeNodes
from fabricgauge.nodes.discover.likeness import Trait, Traits, classify_traits

#: Facts that identify a part; nodes whose parts differ in them are not alike.
_IDENTITY = ("identity", "driver", "board", "layer")
_LINE = re.compile(r"(net|rdma|port|node) (\S+) (gid \d+|[a-z-]+) (.*)")


def parse_facts(node: str, raw: str) -> dict[Part, Values]:
    """Read the output of ``health.sh --facts``.

    Raises:
        ProbeError: the output is cut off, or a line is not a fact.
    """
    lines = raw.partition("\n== standard error\n")[0].splitlines()
    if lines[:1] != ["fabricgauge-facts 1"] or lines[-1:] != ["end"]:
        raise ProbeError(f"{node}: its facts are cut off; run fabricgauge health --learn again")
    parts: dict[Part, Values] = {}
    for number, line in enumerate(lines[1:-1], 2):
        match = _LINE.fullmatch(line)
        if not match:
            raise ProbeError(f"{node}: line {number} is not a fact: {line[:80]!r}")
        kind, name, field, value = match.groups()
        parts.setdefault((kind, name), {})[field] = value.strip()
    return parts


def learn_expectations(facts: Mapping[str, Mapping[Part, Values]]) -> Expectations:
    """Return the classes of nodes, the largest first, with the values of most of their nodes."""
    node_classes = classify_traits([_list_traits(node, parts) for node, parts in facts.items()])
    return Expectations(tuple(map(_expect, node_classes)))


def _list_traits(node: str, parts: Mapping[Part, Values]) -> Traits:
    traits: dict[str, Trait] = {}
    for part, values in parts.items():
        name = " ".join(part)
        if part != NODE:
            traits[name] = Trait("part", " ".join(values.get(field, "-") for field in _IDENTITY))
        for field, value in values.items():
            kind = "shape" if field == "gpus" else "detail"
            traits[f"{name}\n{field}"] = Trait(kind, value, "" if part == NODE else name)
    return Traits(node, traits, {}, is_complete=True)


def _expect(node_class: LikeNodes) -> NodeClass:
    parts: dict[Part, Values] = {}
    for attribute, value in node_class.traits.items():
        name, _, field = attribute.partition("\n")
        kind, _, device = name.partition(" ")
        values = parts.setdefault((kind, device), {})
        if field in KEYS[kind] or field.startswith("gid "):
            values[field] = value
    ordered: dict[Part, Values] = {}
    down = [part for part, values in parts.items() if values.get("link", "up") != "up"]
    for part in _sort(parts):
        if part not in down:  # fields in the order of KEYS, then GIDs by index
            values = parts[part]
            gids = sorted((f for f in values if f.startswith("gid ")), key=lambda f: int(f[4:]))
            fields = (*KEYS[part[0]], *gids)
            ordered[part] = {field: values[field] for field in fields if field in values}
    return NodeClass(
        str(NodeSet.fromlist(list(node_class.nodes))),
        ordered,
        (
            *[f"{' '.join(part)} is not up: nothing is expected of it." for part in down],
            *describe_differences(node_class),
        ),
    )


def _sort(parts: Mapping[Part, Values]) -> list[Part]:
    """Return the parts by kind, then by name, ``mlx5_2`` before ``mlx5_10``."""
    kinds = list(KEYS)

    def key(part: Part) -> tuple[int, list[tuple[int, str]]]:
        pieces = re.findall(r"\d+|\D+", part[1])
        return kinds.index(part[0]), [
            (int(piece), "") if piece.isdigit() else (-1, piece) for piece in pieces
        ]

    return sorted(parts, key=key)


def describe_differences(node_class: LikeNodes) -> list[str]:
    """Return a sentence for each value in which nodes differ from their class."""
    lines = []
    for oddity in node_class.oddities:
        nodes, place = NodeSet.fromlist(list(oddity.nodes)), oddity.attribute.replace("\n", " ")
        value = oddity.value if oddity.value.strip(" -") else "no such part"
        lines.append(
            f"CHECK THIS: {nodes}: {place}: {value}; {oddity.usual_count} like nodes:"
            f" {oddity.usual.strip(' -') or 'present'}"
        )
    for split in node_class.splits:
        values = ", ".join(f"{value or 'none'} on {len(nodes)}" for value, nodes in split.values)
        place = split.attribute.replace("\n", " ")
        lines.append(f"{place} differs from node to node and is not expected: {values}")
    return lines
