"""Words that the tools of InfiniBand, RoCE, iWARP and Omni-Path use for one and the same."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from operator import mul, truediv
from typing import Any

from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.parts import blank_adapter, blank_port
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

#: Logical states: ibstat's, ibstatus', ibv_devinfo's, rdma's and opainfo's words (rdma-core 44,
#: iproute2 6.1, opa-ff 10.11), in lower case; ``up`` is an interface's that stands for a port.
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

#: What lies below each protocol, and which adapters have ports of it.
LAYER_OF = {
    "omni-path": "Omni-Path", "infiniband": "InfiniBand", "roce": "Ethernet", "iwarp": "Ethernet",
    "efa": "Ethernet", "slingshot": "Ethernet",
}  # fmt: skip
KIND_OF = {**{name: name for name in LAYER_OF}, "roce": "ethernet", "iwarp": "ethernet"}


def state(text: str, what: str) -> str | Skipped:
    """``ACTIVE``, ``INIT``, ``ARMED`` or ``DOWN`` of ``PORT_ACTIVE (4)`` or ``4: ACTIVE``."""
    return STATES.get(_bare(text).lower()) or figures.unread(text, what)


def physical(text: str, what: str) -> str | Skipped:
    """``LinkUp`` of ``LINK_UP (5)`` or ``5: LinkUp``, ``Offline`` of ``OPA_OFFLINE``."""
    word = _bare(text)
    if not word.isupper():
        return word or figures.unread(text, what)
    return word.removeprefix("OPA_").replace("_", " ").title().replace(" ", "")


def _bare(text: str) -> str:
    """Without the number that stands behind in brackets, or in front with a colon."""
    before, middle, after = text[:60].partition(": ")
    chosen = after if middle and before.strip().isdigit() else text[:60]
    return chosen.partition(" (")[0].strip()


def _lid(text: str, what: str) -> int | Skipped:
    read = figures.hexadecimal if text.startswith("0x") else figures.whole
    return read(text, what)


def _giga(text: str, what: str) -> float | Skipped:
    """``100 Gb/sec (4X EDR)``, ``25.0 Gbps (32)`` or ``200``, in bit/s."""
    return figures.number(text.partition(" ")[0], what, 1e9)


def _lanes(text: str, what: str) -> int | Skipped:
    found = _LANES.search(text[:60])
    return int(found[1]) if found and int(found[1]) else figures.unread(text, what)


def _mtu(text: str, what: str) -> int | Skipped:
    """``4096`` of ``4096 (5)``."""
    return figures.whole(text.partition(" ")[0], what, most=1 << 20)


def _guid(text: str, what: str) -> str | Skipped:
    """Itself, or the lower half of the first GID (InfiniBand Volume 1, 4.1.1), in eight groups or
    fewer. iWARP's GID is a hardware address and zeros: it holds none."""
    gid = text[:60].partition(",")[0].strip()
    if ":" not in gid:
        return figures.identifier(gid, what)
    try:
        half = int(ipaddress.IPv6Address(gid)) & (1 << 64) - 1
    except ValueError:
        half = 0
    return f"0x{half:016x}" if half else figures.unread(text, what)


#: What ibv_devinfo calls kinds of GIDs (rdma-core 44, libibverbs/examples/devinfo.c,
#: gid_type_str), in the kernel's words.
GID_KINDS = {"RoCE v1": "IB/RoCE v1", "RoCE v2": "RoCE v2"}


def gid(text: str) -> str:
    """An address as the kernel writes it, in eight groups of four digits; empty where it is none
    or all zeros."""
    try:
        address = ipaddress.IPv6Address(text.strip()[:60])
    except ValueError:
        return ""
    return address.exploded if int(address) else ""


#: A port's fields, how each is read, and what a message calls it.
_FIELDS: dict[str, tuple[Callable[[str, str], object], str]] = {
    "state": (state, "the state"),
    "physical": (physical, "the physical state"),
    "lid": (_lid, "the LID"),
    "sm_lid": (_lid, "the subnet manager's LID"),
    "rate_bit_s": (_giga, "the rate"),
    "lane_bit_s": (_giga, "the speed"),
    "lanes": (_lanes, "the width"),
    "mtu_bytes": (_mtu, "the MTU"),
    "max_mtu_bytes": (_mtu, "the largest MTU"),
    "guid": (_guid, "the port's GUID"),
    "interface": (lambda text, what: text or figures.unread(text, what), "the interface"),
}

#: What each tool calls the fields that it prints: rdma-core 44, iproute2 6.1, opa-ff 10.11, and
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


def port(
    tool: str, device: str, number: int, values: Mapping[str, str],
    protocol_name: str, link_layer: str, **known: Any,
) -> RdmaPort:  # fmt: skip
    """A port with the ``values`` that a tool printed, and fields that are ``known`` already.

    Two of rate, lane speed and number of lanes give the third.
    """
    told = known
    for field, label in LABELS[tool].items():
        if field not in told:
            read, called = _FIELDS[field]
            told[field] = read(values.get(label, ""), f"{tool}: {called} of {device}:{number}")
    rate, lane, lanes = (told.get(key) for key in ("rate_bit_s", "lane_bit_s", "lanes"))
    if lane is not None and lanes is not None and rate is None:
        told["rate_bit_s"] = _third(lane, lanes, mul)
    elif rate is not None and lanes is not None and lane is None:
        told["lane_bit_s"] = _third(rate, lanes, truediv)
    told |= {"link_layer": layer(protocol_name, link_layer), "protocol": protocol_name}
    return blank_port(tool, device, number, **told)


def _third(
    rate: float | Skipped, lanes: int | Skipped, make: Callable[[float, float], float]
) -> float | Skipped:
    """Made of a rate and the lanes, or why it is not known."""
    if isinstance(rate, Skipped):
        return rate
    return lanes if isinstance(lanes, Skipped) else make(rate, lanes)


def layer(protocol_name: str, link_layer: str) -> str:
    """An Omni-Path port calls its layer InfiniBand: the protocol goes first."""
    return LAYER_OF.get(protocol_name) or LAYERS.get(link_layer.lower(), "")


def protocol(device: str, link_layer: str, ethernet: str = "") -> str:
    """By the device's name, else by its link layer; ``ethernet`` where that one is meant."""
    for prefix, known in DEVICES:
        if device.startswith(prefix):
            return known
    if link_layer.lower() == "infiniband":
        return "infiniband"
    return ethernet if link_layer.lower() == "ethernet" else ""


def adapter(tool: str, device: str, protocol_name: str, **known: Any) -> Adapter:
    """One that is known by its RDMA device."""
    return blank_adapter(tool, KIND_OF.get(protocol_name, ""), rdma_devices=(device,), **known)
