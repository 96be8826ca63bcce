"""``ibnetdiscover``: hosts by their adapters' descriptions, on the switch they are cabled to.

Format as in ibnetdiscover(8) of infiniband-diags (rdma-core): a record begins ``Switch``, ``Ca``
or ``Rt`` with the number of ports, the node's GUID in quotes and its description behind ``#``;
a line for each connected port follows, ``[port] "PEER"[port]``. Descriptions of adapters are
``HOST HCA-1`` or, as rdma-ndd writes them, ``HOST mlx5_0``.
"""

import re
from collections.abc import Sequence

from fabricgauge.model.topology import Topology
from fabricgauge.parse.topology.cabling import Adapter, Cabling
from fabricgauge.parse.topology.reading import Lines, Numbered

EXPECTED = "what 'ibnetdiscover' prints, with at least one host cabled to a switch"

_KINDS = {"Switch": "S", "Ca": "H", "Rt": "R"}
_RECORD = re.compile(
    r'(?P<kind>Switch|Ca|Rt)\s+\d{1,5}\s+"(?P<letter>[SHR])-(?P<guid>[0-9a-fA-Fx]{1,20})"'
    r'(?:[^"]*"(?P<description>[^"]*)")?'
)
_PORT = re.compile(
    r"\[(?P<port>\d{1,5})\](?:\[ext \d{1,5}\])?(?:\([0-9a-fA-Fx]{1,20}\))?\s+"
    r'"(?P<letter>[SHR])-(?P<guid>[0-9a-fA-Fx]{1,20})"\[(?P<peer_port>\d{1,5})\]'
)
_BEGINS = re.compile(r"(?:switch|ca|rt)guid=0x|(?:Switch|Ca|Rt)\s+\d+\s+\"[SHR]-")
#: A host's name and its device; one word alone is a host that was given no device. Vendors'
#: own texts (``MT25408 ConnectX Mellanox Technologies``) name no host.
_HOST = re.compile(
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252})(?:\s+(?P<device>HCA-\d+|[a-z][a-z0-9_]*\d))?"
)


def begins(numbered: Sequence[Numbered]) -> bool:
    return any(_BEGINS.match(text) for _, text in numbered)


def read(numbered: Sequence[Numbered], lines: Lines) -> Topology:
    """Leaf switches with their hosts; what was left out is said in ``source``."""
    cabling = _cabling(numbered, lines)
    missing = cabling.without_record()
    if missing:
        line, guid = missing[0]
        raise lines.error(
            line, f"the peer {guid} has no record of its own, like {len(missing) - 1} more; is the"
            " file cut off? expected all that 'ibnetdiscover' printed"
        )  # fmt: skip
    remarks = "".join(f"; {remark}" for remark in cabling.remarks())
    return Topology(cabling.groups(), f"{lines.source} (ibnetdiscover{remarks})")


def _cabling(numbered: Sequence[Numbered], lines: Lines) -> Cabling:
    """All records and cables.

    Raises:
        UsageError: a record's or a port's line that is not understood, or a port of no record.
    """
    cabling = Cabling()
    here = ""
    for line, raw in numbered:
        text = raw.strip()
        if text.startswith(("Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt ")):
            here = _record(line, text, lines, cabling)
        elif text.startswith("["):
            match = _PORT.match(text)
            if match is None or not here:
                raise lines.error(
                    line, f"{text!r:.80} is no port of a record; expected"
                    ' [1] "H-0002c903000e0b72"[1] below a Switch or Ca line; is the file cut off?'
                )  # fmt: skip
            peer = _guid(match["guid"])
            cabling.cable(line, (here, int(match["port"])), (peer, int(match["peer_port"])))
    return cabling


def _record(line: int, text: str, lines: Lines, cabling: Cabling) -> str:
    """Take up a record's first line; its GUID."""
    match = _RECORD.match(text)
    if match is None or _KINDS[match["kind"]] != match["letter"]:
        raise lines.error(
            line, f"{text!r:.80} is not understood; expected"
            ' Ca 2 "H-0002c903000e0b72" # "node01 HCA-1"; is the file cut off?'
        )  # fmt: skip
    guid = _guid(match["guid"])
    description = (match["description"] or "").strip()
    if match["kind"] == "Switch":
        name = lines.name(line, description or f"S-{guid}", "a switch")
        cabling.switches.setdefault(guid, name)
    elif match["kind"] == "Ca":
        host = _HOST.fullmatch(description)
        adapter = Adapter(host["host"], host["device"] or "") if host else None
        cabling.adapters.setdefault(guid, adapter)
    else:
        cabling.routers.add(guid)
    return guid


def _guid(text: str) -> str:
    return text.lower().removeprefix("0x").rjust(16, "0")
