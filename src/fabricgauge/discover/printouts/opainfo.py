"""``opainfo`` → Omni-Path ports; pure.

Fields after opainfo(1) of opa-ff 10.11. A port that is down has a ``PhysicalState`` and the
reason, one that is up a ``PortState``, LIDs and a link quality.
"""

import re

from fabricgauge.discover.printouts import figures, verbs
from fabricgauge.discover.printouts.lines import MOST_TROUBLES, lines, trouble, unrecognised
from fabricgauge.discover.printouts.parts import Parts
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


def parse(text: str, argument: str = "") -> Parts:
    """Ports with speeds and widths active, enabled, supported.

    ``lanes`` is the narrowest of the width agreed on and those that either direction was
    downgraded to since. Fact ``link quality DEVICE:PORT``: ``5 (Excellent)``.
    """
    found: list[dict[str, str]] = []
    troubles: list[str] = []
    for number, line in enumerate(lines(text), 1):
        head = _HEAD.match(line.strip()[:_LONGEST])
        if head:
            device = _MISREAD.sub(r"hfi1\1", head[1])
            if device != head[1]:
                troubles.append(trouble(TOOL, number, f"{head[1]} is read as {device}", line))
            found.append({"device": device, "number": head[2], "guid": head[3]})
        elif found and line:
            found[-1] = {**_fields(line[:_LONGEST]), **found[-1]}
    quality = [(f"{one['device']}:{one['number']}", one.get("Link Quality")) for one in found]
    return Parts(
        rdma_ports=tuple(map(_port, found)),
        facts={f"link quality {name}": told for name, told in quality if told},
        troubles=(*troubles[:MOST_TROUBLES], *unrecognised(TOOL, text, found)),
    )


def _fields(line: str) -> dict[str, str]:
    """By label; those of a speed or width by ``LinkWidth En``."""
    first, _, rest = line.strip().partition(" ")
    group, text = (f"{first} ", rest) if first in _GROUPS else ("", line)
    labels = list(_LABEL.finditer(text))
    ends = [*(one.start() for one in labels[1:]), len(text)]
    return {
        group + label[1]: text[label.end() : end].strip()
        for label, end in zip(labels, ends, strict=False)
    }


def _port(told: dict[str, str]) -> RdmaPort:
    values = {**told, "LID": told.get("LID", "").partition("-")[0]}
    known: dict[str, object] = {} if "PhysicalState" in values else {"physical": _NO_PHYSICAL}
    if "PortState" not in values and values.get("PhysicalState") not in (None, "", "LinkUp"):
        known["state"] = "DOWN"  # a port whose physical state is shown instead
    labels = ("LinkWidth Act", "LinkWidthDnGrd ActTx", "LinkWidthDnGrd Rx")
    active = [width for label in labels for width in _widths(values, label)]
    return verbs.port(
        TOOL, told["device"], int(told["number"]), values, "omni-path", "",
        reason=values.get("OfflineDisabledReason", ""),
        lane_bit_s=figures.bit_rate(values.get("LinkSpeed Act", ""), "the speed"),
        lanes=min(active) if active else Skipped("opainfo gives no active width"),
        lane_bit_s_enabled=_speeds(values, "LinkSpeed En"),
        lane_bit_s_supported=_speeds(values, "LinkSpeed Sup"),
        lanes_enabled=_widths(values, "LinkWidth En"),
        lanes_supported=_widths(values, "LinkWidth Sup"),
        guid=figures.identifier(told["guid"].rpartition(":")[2], "the port's GUID"), **known,
    )  # fmt: skip


_NO_PHYSICAL = Skipped("opainfo gives the physical state of ports that are down only")


def _widths(values: dict[str, str], label: str) -> tuple[int, ...]:
    words = values.get(label, "").split(",")
    found = (figures.whole(word.strip(), "a width", most=64) for word in words)
    return tuple(sorted({width for width in found if isinstance(width, int) and width}))


def _speeds(values: dict[str, str], label: str) -> tuple[float, ...]:
    words = values.get(label, "").split(",")
    found = (figures.bit_rate(word.strip(), "a speed") for word in words)
    return tuple(sorted({rate for rate in found if isinstance(rate, float)}))
