"""``opainfo`` → Omni-Path ports; pure.

Fields after opainfo(1) of opa-ff 10.11. A port that is down has a ``PhysicalState`` and the
reason, one that is up a ``PortState``, LIDs and a link quality.
"""

import re

import msgspec

from fabricgauge.discover.printouts import figures, verbs
from fabricgauge.discover.printouts.lines import MOST_TROUBLES, lines, trouble, unrecognised
from fabricgauge.discover.printouts.parts import Parts, blank_port
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import RdmaPort

TOOL = "opainfo"
_HEAD = re.compile(
    r"([a-z]\w{0,62}):([0-9]{1,3})\s{1,99}Port(?:GUID|GID):([0-9a-fA-Fx:]{1,60})", re.ASCII
)
#: hfi1_0 as text recognition may leave it: an l or I for the 1.
_MISREAD = re.compile(r"hfi[lI](_[0-9]{1,3})")
#: A value ends where the next of these begins: a reason or a quality has blanks in it.
_LABEL = re.compile(
    r"\b(PortState|PhysicalState|OfflineDisabledReason|Mgmt|SM LID|LID|SL|Xmit Data|Recv Data|Pkts"
    r"|Link Quality|QSFP|ActTx|Act|Rx|En|Sup):"
)
#: Lines of several figures of one kind.
_GROUPS = ("LinkSpeed", "LinkWidth", "LinkWidthDnGrd", "LCRC")
_LONGEST = 400


class _Port(msgspec.Struct):
    """``values`` by label; those of a speed or width by ``LinkWidth En``."""

    device: str
    number: int
    guid: str
    values: dict[str, str]


def parse(text: str, argument: str = "") -> Parts:
    """Ports with speeds and widths active, enabled, supported.

    ``lanes`` is the narrowest of the width agreed on and those that either direction was
    downgraded to since. Fact ``link quality DEVICE:PORT``: ``5 (Excellent)``.
    """
    found: list[_Port] = []
    troubles: list[str] = []
    for number, line in enumerate(lines(text), 1):
        head = _HEAD.match(line.strip()[:_LONGEST])
        if head:
            device = _MISREAD.sub(r"hfi1\1", head[1])
            if device != head[1]:
                troubles.append(trouble(TOOL, number, f"{head[1]} is read as {device}", line))
            found.append(_Port(device, int(head[2]), head[3], {}))
        elif found and line:
            for label, value in _fields(line[:_LONGEST]).items():
                found[-1].values.setdefault(label, value)
    return Parts(
        rdma_ports=tuple(map(_port, found)), facts=_facts(found),
        troubles=(*troubles[:MOST_TROUBLES], *unrecognised(TOOL, text, found)),
    )  # fmt: skip


def _fields(line: str) -> dict[str, str]:
    first, _, rest = line.strip().partition(" ")
    group, text = (f"{first} ", rest) if first in _GROUPS else ("", line)
    labels = list(_LABEL.finditer(text))
    ends = [*(one.start() for one in labels[1:]), len(text)]
    return {
        group + label[1]: text[label.end() : end].strip()
        for label, end in zip(labels, ends, strict=False)
    }


def _port(port: _Port) -> RdmaPort:
    values = port.values
    lane = figures.bit_rate(values.get("LinkSpeed Act", ""), "the speed")
    lanes = _narrowest(values)
    return blank_port(
        TOOL, port.device, port.number, link_layer="Omni-Path", protocol="omni-path",
        state=_state(values), physical=_physical(values),
        reason=values.get("OfflineDisabledReason", ""),
        rate_bit_s=figures.product(lane, lanes),
        lane_bit_s=lane, lane_bit_s_enabled=_speeds(values.get("LinkSpeed En", "")),
        lane_bit_s_supported=_speeds(values.get("LinkSpeed Sup", "")), lanes=lanes,
        lanes_enabled=_widths(values.get("LinkWidth En", "")),
        lanes_supported=_widths(values.get("LinkWidth Sup", "")),
        lid=figures.hexadecimal(values.get("LID", "").partition("-")[0], "the LID"),
        sm_lid=figures.hexadecimal(values.get("SM LID", ""), "the subnet manager's LID"),
        guid=figures.identifier(port.guid.rpartition(":")[2], "the port's GUID"),
    )  # fmt: skip


def _state(values: dict[str, str]) -> str | Skipped:
    """A port whose physical state is shown instead is down."""
    if "PortState" not in values and values.get("PhysicalState") not in (None, "", "LinkUp"):
        return "DOWN"
    return verbs.state(values.get("PortState", ""), TOOL)


def _physical(values: dict[str, str]) -> str | Skipped:
    if "PhysicalState" in values:
        return verbs.physical(values["PhysicalState"], TOOL)
    return Skipped("opainfo gives the physical state of ports that are down only")


def _narrowest(values: dict[str, str]) -> int | Skipped:
    labels = ("LinkWidth Act", "LinkWidthDnGrd ActTx", "LinkWidthDnGrd Rx")
    found = [width for label in labels for width in _widths(values.get(label, ""))]
    return min(found) if found else Skipped("opainfo gives no active width")


def _widths(text: str) -> tuple[int, ...]:
    found = (figures.whole(word.strip(), "a width", most=64) for word in text.split(","))
    return tuple(sorted({width for width in found if isinstance(width, int) and width}))


def _speeds(text: str) -> tuple[float, ...]:
    found = (figures.bit_rate(word.strip(), "a speed") for word in text.split(","))
    return tuple(sorted({rate for rate in found if isinstance(rate, float)}))


def _facts(ports: list[_Port]) -> dict[str, str]:
    return {
        f"link quality {port.device}:{port.number}": port.values["Link Quality"]
        for port in ports
        if port.values.get("Link Quality")
    }
