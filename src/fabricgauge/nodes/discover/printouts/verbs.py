"""Words that the tools of InfiniBand, RoCE, iWARP and Omni-Path use for the same values."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from operator import mul, truediv
from typing import Any

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort
from fabricgauge.nodes.discover.printouts.parsing import (
    make_adapter,
    make_port,
    parse_guid,
    parse_hex,
    parse_number,
    parse_whole,
    skip_unread,
)

#: Logical states: ibstat's, ibstatus', ibv_devinfo's, rdma's and opainfo's words (rdma-core 44,
#: iproute2 6.1, opa-ff 10.11), in lower case; ``up`` is the state of an interface that stands for
#: a port.
STATES = {
    "active": "ACTIVE", "port_active": "ACTIVE", "armed": "ARMED", "port_armed": "ARMED",
    "init": "INIT", "initialize": "INIT", "initializing": "INIT", "port_init": "INIT",
    "down": "DOWN", "port_down": "DOWN", "up": "ACTIVE",
}  # fmt: skip

#: Link layers under their names in rdma-core's ibv_devinfo and in sysfs.
LAYERS = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}

#: Names of devices that mean one protocol each: the kernel's, and those of rdma-core's udev
#: rule 60-rdma-persistent-naming.
DEVICES = (
    ("hfi1_", "omni-path"), ("opap", "omni-path"), ("efa_", "efa"), ("siw", "iwarp"),
    ("iwp", "iwarp"), ("rxe", "roce"), ("rocep", "roce"), ("ibp", "infiniband"),
    ("cxi", "slingshot"),
)  # fmt: skip

#: ``100 Gb/sec (4X EDR)``: the kernel's words for a port's rate; SDR is not named (Linux 6.12,
#: drivers/infiniband/core/sysfs.c, rate_show).
RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) Gb/sec(?: \((\d{1,2})X(?: ([A-Z0-9]{2,6}))?\))?")

#: A link's name by protocol and rate in Gb/s, as ceilings know it.
LINKS: dict[tuple[str, float], str] = {
    ("omni-path", 100): "OPA100", ("omni-path", 400): "CN5000",
    ("slingshot", 200): "Slingshot-11", ("efa", 100): "EFA-100", ("efa", 200): "EFA-200",
    ("efa", 400): "EFA-400",
}  # fmt: skip

#: A width in that rate, and in ibv_devinfo's ``4X (2)``.
_LANES = re.compile(r"(?:^|\()([0-9]{1,2})X\b")

#: A port's number; an adapter has at most 255.
PORT = re.compile(r"[0-9]{1,3}")

#: The link layer of each protocol, and the kind of adapters with ports of it.
LAYER_OF = {
    "omni-path": "Omni-Path", "infiniband": "InfiniBand", "roce": "Ethernet", "iwarp": "Ethernet",
    "efa": "Ethernet", "slingshot": "Ethernet",
}  # fmt: skip
KIND_OF = {**{name: name for name in LAYER_OF}, "roce": "ethernet", "iwarp": "ethernet"}


def parse_state(text: str, label: str) -> str | Skipped:
    """Return ``ACTIVE``, ``INIT``, ``ARMED`` or ``DOWN`` for ``PORT_ACTIVE (4)``, ``4: ACTIVE``."""
    return STATES.get(_strip_number(text).lower()) or skip_unread(text, label)


def parse_physical_state(text: str, label: str) -> str | Skipped:
    """Return ``LinkUp`` for ``LINK_UP (5)`` or ``5: LinkUp``, ``Offline`` for ``OPA_OFFLINE``."""
    word = _strip_number(text)
    if not word.isupper():
        return word or skip_unread(text, label)
    return word.removeprefix("OPA_").replace("_", " ").title().replace(" ", "")


def _strip_number(text: str) -> str:
    """Remove the number in brackets behind the word, or before it with a colon."""
    before, colon, after = text[:60].partition(": ")
    word = after if colon and before.strip().isdigit() else text[:60]
    return word.partition(" (")[0].strip()


def _parse_lid(text: str, label: str) -> int | Skipped:
    parse = parse_hex if text.startswith("0x") else parse_whole
    return parse(text, label)


def _parse_rate(text: str, label: str) -> float | Skipped:
    """Read ``100 Gb/sec (4X EDR)``, ``25.0 Gbps (32)`` or ``200`` as bit/s."""
    return parse_number(text.partition(" ")[0], label, 1e9)


def _parse_lanes(text: str, label: str) -> int | Skipped:
    match = _LANES.search(text[:60])
    return int(match[1]) if match and int(match[1]) else skip_unread(text, label)


def _parse_mtu(text: str, label: str) -> int | Skipped:
    """Return 4096 for ``4096 (5)``."""
    return parse_whole(text.partition(" ")[0], label, largest=1 << 20)


def _parse_guid(text: str, label: str) -> str | Skipped:
    """Return a GUID, or the lower half of the first GID (InfiniBand Volume 1, 4.1.1).

    A GID has eight groups or fewer. iWARP's GID is a hardware address and zeros, without a GUID.
    """
    gid = text[:60].partition(",")[0].strip()
    if ":" not in gid:
        return parse_guid(gid, label)
    try:
        half = int(ipaddress.IPv6Address(gid)) & (1 << 64) - 1
    except ValueError:
        half = 0
    return f"0x{half:016x}" if half else skip_unread(text, label)


#: ibv_devinfo's kinds of GIDs (rdma-core 44, libibverbs/examples/devinfo.c, gid_type_str), in the
#: kernel's words.
GID_KINDS = {"RoCE v1": "IB/RoCE v1", "RoCE v2": "RoCE v2"}


def format_gid(text: str) -> str:
    """Return an address as the kernel writes it, in eight groups of four digits.

    "" if the text is not an address, or all zeros.
    """
    try:
        address = ipaddress.IPv6Address(text.strip()[:60])
    except ValueError:
        return ""
    return address.exploded if int(address) else ""


#: A port's fields, how each is read, and its name in a message.
_FIELDS: dict[str, tuple[Callable[[str, str], object], str]] = {
    "state": (parse_state, "the state"),
    "physical": (parse_physical_state, "the physical state"),
    "lid": (_parse_lid, "the LID"),
    "sm_lid": (_parse_lid, "the subnet manager's LID"),
    "rate_bit_s": (_parse_rate, "the rate"),
    "lane_bit_s": (_parse_rate, "the speed"),
    "lanes": (_parse_lanes, "the width"),
    "mtu_bytes": (_parse_mtu, "the MTU"),
    "max_mtu_bytes": (_parse_mtu, "the largest MTU"),
    "guid": (_parse_guid, "the port's GUID"),
    "interface": (lambda text, label: text or skip_unread(text, label), "the interface"),
}

#: Each tool's labels of the fields that it prints: rdma-core 44, iproute2 6.1, opa-ff 10.11, and
#: Linux 6.12, drivers/infiniband/core/sysfs.c. A speed of ibv_devinfo is one lane's, as the
#: standard names it (libibverbs/examples/devinfo.c): 14.0 is FDR's 14.0625 Gb/s.
LABELS: dict[str, dict[str, str]] = {
    "ibstat": {
        "state": "State", "physical": "Physical state", "lid": "Base lid", "sm_lid": "SM lid",
        "rate_bit_s": "Rate", "guid": "Port GUID",
    },
    "ibstatus": {
        "state": "state", "physical": "phys state", "lid": "base lid", "sm_lid": "sm lid",
        "rate_bit_s": "rate", "lanes": "rate", "guid": "default gid",
    },
    "ibv_devinfo": {
        "state": "state", "physical": "phys_state", "lid": "port_lid", "sm_lid": "sm_lid",
        "lane_bit_s": "active_speed", "lanes": "active_width", "mtu_bytes": "active_mtu",
        "max_mtu_bytes": "max_mtu", "guid": "GID[  0]",
    },
    "rdma": {
        "state": "state", "physical": "physical_state", "lid": "lid", "sm_lid": "sm_lid",
        "interface": "netdev",
    },
    "opainfo": {
        "state": "PortState", "physical": "PhysicalState", "lid": "LID", "sm_lid": "SM LID",
    },
    "show_gids": {},
    "ibdev2netdev": {"state": "state"},
    "mlxlink": {"state": "State", "physical": "Physical state", "lanes": "Width"},
    "/sys": {
        "state": "state", "physical": "phys_state", "rate_bit_s": "rate", "lanes": "rate",
        "guid": "gid",
    },
}  # fmt: skip


def build_port(
    tool: str, device: str, number: int, values: Mapping[str, str],
    protocol: str, link_layer: str, **fields: Any,
) -> RdmaPort:  # fmt: skip
    """Return a port with the ``values`` that a tool printed, and ``fields`` that are parsed.

    Two of rate, lane speed and number of lanes give the third.
    """
    for field, label in LABELS[tool].items():
        if field not in fields:
            parse, name = _FIELDS[field]
            message_label = f"{tool}: {name} of {device}:{number}"
            fields[field] = parse(values.get(label, ""), message_label)
    rate, lane, lanes = (fields.get(key) for key in ("rate_bit_s", "lane_bit_s", "lanes"))
    if lane is not None and lanes is not None and rate is None:
        fields["rate_bit_s"] = _combine(lane, lanes, mul)
    elif rate is not None and lanes is not None and lane is None:
        fields["lane_bit_s"] = _combine(rate, lanes, truediv)
    fields |= {"link_layer": choose_layer(protocol, link_layer), "protocol": protocol}
    return make_port(tool, device, number, **fields)


def _combine(
    rate: float | Skipped, lanes: int | Skipped, operation: Callable[[float, float], float]
) -> float | Skipped:
    """Apply ``operation`` to a rate and the lanes, or return why one of them is unknown."""
    if isinstance(rate, Skipped):
        return rate
    return lanes if isinstance(lanes, Skipped) else operation(rate, lanes)


def choose_layer(protocol: str, link_layer: str) -> str:
    """Return the link layer; Omni-Path reports InfiniBand, so the protocol comes first."""
    return LAYER_OF.get(protocol) or LAYERS.get(link_layer.lower(), "")


def choose_protocol(device: str, link_layer: str, ethernet: str = "") -> str:
    """Return the protocol by the device's name, else by its link layer.

    ``ethernet`` is the protocol over Ethernet.
    """
    for prefix, protocol in DEVICES:
        if device.startswith(prefix):
            return protocol
    if link_layer.lower() == "infiniband":
        return "infiniband"
    return ethernet if link_layer.lower() == "ethernet" else ""


def build_adapter(tool: str, device: str, protocol: str, **fields: Any) -> Adapter:
    return make_adapter(tool, KIND_OF.get(protocol, ""), rdma_devices=(device,), **fields)
