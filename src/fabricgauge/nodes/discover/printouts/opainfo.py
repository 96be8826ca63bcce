"""``opainfo`` → Omni-Path ports; pure.

Fields after opainfo(1) of opa-ff 10.11. A port that is down has a ``PhysicalState`` and the
reason, one that is up a ``PortState``, LIDs and a link quality.
"""

import re

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import RdmaPort
from fabricgauge.nodes.discover.printouts import verbs
from fabricgauge.nodes.discover.printouts.parsing import (
    MAX_TROUBLES,
    Parts,
    describe_trouble,
    parse_bit_rate,
    parse_guid,
    parse_whole,
    report_unrecognised,
    split_lines,
)

TOOL = "opainfo"
_HEAD = re.compile(
    r"([a-z]\w{0,62}):([0-9]{1,3})\s{1,99}Port(?:GUID|GID):([0-9a-fA-Fx:]{1,60})", re.ASCII
)
#: hfi1_0 as text recognition may leave it: an l or I for the 1.
_MISREAD = re.compile(r"hfi[lI](_[0-9]{1,3})")
#: A value ends where the next label begins: a reason or a quality has blanks in it.
_LABEL = re.compile(
    r"\b(PortState|PhysicalState|OfflineDisabledReason|Mgmt|SM LID|LID|SL|Xmit Data|Recv Data|Pkts"
    r"|Link Quality|QSFP|ActTx|Act|Rx|En|Sup):"
)
#: Lines of several figures of one kind.
_GROUPS = ("LinkSpeed", "LinkWidth", "LinkWidthDnGrd", "LCRC")
_MAX_LINE = 400


def parse(text: str, argument: str = "") -> Parts:
    """Return ports with speeds and widths active, enabled, supported.

    ``lanes`` is the narrowest of the width agreed on and those that either direction was
    downgraded to since. Fact ``link quality DEVICE:PORT``: ``5 (Excellent)``.
    """
    ports: list[dict[str, str]] = []
    troubles: list[str] = []
    for number, line in enumerate(split_lines(text), 1):
        head = _HEAD.match(line.strip()[:_MAX_LINE])
        if head:
            device = _MISREAD.sub(r"hfi1\1", head[1])
            if device != head[1]:
                problem = f"{head[1]} is read as {device}"
                troubles.append(describe_trouble(TOOL, number, problem, line))
            ports.append({"device": device, "number": head[2], "guid": head[3]})
        elif ports and line:
            ports[-1] = {**_parse_fields(line[:_MAX_LINE]), **ports[-1]}
    qualities = [(f"{port['device']}:{port['number']}", port.get("Link Quality")) for port in ports]
    return Parts(
        rdma_ports=tuple(map(_make_port, ports)),
        facts={f"link quality {name}": quality for name, quality in qualities if quality},
        troubles=(*troubles[:MAX_TROUBLES], *report_unrecognised(TOOL, text, ports)),
    )


def _parse_fields(line: str) -> dict[str, str]:
    """Return values by label; those of a speed or width by ``LinkWidth En``."""
    first_word, _, remainder = line.strip().partition(" ")
    group, text = (f"{first_word} ", remainder) if first_word in _GROUPS else ("", line)
    labels = list(_LABEL.finditer(text))
    value_ends = [*(label.start() for label in labels[1:]), len(text)]
    return {
        group + label[1]: text[label.end() : end].strip()
        for label, end in zip(labels, value_ends, strict=False)
    }


def _make_port(fields: dict[str, str]) -> RdmaPort:
    values = {**fields, "LID": fields.get("LID", "").partition("-")[0]}
    states: dict[str, object] = {} if "PhysicalState" in values else {"physical": _NO_PHYSICAL}
    if "PortState" not in values and values.get("PhysicalState") not in (None, "", "LinkUp"):
        states["state"] = "DOWN"  # the printout shows the physical state instead
    labels = ("LinkWidth Act", "LinkWidthDnGrd ActTx", "LinkWidthDnGrd Rx")
    active = [width for label in labels for width in _parse_widths(values, label)]
    return verbs.build_port(
        TOOL, fields["device"], int(fields["number"]), values, "omni-path", "",
        reason=values.get("OfflineDisabledReason", ""),
        lane_bit_s=parse_bit_rate(values.get("LinkSpeed Act", ""), "the speed"),
        lanes=min(active) if active else Skipped("opainfo gives no active width"),
        lane_bit_s_enabled=_parse_speeds(values, "LinkSpeed En"),
        lane_bit_s_supported=_parse_speeds(values, "LinkSpeed Sup"),
        lanes_enabled=_parse_widths(values, "LinkWidth En"),
        lanes_supported=_parse_widths(values, "LinkWidth Sup"),
        guid=parse_guid(fields["guid"].rpartition(":")[2], "the port's GUID"), **states,
    )  # fmt: skip


_NO_PHYSICAL = Skipped("opainfo gives the physical state of ports that are down only")


def _parse_widths(values: dict[str, str], label: str) -> tuple[int, ...]:
    words = values.get(label, "").split(",")
    widths = (parse_whole(word.strip(), "a width", largest=64) for word in words)
    return tuple(sorted({width for width in widths if isinstance(width, int) and width}))


def _parse_speeds(values: dict[str, str], label: str) -> tuple[float, ...]:
    words = values.get(label, "").split(",")
    rates = (parse_bit_rate(word.strip(), "a speed") for word in words)
    return tuple(sorted({rate for rate in rates if isinstance(rate, float)}))
