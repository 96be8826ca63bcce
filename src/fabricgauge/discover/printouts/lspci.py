"""``lspci``, ``lspci -vv``, ``-n``, ``-nn``, ``-vmm`` → network adapters with their links; pure.

As pciutils 3.9 prints it. Without root the capabilities are denied, and with them the PCIe
link. GPUs are nvidia-smi's to tell.
"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, kinds, partial, pci
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.discover.printouts.lspci_names import Names, named
from fabricgauge.discover.printouts.lspci_records import records
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, PcieLink

TOOL = "lspci"
DENIED = "<access denied>"
_SLOT = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ")


def parse(text: str, argument: str = "") -> Parts:
    """Adapters of the classes 02xx and 0c06.

    Fact ``acs redirect``: the PCI bridges on which Access Control Services redirect peer
    requests to the root (``ACSCtl: … ReqRedir+``), space separated; left out where the
    capabilities were not shown.
    """
    if text.lstrip().startswith("Slot:"):
        return Parts(adapters=records(text))
    blocks = list(_blocks(text))
    adapters = tuple(_adapter(one) for one in blocks if one.names.is_network)
    troubles = unrecognised(TOOL, text, blocks)
    return Parts(adapters=adapters, facts=_redirecting(blocks), troubles=troubles)


class _Block(msgspec.Struct, frozen=True):
    """One function: its line, and what ``-v`` prints below it, by the line's first word."""

    bus: str
    names: Names
    values: dict[str, str]
    denied: bool


def _blocks(text: str) -> Iterator[_Block]:
    head, body = "", list[str]()
    for line in [*lines(text), "00:00.0 "]:
        if _SLOT.match(line):
            if head:
                yield _block(head, body)
            head, body = line, []
        elif line[:1].isspace():
            body.append(line)


def _block(head: str, body: list[str]) -> _Block:
    slot, _, rest = head.partition(" ")
    values: dict[str, str] = {}
    for line in body:
        key, value = pair(line)
        values.setdefault(key, value)
    denied = any(DENIED in line[:80] for line in body)
    return _Block(pci.address(slot) or slot, named(rest), values, denied)


def _adapter(block: _Block) -> Adapter:
    values = block.values
    driver = values.get("Kernel driver in use", "")
    node = values.get("NUMA node", "")
    kind = kinds.kind_of(block.names.device_class, block.names.product, driver)
    return msgspec.structs.replace(
        partial.adapter(TOOL, kind), bus=block.bus, vendor=block.names.vendor,
        product=partial.said(TOOL, block.names.product), driver=partial.said(TOOL, driver),
        numa_node=figures.whole(node, "the NUMA node") if node else Skipped("lspci names none"),
        pcie_now=_link(block, "LnkSta"), pcie_capable=_link(block, "LnkCap"),
    )  # fmt: skip


def _link(block: _Block, register: str) -> PcieLink | Skipped:
    if register in block.values:
        return pci.link(block.values[register], register)
    if block.denied:
        return Skipped(f"lspci was not run as root: {register} of {block.bus} is denied")
    return Skipped(f"lspci shows no {register} of {block.bus}")


def _redirecting(blocks: list[_Block]) -> dict[str, str]:
    shown = any("Capabilities" in one.values for one in blocks)
    if not shown or any(one.denied for one in blocks):
        return {}
    buses = [
        one.bus
        for one in blocks
        if one.names.is_bridge and "ReqRedir+" in one.values.get("ACSCtl", "")
    ]
    return {"acs redirect": " ".join(buses)}
