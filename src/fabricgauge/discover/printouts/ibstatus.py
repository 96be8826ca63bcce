"""``ibstatus`` → ports, with the width and the name of their speed; pure.

As infiniband-diags of rdma-core 44 print it, from sysfs.
"""

import re

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, partial, verbs
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import RdmaPort

TOOL = "ibstatus"
_HEAD = re.compile(r"Infiniband device '(.*)' port ([0-9]{1,3}) status:")
_RATE = re.compile(r"([0-9.]{1,8}) Gb/sec \(([0-9]{1,2})X(?: ([A-Z0-9]{2,6}))?\)")


def parse(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, width and LIDs.

    RoCE and iWARP are told apart by the first GID: iWARP's is the hardware address and
    zeros (Linux 6.12: siw_query_gid, irdma_iw_query_gid, c4iw_query_gid).
    """
    ports = tuple(_port(*block) for block in _blocks(text))
    return Parts(rdma_ports=ports, troubles=unrecognised(TOOL, text, ports))


def _blocks(text: str) -> list[tuple[str, int, dict[str, str]]]:
    found: list[tuple[str, int, dict[str, str]]] = []
    for line in lines(text):
        head = _HEAD.fullmatch(line.strip())
        if head:
            found.append((head[1], int(head[2]), {}))
        elif found:
            key, value = pair(line)
            found[-1][2].setdefault(key, value)
    return found


def _port(device: str, number: int, values: dict[str, str]) -> RdmaPort:
    gid, layer = values.get("default gid", ""), values.get("link_layer", "")
    protocol = verbs.protocol(device, layer, ethernet=_over_ethernet(gid))
    rate = _RATE.fullmatch(values.get("rate", ""))
    unread = figures.unread(values.get("rate", ""), "the rate")
    lanes = int(rate[2]) if rate else 0
    rate_bit_s = figures.number(rate[1], "the rate", 1e9) if rate else unread
    lane = rate_bit_s / lanes if lanes and isinstance(rate_bit_s, float) else unread
    return msgspec.structs.replace(
        partial.port(TOOL, device, number), protocol=protocol,
        link_layer=verbs.layer(protocol, layer),
        state=verbs.state(values.get("state", ""), TOOL),
        physical=verbs.physical(values.get("phys state", ""), TOOL),
        rate_bit_s=rate_bit_s, lane_bit_s=lane, lanes=lanes or unread,
        lid=figures.hexadecimal(values.get("base lid", ""), "the LID"),
        sm_lid=figures.hexadecimal(values.get("sm lid", ""), "the subnet manager's LID"),
        guid=_guid(gid, protocol),
    )  # fmt: skip


def _over_ethernet(gid: str) -> str:
    digits = gid.replace(":", "")
    if len(digits) != 32 or not digits.strip("0"):
        return ""
    return "iwarp" if not digits[12:].strip("0") else "roce"


def _guid(gid: str, protocol: str) -> str | Skipped:
    if protocol == "iwarp":
        return Skipped("the first GID of an iWARP device holds no GUID")
    return figures.identifier(gid[-19:], "the port's GUID")
