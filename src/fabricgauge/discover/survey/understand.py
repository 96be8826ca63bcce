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
from fabricgauge.discover.survey.same import VAGUE, adapters, gpus, rdma_ports
from fabricgauge.discover.survey.sysfs import (
    net_parts,
    pci_parts,
    rdma_parts,
    virtual_functions,
)
from fabricgauge.discover.survey.system import system_parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort, Stack

#: The name of a node's whole answer among its printouts.
ANSWER = "survey"

#: sysfs comes first, then these, then whatever else there is.
_WEIGHT = ("ethtool", "rdma", "lspci")

#: What reads an answer's sections of the system itself.
_SYSTEM: dict[str, Callable[[dict[str, str]], Parts]] = {
    "/sys/bus/pci": pci_parts,
    "/sys/class/infiniband": rdma_parts,
    "/sys/class/net": net_parts,
    "the system": system_parts,
}

Parse = Callable[[str, str], Parts | None]


def understood(name: str, printouts: Mapping[str, str], trouble: str, parse: Parse) -> Inventory:
    """The inventory of node ``name`` from its printouts, keyed by what printed them.

    ``trouble`` is why the answer may be incomplete, empty if it is whole. ``parse`` is given a
    printout's name and text; None means that no parser knows the name. Nothing is raised:
    what cannot be understood is a trouble of the inventory.
    """
    others = {key: text for key, text in printouts.items() if key != ANSWER}
    printed = _read(others, parse)
    known = {one.name for one in printed}
    unknown = [f"{key}: no parser knows a printout of this name" for key in {*others} - known]
    unknown += [
        f"{one.name}: {'nothing in it is used' if others[one.name].strip() else 'it is empty'}"
        for one in printed
        if one.parts == Parts()
    ]
    told = [trouble] if trouble else []
    quick, node = _quick(name, printouts.get(ANSWER))
    found = cut(printouts.get(ANSWER, ""))
    if isinstance(node, Skipped) and not found.sections:
        node = Skipped(trouble) if trouble else node
        return merged(name, node, printed, told + sorted(unknown))
    told += _incomplete(name, node, found, trouble)
    tools = _read({**_quick_printouts(quick), **found.sections}, parse)
    own = {key: one.text for key, one in quick.items() if key.startswith(("rdma", "sys "))}
    said = {**own, **found.sections}
    system = [PartsSource(source, read(said)) for source, read in _SYSTEM.items()]
    sources = [*system, *tools, *printed]
    if not found.whole:
        sources.append(PartsSource("the answer's end", Parts(facts={"answer": "cut off"})))
    placed = list(_with_paths(sources, found.sections.get("paths", "")))
    return merged(name, node, placed, told + sorted(unknown))


def not_asked(name: str) -> Skipped:
    """Why there is no node where there are only printouts of tools."""
    return Skipped(f"{name} itself was not asked; there are only printouts of tools")


def _quick(name: str, raw: str | None) -> tuple[Sections, Node | Skipped]:
    quick: Sections = {}
    if raw is None:
        return quick, not_asked(name)
    try:
        quick = sections(name, raw)
        return quick, node_of(name, quick)
    except ProbeError as error:
        return quick, Skipped(str(error))


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


def _quick_printouts(quick: Sections) -> dict[str, str]:
    """What the quick answer holds of ethtool -i, under names of its own, and of ibv_devinfo.

    Bridges and their like have a driver too, and are no adapters (ethtool -i: bus-info).
    """
    verbs = {key: one.text for key, one in quick.items() if key == "ibv_devinfo"}
    return verbs | {
        key.replace("ethtool ", "ethtool -i ", 1): section.text
        for key, section in quick.items()
        if key.startswith("ethtool ")
        and pairs(section.text, ":").get("bus-info", "") not in ("", "N/A", "tun", "tap")
    }


def _read(printouts: Mapping[str, str], parse: Parse) -> list[PartsSource]:
    """Those that a parser knows; an answer's other sections are of the system itself."""
    read = ((key, parse(key, printouts[key])) for key in sorted(printouts, key=_weight))
    return [PartsSource(key, parts) for key, parts in read if parts is not None]


def _weight(key: str) -> int:
    places = (n for n, start in enumerate(_WEIGHT) if key.startswith(start))
    return next(places, len(_WEIGHT))


def _with_paths(sources: Iterable[PartsSource], paths: str) -> Iterator[PartsSource]:
    """With the path of each MPI's program, which its own words do not say."""
    where = pairs(paths)
    for source in sources:
        path = where.get(source.name.partition(" ")[0].partition("-")[0], "")
        stacks = tuple(
            msgspec.structs.replace(one, path=one.path or path) for one in source.parts.stacks
        )
        yield PartsSource(source.name, msgspec.structs.replace(source.parts, stacks=stacks))


_TELLING = frozenset({"infiniband", "omni-path", "efa"})

#: A printout of nonsense must not become a report of nothing else.
MOST_TROUBLES = 50


def merged(
    name: str, node: Node | Skipped, sources: Sequence[PartsSource], troubles: Sequence[str] = ()
) -> Inventory:
    """The inventory of ``name``; ``troubles`` come before those of the sources."""
    told = [*troubles]
    ports = rdma_ports([(s.name, port) for s in sources for port in s.parts.rdma_ports], told)
    facts: dict[str, str] = {}
    for one in reversed(sources):
        facts |= one.parts.facts
    found = adapters([(s.name, part) for s in sources for part in s.parts.adapters], told, facts)
    for one in sources:
        told += [f"{one.name}: {trouble}" for trouble in one.parts.troubles]
    virtual = virtual_functions(facts)
    kept = list(dict.fromkeys(told))
    rest = len(kept) - MOST_TROUBLES
    more = [f"and {rest} more of the kind"] if rest > 0 else []
    return Inventory(
        name=name,
        node=node,
        adapters=tuple(
            _of_its_ports(adapter, ports)
            for adapter in found
            if adapter.bus not in virtual or adapter.interfaces or adapter.rdma_devices
        ),
        rdma_ports=ports,
        gpus=gpus([(s.name, gpu) for s in sources for gpu in s.parts.gpus]),
        nearness=tuple(dict.fromkeys(near for s in sources for near in s.parts.nearness)),
        routes=next((one.parts.routes for one in sources if one.parts.routes), ()),
        stacks=_stacks(stack for s in sources for stack in s.parts.stacks),
        modules=tuple(sorted({module for one in sources for module in one.parts.modules})),
        facts=dict(sorted(facts.items())),
        troubles=tuple(kept[:MOST_TROUBLES] + more),
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
