"""What is at hand of one node, its answer or printouts of single tools → ``Inventory``; pure."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from fabricgauge.discover.parse_probe import Sections, node_of
from fabricgauge.discover.parts import Parts
from fabricgauge.discover.sections import sections
from fabricgauge.discover.survey.cut import Cut, cut, pairs
from fabricgauge.discover.survey.merge import Source, merged
from fabricgauge.discover.survey.pci import pci_parts
from fabricgauge.discover.survey.rdma import rdma_parts
from fabricgauge.discover.survey.system import system_parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Node
from fabricgauge.model.inventory import Inventory

#: The name of a node's whole answer among its printouts.
ANSWER = "survey"

#: sysfs comes first, then these, then whatever else there is.
_WEIGHT = ("ethtool", "rdma", "lspci")

Parse = Callable[[str, str], Parts | None]


def understood(name: str, printouts: Mapping[str, str], trouble: str, parse: Parse) -> Inventory:
    """The inventory of node ``name`` from its printouts, keyed by what printed them.

    ``trouble`` is why the answer may be incomplete, empty if it is whole. ``parse`` is given a
    printout's name and text; None means that no parser knows the name. Nothing is raised:
    what cannot be understood is a trouble of the inventory.
    """
    told = [trouble] if trouble else []
    others = {key: text for key, text in printouts.items() if key != ANSWER}
    raw = printouts.get(ANSWER, "")
    quick = _quick(name, raw)
    node = _node(name, quick) if ANSWER in printouts else not_asked(name)
    found = cut(raw)
    if isinstance(node, Skipped) and not found.sections:
        node = Skipped(trouble) if trouble else node
        return merged(name, node, list(_printed(others, parse, told)), told)
    told += _incomplete(name, node, found, trouble)
    tools = {**_quick_printouts(quick), **found.sections}
    sources = [*_system(found.sections), *_known(tools, parse), *_printed(others, parse, told)]
    if not found.whole:
        sources.append(Source("the answer's end", Parts(facts={"answer": "cut off"})))
    return merged(name, node, _with_paths(sources, found.sections.get("paths", "")), told)


def not_asked(name: str) -> Skipped:
    """Why there is no node where only printouts of tools are at hand."""
    return Skipped(f"{name} itself was not asked; printouts of tools are all that is at hand")


def _quick(name: str, raw: str) -> Sections | Skipped:
    try:
        return sections(name, raw)
    except ProbeError as error:
        return Skipped(str(error))


def _node(name: str, quick: Sections | Skipped) -> Node | Skipped:
    try:
        return quick if isinstance(quick, Skipped) else node_of(name, quick)
    except ProbeError as error:
        return Skipped(str(error))


def _incomplete(name: str, node: Node | Skipped, found: Cut, trouble: str) -> list[str]:
    told = [f"{name}: {one}" for one in found.troubles]
    if isinstance(node, Skipped):
        told = [] if trouble else [node.reason]
    late = found.sections.get("late", "").split("\n")
    return told + [f"{name}: {tool} did not end within its time" for tool in late if tool]


def _system(sections: dict[str, str]) -> Iterator[Source]:
    yield Source("/sys/bus/pci", pci_parts(sections))
    yield Source("/sys/class/infiniband", rdma_parts(sections))
    yield Source("the system", system_parts(sections))


def _quick_printouts(quick: Sections | Skipped) -> dict[str, str]:
    """What the quick answer holds of ethtool -i, under names of its own."""
    if isinstance(quick, Skipped):
        return {}
    return {
        key.replace("ethtool ", "ethtool -i ", 1): section.text
        for key, section in quick.items()
        if key.startswith("ethtool ") and _on_a_bus(section.text)
    }


def _on_a_bus(text: str) -> bool:
    """Bridges and their like have a driver too, and are no adapters (ethtool -i: bus-info)."""
    return pairs(text, ":").get("bus-info", "") not in ("", "N/A", "tun", "tap")


def _known(printouts: Mapping[str, str], parse: Parse) -> Iterator[Source]:
    """Sections that a tool's parser knows; an answer's others are of the system itself."""
    for key in sorted(printouts, key=_weight):
        parts = parse(key, printouts[key])
        if parts is not None:
            yield Source(key, parts)


def _printed(printouts: Mapping[str, str], parse: Parse, told: list[str]) -> Iterator[Source]:
    """Files that somebody put there: one that no parser knows is worth a word."""
    for key in sorted(printouts, key=_weight):
        parts = parse(key, printouts[key])
        if parts is None:
            told.append(f"{key}: no parser knows a printout of this name")
        else:
            yield Source(key, parts)


def _weight(key: str) -> int:
    places = (n for n, start in enumerate(_WEIGHT) if key.startswith(start))
    return next(places, len(_WEIGHT))


def _with_paths(sources: list[Source], paths: str) -> list[Source]:
    """The path of each MPI's program, which its own words do not say."""
    where = pairs(paths)
    return [
        msgspec.structs.replace(source, parts=_placed(source.parts, where[program]))
        if (program := _program(source.name)) in where and source.parts.stacks
        else source
        for source in sources
    ]


def _program(section: str) -> str:
    return section.partition(" ")[0].partition("-")[0]


def _placed(parts: Parts, path: str) -> Parts:
    stacks = tuple(
        one if one.path else msgspec.structs.replace(one, path=path) for one in parts.stacks
    )
    return msgspec.structs.replace(parts, stacks=stacks)
