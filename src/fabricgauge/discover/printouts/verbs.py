"""Words that the tools of InfiniBand, RoCE, iWARP and Omni-Path use for one and the same."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.parts import blank_adapter, blank_port
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

#: Logical states: ibstat's, ibstatus', ibv_devinfo's, rdma's and opainfo's words (rdma-core 44,
#: iproute2 6.1, opa-ff 10.11), in lower case.
STATES = {
    "active": "ACTIVE", "port_active": "ACTIVE", "armed": "ARMED", "port_armed": "ARMED",
    "init": "INIT", "initialize": "INIT", "initializing": "INIT", "port_init": "INIT",
    "down": "DOWN", "port_down": "DOWN",
}  # fmt: skip

#: Link layers under their names in rdma-core's ibv_devinfo and in sysfs.
LAYERS = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}

#: Names of devices that mean one protocol each: the kernel's, and those of rdma-core's udev
#: rule 60-rdma-persistent-naming.
DEVICES = (
    ("hfi1_", "omni-path"), ("opap", "omni-path"), ("efa_", "efa"), ("siw", "iwarp"),
    ("iwp", "iwarp"), ("rxe", "roce"), ("rocep", "roce"), ("ibp", "infiniband"),
)  # fmt: skip

#: ``100 Gb/sec (4X EDR)``: the kernel's words for a port's rate; SDR is not named (Linux 6.12,
#: drivers/infiniband/core/sysfs.c, rate_show).
RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) Gb/sec(?: \((\d{1,2})X(?: ([A-Z0-9]{2,6}))?\))?")

#: A port's number; an adapter has at most 255.
PORT = re.compile(r"[0-9]{1,3}")

#: What lies below each protocol.
LAYER_OF = {
    "omni-path": "Omni-Path", "infiniband": "InfiniBand", "roce": "Ethernet", "iwarp": "Ethernet",
    "efa": "Ethernet",
}  # fmt: skip

#: Which adapters have ports of that protocol.
KIND_OF = {
    "omni-path": "omni-path", "infiniband": "infiniband", "roce": "ethernet",
    "iwarp": "ethernet", "efa": "efa",
}  # fmt: skip


def state(text: str, tool: str) -> str | Skipped:
    """``ACTIVE``, ``INIT``, ``ARMED`` or ``DOWN`` of ``PORT_ACTIVE (4)`` or ``4: ACTIVE``."""
    return STATES.get(_bare(text).lower()) or figures.unread(text, f"{tool}: the state")


def physical(text: str, tool: str) -> str | Skipped:
    """``LinkUp`` of ``LINK_UP (5)`` or ``5: LinkUp``, ``Offline`` of ``OPA_OFFLINE``."""
    word = _bare(text)
    if not word:
        return figures.unread(text, f"{tool}: the physical state")
    if not word.isupper():
        return word
    return word.removeprefix("OPA_").replace("_", " ").title().replace(" ", "")


def protocol(device: str, link_layer: str, ethernet: str = "") -> str:
    """By the device's name, else by its link layer; ``ethernet`` where that one is meant."""
    for prefix, known in DEVICES:
        if device.startswith(prefix):
            return known
    if link_layer.lower() == "infiniband":
        return "infiniband"
    return ethernet if link_layer.lower() == "ethernet" else ""


def layer(protocol_name: str, link_layer: str) -> str:
    """An Omni-Path port calls its layer InfiniBand: the protocol goes first."""
    return LAYER_OF.get(protocol_name) or LAYERS.get(link_layer.lower(), "")


class PortLabels(msgspec.Struct, frozen=True):
    """What a tool calls the states of a port and its LIDs, and how it writes a LID."""

    tool: str
    state: str
    physical: str
    lid: str
    sm_lid: str
    read_lid: Callable[[str, str], int | Skipped] = figures.whole


def port(
    labels: PortLabels, device: str, number: int, values: Mapping[str, str],
    protocol_name: str, link_layer: str, **known: Any,
) -> RdmaPort:  # fmt: skip
    """A port of which a tool printed ``values``; ``known`` is what it says in a way of its own."""
    tool = labels.tool
    told: dict[str, Any] = {
        "link_layer": layer(protocol_name, link_layer),
        "protocol": protocol_name,
        "state": state(values.get(labels.state, ""), tool),
        "physical": physical(values.get(labels.physical, ""), tool),
        "lid": labels.read_lid(values.get(labels.lid, ""), "the LID"),
        "sm_lid": labels.read_lid(values.get(labels.sm_lid, ""), "the subnet manager's LID"),
    }
    return blank_port(tool, device, number, **{**told, **known})


def adapter(tool: str, device: str, protocol_name: str, **known: Any) -> Adapter:
    """One that is known by its RDMA device."""
    return blank_adapter(tool, KIND_OF.get(protocol_name, ""), rdma_devices=(device,), **known)


def _bare(text: str) -> str:
    """Without the number that stands behind in brackets, or in front with a colon."""
    before, middle, after = text[:60].partition(": ")
    chosen = after if middle and before.strip().isdigit() else text[:60]
    return chosen.partition(" (")[0].strip()
