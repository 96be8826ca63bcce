"""What several sources say of one node → one ``Inventory``; pure.

Sources come in the order of their weight: the first that knows a field wins, and where two
that measure the same thing contradict each other, a trouble names both.
"""

from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.survey.groups import Said
from fabricgauge.discover.survey.pci import virtual_functions
from fabricgauge.discover.survey.same import VAGUE, adapters, gpus, rdma_ports
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort, Stack

_TELLING = frozenset({"infiniband", "omni-path", "efa"})

#: A printout of nonsense must not become a report of nothing else.
MOST_TROUBLES = 50


class Source(msgspec.Struct, frozen=True):
    """A section's or file's name, and what it gave."""

    name: str
    parts: Parts


def merged(
    name: str, node: Node | Skipped, sources: Sequence[Source], troubles: Sequence[str] = ()
) -> Inventory:
    """The inventory of ``name``; ``troubles`` come before those of the sources."""
    told = [*troubles]
    ports = rdma_ports([Said(s.name, port) for s in sources for port in s.parts.rdma_ports], told)
    found = adapters([Said(s.name, part) for s in sources for part in s.parts.adapters], told)
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
        gpus=gpus([Said(s.name, gpu) for s in sources for gpu in s.parts.gpus]),
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
