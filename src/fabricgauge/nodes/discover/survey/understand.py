"""One node's answer, or printouts of single tools → ``Inventory``; pure.

Sources are in the order of their weight: the first that knows a field wins. If two sources of the
same measurement contradict each other, a trouble names both.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.nodes.discover.parse_probe import Sections, build_node
from fabricgauge.nodes.discover.printouts.parsing import Parts, parse_pairs
from fabricgauge.nodes.discover.sections import split_answer, split_survey
from fabricgauge.nodes.discover.survey.same import (
    VAGUE,
    merge_adapters,
    merge_gpus,
    merge_rdma_ports,
)
from fabricgauge.nodes.discover.survey.sysfs import (
    find_virtual_functions,
    parse_net,
    parse_pci,
    parse_rdma,
)
from fabricgauge.nodes.discover.survey.system import parse_system

#: The name of a node's whole answer among its printouts.
ANSWER = "survey"

#: sysfs comes first, then these, then all other printouts.
_WEIGHT = ("ethtool", "rdma", "lspci")

#: Parsers of an answer's sections on the system itself.
_SYSTEM: dict[str, Callable[[dict[str, str]], Parts]] = {
    "/sys/bus/pci": parse_pci,
    "/sys/class/infiniband": parse_rdma,
    "/sys/class/net": parse_net,
    "the system": parse_system,
}

Parse = Callable[[str, str], Parts | None]
_T = TypeVar("_T")


def build_inventory(
    name: str, printouts: Mapping[str, str], trouble: str, parse: Parse
) -> Inventory:
    """Return the inventory of node ``name`` from its printouts, keyed by the tool that printed.

    ``trouble`` is why the answer may be incomplete, "" if it is complete. ``parse`` gets a
    printout's name and text; None means that no parser knows the name. It raises nothing: text that
    cannot be understood is a trouble of the inventory.
    """
    tool_printouts = {key: text for key, text in printouts.items() if key != ANSWER}
    printed = _parse_printouts(tool_printouts, parse)
    unused = [
        f"{key}: no parser knows a printout of this name"
        for key in {*tool_printouts} - {source.name for source in printed}
    ]
    unused += [
        f"{source.name}: "
        + ("it contains nothing usable" if tool_printouts[source.name].strip() else "it is empty")
        for source in printed
        if source.parts == Parts()
    ]
    troubles = [trouble] if trouble else []
    quick_sections, node = _parse_quick_answer(name, printouts.get(ANSWER))
    answer = split_survey(printouts.get(ANSWER, ""))
    if isinstance(node, Skipped) and not answer.sections:
        node = Skipped(trouble) if trouble else node
        return merge_sources(name, node, printed, troubles + sorted(unused))
    gaps = [f"{name}: {answer_trouble}" for answer_trouble in answer.troubles]
    if isinstance(node, Skipped):
        gaps = [] if trouble else [node.reason]
    late_tools = filter(None, answer.sections.get("late", "").split("\n"))
    troubles += [*gaps, *(f"{name}: {tool} did not end within its time" for tool in late_tools)]
    tools = _parse_printouts({**_list_quick_printouts(quick_sections), **answer.sections}, parse)
    quick_texts = {
        key: section.text
        for key, section in quick_sections.items()
        if key.startswith(("rdma", "sys "))
    }
    texts = {**quick_texts, **answer.sections}
    system = [
        PartsSource(source, parse_section(texts)) for source, parse_section in _SYSTEM.items()
    ]
    sources = [*system, *tools, *printed]
    if not answer.is_complete:
        sources.append(PartsSource("the answer's end", Parts(facts={"answer": "cut off"})))
    located = list(_add_paths(sources, answer.sections.get("paths", "")))
    return merge_sources(name, node, located, troubles + sorted(unused))


def explain_unasked(name: str) -> Skipped:
    """Return why there is no node if only printouts of tools describe it."""
    return Skipped(f"{name} itself was not asked; only printouts of tools are available")


def _parse_quick_answer(name: str, raw: str | None) -> tuple[Sections, Node | Skipped]:
    sections: Sections = {}
    if raw is None:
        return sections, explain_unasked(name)
    try:
        sections = split_answer(name, raw)
        return sections, build_node(name, sections)
    except ProbeError as error:
        return sections, Skipped(str(error))


class PartsSource(msgspec.Struct, frozen=True):
    """A section's or file's name, and its parts."""

    name: str
    parts: Parts


def _list_quick_printouts(sections: Sections) -> dict[str, str]:
    """Return the quick answer's printouts of ethtool -i, under those names, and of ibv_devinfo.

    Bridges and similar interfaces have a driver too, but no adapter (ethtool -i: bus-info).
    """
    verbs = {key: section.text for key, section in sections.items() if key == "ibv_devinfo"}
    return verbs | {
        key.replace("ethtool ", "ethtool -i ", 1): section.text
        for key, section in sections.items()
        if key.startswith("ethtool ")
        and parse_pairs(section.text, ":").get("bus-info", "") not in ("", "N/A", "tun", "tap")
    }


def _parse_printouts(printouts: Mapping[str, str], parse: Parse) -> list[PartsSource]:
    """Return the printouts that a parser knows; an answer has other sections, on the system."""

    def get_weight(key: str) -> int:
        weights = (weight for weight, tool in enumerate(_WEIGHT) if key.startswith(tool))
        return next(weights, len(_WEIGHT))

    parsed = ((key, parse(key, printouts[key])) for key in sorted(printouts, key=get_weight))
    return [PartsSource(key, parts) for key, parts in parsed if parts is not None]


def _add_paths(sources: Iterable[PartsSource], paths: str) -> Iterator[PartsSource]:
    """Yield the sources with the path of each MPI's program, which its printout does not have."""
    paths_by_program = parse_pairs(paths)
    for source in sources:
        program = source.name.partition(" ")[0].partition("-")[0]
        path = paths_by_program.get(program, "")
        stacks = tuple(
            msgspec.structs.replace(stack, path=stack.path or path) for stack in source.parts.stacks
        )
        yield PartsSource(source.name, msgspec.structs.replace(source.parts, stacks=stacks))


_DECISIVE_PROTOCOLS = frozenset({"infiniband", "omni-path", "efa"})

#: Keeps a nonsense printout from filling a report.
MAX_TROUBLES = 50


def merge_sources(
    name: str, node: Node | Skipped, sources: Sequence[PartsSource], troubles: Sequence[str] = ()
) -> Inventory:
    """Return the inventory of ``name``; ``troubles`` come before those of the sources."""
    all_troubles = [*troubles]
    ports = merge_rdma_ports(
        [(source.name, port) for source in sources for port in source.parts.rdma_ports],
        all_troubles,
    )
    facts: dict[str, str] = {}
    for source in reversed(sources):
        facts |= source.parts.facts
    adapters = merge_adapters(
        [(source.name, adapter) for source in sources for adapter in source.parts.adapters],
        all_troubles,
        facts,
    )
    for source in sources:
        all_troubles += [f"{source.name}: {trouble}" for trouble in source.parts.troubles]
    virtual = find_virtual_functions(facts)
    distinct_troubles = list(dict.fromkeys(all_troubles))
    hidden = len(distinct_troubles) - MAX_TROUBLES
    hidden_line = [f"and {hidden} more troubles"] if hidden > 0 else []
    return Inventory(
        name=name,
        node=node,
        adapters=tuple(
            _choose_kind_by_ports(adapter, ports)
            for adapter in adapters
            if adapter.bus not in virtual or adapter.interfaces or adapter.rdma_devices
        ),
        rdma_ports=ports,
        gpus=merge_gpus([(source.name, gpu) for source in sources for gpu in source.parts.gpus]),
        nearness=tuple(
            dict.fromkeys(entry for source in sources for entry in source.parts.nearness)
        ),
        stacks=_merge_once(
            (stack for source in sources for stack in source.parts.stacks),
            lambda stack: (stack.kind, stack.version),
            lambda stack: stack.path,
        ),
        modules=tuple(sorted({module for source in sources for module in source.parts.modules})),
        facts=dict(sorted(facts.items())),
        troubles=tuple(distinct_troubles[:MAX_TROUBLES] + hidden_line),
        sources=tuple(source.name for source in sources if source.parts != Parts()),
        # Of these the first source that knows any knows all.
        **{
            field: next(filter(None, (getattr(source.parts, field) for source in sources)), ())
            for field in ("gpu_links", "routes", "rules", "tables")
        },
        # ip link has no addresses, and ip addr may have them.
        printed_interfaces=_merge_once(
            (interface for source in sources for interface in source.parts.printed_interfaces),
            lambda interface: interface.name,
            lambda interface: interface.addresses,
        ),
    )


def _merge_once(
    items: Iterable[_T], identify: Callable[[_T], object], get_detail: Callable[[_T], object]
) -> tuple[_T, ...]:
    """Return each item once: the first with the detail that some sources lack, else the first."""
    merged: dict[object, _T] = {}
    for item in items:
        known = merged.setdefault(identify(item), item)
        if get_detail(item) and not get_detail(known):
            merged[identify(item)] = item
    return tuple(merged.values())


def _choose_kind_by_ports(adapter: Adapter, ports: Sequence[RdmaPort]) -> Adapter:
    """Prefer the ports' protocol to the PCI class, which some adapters keep in any mode."""
    protocols = {port.protocol for port in ports if port.device in adapter.rdma_devices}
    decisive = protocols & _DECISIVE_PROTOCOLS
    if len(decisive) == 1 and adapter.kind not in decisive:
        return msgspec.structs.replace(adapter, kind=decisive.pop())
    if adapter.kind in VAGUE and (adapter.interfaces or protocols):
        return msgspec.structs.replace(adapter, kind="ethernet")
    return adapter
