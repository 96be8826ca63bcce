"""One node's answer, or printouts of single tools → ``Inventory``; pure.

Sources come in the order of their weight: the first that knows a field wins, and where two
that measure the same thing contradict each other, a trouble names both.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from fabricgauge.discover.parse_probe import Sections, node_of
from fabricgauge.discover.printouts.lines import pairs
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.sections import CutAnswer, cut, sections
from fabricgauge.discover.survey.same import VAGUE, SourcedPart, adapters, gpus, rdma_ports
from fabricgauge.discover.survey.sysfs import pci_parts, rdma_parts, virtual_functions
from fabricgauge.discover.survey.system import system_parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort, Stack

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
        sources.append(PartsSource("the answer's end", Parts(facts={"answer": "cut off"})))
    return merged(name, node, _with_paths(sources, found.sections.get("paths", "")), told)


def not_asked(name: str) -> Skipped:
    """Why there is no node where there are only printouts of tools."""
    return Skipped(f"{name} itself was not asked; there are only printouts of tools")


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


def _incomplete(name: str, node: Node | Skipped, found: CutAnswer, trouble: str) -> list[str]:
    told = [f"{name}: {one}" for one in found.troubles]
    if isinstance(node, Skipped):
        told = [] if trouble else [node.reason]
    late = found.sections.get("late", "").split("\n")
    return told + [f"{name}: {tool} did not end within its time" for tool in late if tool]


class PartsSource(msgspec.Struct, frozen=True):
    """A section's or file's name, and what it gave."""

    name: str
    parts: Parts


def _system(sections: dict[str, str]) -> Iterator[PartsSource]:
    yield PartsSource("/sys/bus/pci", pci_parts(sections))
    yield PartsSource("/sys/class/infiniband", rdma_parts(sections))
    yield PartsSource("the system", system_parts(sections))


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


def _known(printouts: Mapping[str, str], parse: Parse) -> Iterator[PartsSource]:
    """Sections that a tool's parser knows; an answer's others are of the system itself."""
    for key in sorted(printouts, key=_weight):
        parts = parse(key, printouts[key])
        if parts is not None:
            yield PartsSource(key, parts)


def _printed(printouts: Mapping[str, str], parse: Parse, told: list[str]) -> Iterator[PartsSource]:
    """Files from elsewhere: one that no parser knows is a trouble."""
    for key in sorted(printouts, key=_weight):
        parts = parse(key, printouts[key])
        if parts is None:
            told.append(f"{key}: no parser knows a printout of this name")
        else:
            yield PartsSource(key, parts)


def _weight(key: str) -> int:
    places = (n for n, start in enumerate(_WEIGHT) if key.startswith(start))
    return next(places, len(_WEIGHT))


def _with_paths(sources: list[PartsSource], paths: str) -> list[PartsSource]:
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


_TELLING = frozenset({"infiniband", "omni-path", "efa"})

#: A printout of nonsense must not become a report of nothing else.
MOST_TROUBLES = 50


def merged(
    name: str, node: Node | Skipped, sources: Sequence[PartsSource], troubles: Sequence[str] = ()
) -> Inventory:
    """The inventory of ``name``; ``troubles`` come before those of the sources."""
    told = [*troubles]
    ports = rdma_ports(
        [SourcedPart(s.name, port) for s in sources for port in s.parts.rdma_ports], told
    )
    found = adapters(
        [SourcedPart(s.name, part) for s in sources for part in s.parts.adapters], told
    )
    facts: dict[str, str] = {}
    for one in sources:
        told += [f"{one.name}: {trouble}" for trouble in one.parts.troubles]
        facts = {**one.parts.facts, **facts}
    virtual = virtual_functions(facts)
    return Inventory(
        name=name,
        node=node,
        adapters=tuple(
            _of_its_ports(adapter, ports)
            for adapter in found
            if adapter.bus not in virtual or adapter.interfaces or adapter.rdma_devices
        ),
        rdma_ports=ports,
        gpus=gpus([SourcedPart(s.name, gpu) for s in sources for gpu in s.parts.gpus]),
        nearness=tuple(dict.fromkeys(near for s in sources for near in s.parts.nearness)),
        routes=next((one.parts.routes for one in sources if one.parts.routes), ()),
        stacks=_stacks(stack for s in sources for stack in s.parts.stacks),
        modules=tuple(sorted({module for one in sources for module in one.parts.modules})),
        facts=dict(sorted(facts.items())),
        troubles=tuple(_bounded(told)),
        sources=tuple(one.name for one in sources if one.parts != Parts()),
        rules=next((one.parts.rules for one in sources if one.parts.rules), ()),
        tables=next((one.parts.tables for one in sources if one.parts.tables), ()),
    )


def _of_its_ports(adapter: Adapter, ports: Sequence[RdmaPort]) -> Adapter:
    """A port's own protocol goes before the PCI class, which some adapters keep in any mode."""
    spoken = {port.protocol for port in ports if port.device in adapter.rdma_devices}
    telling = spoken & _TELLING
    if len(telling) == 1 and adapter.kind not in telling:
        return msgspec.structs.replace(adapter, kind=telling.pop())
    if adapter.kind in VAGUE and (adapter.interfaces or spoken):
        return msgspec.structs.replace(adapter, kind="ethernet")
    return adapter


def _stacks(stacks: Iterable[Stack]) -> tuple[Stack, ...]:
    """Each kind and version once, with its path where a source knew it."""
    found: dict[tuple[str, str], Stack] = {}
    for one in stacks:
        known = found.setdefault((one.kind, one.version), one)
        if one.path and not known.path:
            found[one.kind, one.version] = one
    return tuple(found.values())


def _bounded(troubles: Sequence[str]) -> list[str]:
    kept = list(dict.fromkeys(troubles))
    if len(kept) > MOST_TROUBLES:
        return [*kept[:MOST_TROUBLES], f"and {len(kept) - MOST_TROUBLES} more of the kind"]
    return kept
