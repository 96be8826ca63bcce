"""``ibstat`` → ports of the devices that have management datagrams: not of iWARP's; pure.

As infiniband-diags of rdma-core 44 print it.
"""

import re

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, partial, verbs
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.inventory import Adapter, RdmaPort

TOOL = "ibstat"
#: As an option, and as the end of a file's name.
_LISTING = (["-l"], ["l"], ["--list_of_cas"])
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class _Block(msgspec.Struct):
    """A ``CA 'NAME'``, or one of its ports; ``number`` is empty for the former."""

    device: str
    number: str
    values: dict[str, str]


def parse(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, LIDs and GUID, and an adapter known by its RDMA device.

    The rate is nominal, as the kernel sums it up. With the argument ``-l`` the text is a list
    of names: without it, a word alone on its line may be anybody's.
    """
    blocks = _listed(text) if argument.split()[:1] in _LISTING else _blocks(text)
    ports = tuple(_port(one) for one in blocks if one.number)
    kinds = {one.device: verbs.KIND_OF.get(one.protocol, "") for one in ports}
    adapters = tuple(_adapter(one, kinds) for one in blocks if not one.number)
    return Parts(adapters=adapters, rdma_ports=ports, troubles=unrecognised(TOOL, text, blocks))


def _blocks(text: str) -> list[_Block]:
    found: list[_Block] = []
    for line in lines(text):
        bare = line.strip()
        if bare.startswith("CA '") and bare.endswith("'"):
            found.append(_Block(bare[4:-1], "", {}))
        elif found and bare.startswith("Port ") and verbs.PORT.fullmatch(bare[5:-1]):
            found.append(_Block(found[-1].device, bare[5:-1], {}))
        elif found and ":" in bare:
            key, value = pair(bare)
            found[-1].values.setdefault(key, value)
    return found


def _listed(text: str) -> list[_Block]:
    return [_Block(line, "", {}) for line in lines(text) if _NAME.fullmatch(line)]


def _port(block: _Block) -> RdmaPort:
    values = block.values
    layer = values.get("Link layer", "")
    protocol = verbs.protocol(block.device, layer, ethernet="roce")
    return msgspec.structs.replace(
        partial.port(TOOL, block.device, int(block.number)),
        link_layer=verbs.layer(protocol, layer), protocol=protocol,
        state=verbs.state(values.get("State", ""), TOOL),
        physical=verbs.physical(values.get("Physical state", ""), TOOL),
        rate_bit_s=figures.number(values.get("Rate", "").partition(" ")[0], "the rate", 1e9),
        lid=figures.whole(values.get("Base lid", ""), "the LID"),
        sm_lid=figures.whole(values.get("SM lid", ""), "the subnet manager's LID"),
        guid=figures.identifier(values.get("Port GUID", ""), "the port's GUID"),
    )  # fmt: skip


def _adapter(block: _Block, kinds: dict[str, str]) -> Adapter:
    return msgspec.structs.replace(
        partial.adapter(TOOL, kinds.get(block.device, "")), rdma_devices=(block.device,),
        product=partial.said(TOOL, block.values.get("CA type", "")),
        firmware=partial.said(TOOL, block.values.get("Firmware version", "")),
    )  # fmt: skip
