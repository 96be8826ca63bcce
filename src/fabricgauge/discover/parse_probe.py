"""What a node said of itself → Node; pure.

A section that is missing becomes a ``Skipped`` with its reason; one that is there but
cannot be understood is an error, which names node, section and line.

IP over InfiniBand: Linux 6.12, drivers/infiniband/ulp/ipoib (mode; dev_port counts ports from 0;
a child of another partition is named ``ib0.8001`` after its parent).
"""

import re
from collections.abc import Mapping

from fabricgauge.discover.iproute import (
    IpLink,
    links_from_json,
    links_from_text,
    shapers_from_json,
    shapers_from_text,
)
from fabricgauge.discover.printouts.verbs import RATE
from fabricgauge.discover.sections import AnswerSection, sections
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import NO_IPOIB, Address, Interface, IpoibPort, Node, Shaper

Sections = dict[str, AnswerSection]
Shapers = dict[str, Shaper | Skipped] | Skipped


def parse_probe(node: str, raw: str) -> Node:
    """The node that the probe's output describes; ``node`` is the name it was reached by.

    Raises:
        ProbeError: the output is cut off, lacks what every node has, or is malformed.
    """
    return node_of(node, sections(node, raw))


def node_of(node: str, found: Sections) -> Node:
    """The same from the output's sections.

    Raises:
        ProbeError: it lacks what every node has, or is malformed.
    """
    return Node(
        name=node,
        hostname=_line(node, found, "hostname"),
        boot_id=_line(node, found, "boot_id"),
        net_namespace=_line(node, found, "net_namespace"),
        cpu_count=_cpu_count(node, found),
        kernel=_line(node, found, "kernel"),
        interfaces=_interfaces(node, found),
        facts=_facts(found),
    )


def _line(node: str, found: Sections, name: str) -> str:
    """The one line of a section that every Linux node can fill."""
    section = found.get(name)
    text = section.text.strip() if section else ""
    if not text:
        raise ProbeError(
            f'{node}: the node did not say its {name} (section "{name}" is empty or missing); '
            "it needs uname, readlink, cat, and /proc mounted"
        )
    return text


def _cpu_count(node: str, found: Sections) -> int:
    text = _line(node, found, "cpus")
    return found["cpus"].number(text, "number of processors", least=1)


def _facts(found: Sections) -> dict[str, str]:
    facts: dict[str, str] = {}
    if "settings" in found:
        settings = found["settings"].pairs(":")
        facts.update(
            (key.replace("/", "."), " ".join(value.split())) for key, value in settings.items()
        )
    if "facts" in found:
        facts.update(found["facts"].pairs(": "))
    return facts


def _interfaces(node: str, found: Sections) -> tuple[Interface, ...]:
    section = found.get("ip_json") or found.get("ip_text")
    if section is None:
        raise ProbeError(
            f"{node}: the node has no working ip program, so its addresses are not known; "
            "install iproute2 there"
        )
    links = links_from_json(section) if section.name == "ip_json" else links_from_text(section)
    shapers = _shapers(node, found)
    held = [(link, link.addresses(section)) for link in links]
    return tuple(_interface(node, found, link, addresses, shapers) for link, addresses in held)


def _shapers(node: str, found: Sections) -> Shapers:
    if "tc_json" in found:
        return dict(shapers_from_json(found["tc_json"]))
    if "tc_text" in found:
        return shapers_from_text(found["tc_text"])
    return Skipped(f"{node} has no working tc program")


def _interface(
    node: str, found: Sections, link: IpLink, addresses: tuple[Address, ...], shapers: Shapers
) -> Interface:
    where = f"{node}:{link.name}"
    system = _system(node, found, link)
    driver = _driver(node, found, link, system)
    behind = _behind(found, link, system)
    operstate, numa_node = link.operstate.lower(), _number(found, link, system, "numa_node")
    if operstate == "unknown" and isinstance(system, dict):  # the ip of busybox does not print it
        operstate = system.get("operstate", operstate)
    if isinstance(numa_node, int) and numa_node < 0:  # the firmware names none
        numa_node = Skipped(f"{where} belongs to no particular NUMA node")
    off = Skipped(f"{where} is switched off (ip link set {link.name} up)")
    unshaped = Skipped(f"{where} has no token bucket")
    return Interface(
        name=link.name,
        driver=driver,
        operstate=operstate,
        carrier="LOWER_UP" in link.flags if "UP" in link.flags else off,
        speed_bit_s=_speed(node, link, driver, _number(found, link, system, "speed"), behind),
        mtu_bytes=link.mtu_bytes,
        mac=link.mac,
        addresses=addresses,
        shaper=shapers if isinstance(shapers, Skipped) else shapers.get(link.name) or unshaped,
        numa_node=numa_node,
        ipoib=ipoib_port(where, behind) if link.medium == MEDIUM else NO_IPOIB,
        master=link.master,
        parent=link.parent,
    )


def _behind(found: Sections, link: IpLink, system: dict[str, str] | Skipped) -> dict[str, str]:
    """What /sys says of the port behind IP over InfiniBand; a child's parent says it."""
    if isinstance(system, Skipped) or link.medium != MEDIUM:
        return {}
    parent = found.get(f"sys {link.name.rpartition('.')[0]}")
    return {**(parent.pairs(": ") if parent else {}), **system}


def _speed(
    node: str, link: IpLink, driver: str | Skipped, speed: int | Skipped, behind: dict[str, str]
) -> float | Skipped:
    """The driver's word; old kernels' IPoIB has none, and the port behind it has."""
    rate = rate_of(node, link.name, driver, speed)
    return (port_rate(behind) or rate) if isinstance(rate, Skipped) else rate


def _system(node: str, found: Sections, link: IpLink) -> dict[str, str] | Skipped:
    """What /sys says, if its interface is the one that ``ip`` showed.

    /sys shows the network namespace in which it was mounted; the process's own may be
    another one with an interface of the same name.
    """
    section = found.get(f"sys {link.name}")
    if section is None:
        return Skipped(f"/sys/class/net of {node} has no {link.name}")
    values = section.pairs(": ")
    index = section.number(values.get("ifindex", ""), "ifindex")
    if index != link.index or values.get("address", "").lower() != link.mac.lower():
        return Skipped(f"/sys of {node} shows another network namespace than the node's own")
    return values


def _number(
    found: Sections, link: IpLink, system: dict[str, str] | Skipped, key: str
) -> int | Skipped:
    if isinstance(system, Skipped):
        return system
    if key not in system:
        return Skipped(f"{found[f'sys {link.name}'].node}:{link.name} gives no {key}")
    return found[f"sys {link.name}"].number(system[key], key, least=-1)


def _driver(
    node: str, found: Sections, link: IpLink, system: dict[str, str] | Skipped
) -> str | Skipped:
    ethtool = found.get(f"ethtool {link.name}")
    lines = ethtool.lines if ethtool else ()
    named = [line.removeprefix("driver: ") for line in lines if line.startswith("driver: ")]
    linked = system.get("driver", "") if isinstance(system, dict) else ""
    for name in (*named[:1], linked, link.info.info_kind):
        if name.strip():
            return name.strip()
    if "LOOPBACK" in link.flags:
        return "loopback"
    return Skipped(f"{node}:{link.name}: neither ethtool, /sys nor ip names its driver")


#: Drivers without a wire: they report a fixed or inherited figure, or none. Linux 6.12:
#: drivers/net/veth.c, tun.c, dummy.c, ifb.c, vmxnet3/vmxnet3_ethtool.c (always 10 Gb/s),
#: net/bridge/br_device.c, drivers/net/vxlan, macvlan.c (its parent's).
WITHOUT_A_WIRE = frozenset(
    {"veth", "tun", "tap", "bridge", "dummy", "ifb", "vmxnet3", "vxlan", "geneve", "macvlan",
     "ipvlan", "wireguard", "loopback"}
)  # fmt: skip


def rate_of(
    node: str, interface: str, driver: str | Skipped, speed_mbit_s: int | Skipped
) -> float | Skipped:
    """The line rate in bit/s from the kernel's ``speed`` (10^6 bit/s; -1: not known)."""
    if isinstance(driver, str) and driver in WITHOUT_A_WIRE:
        return Skipped(f"{driver} reports no physical rate ({node}:{interface})")
    if isinstance(speed_mbit_s, Skipped):
        return speed_mbit_s
    # ethtool.h: SPEED_UNKNOWN is -1, which some drivers pass on as 65535 or 2^32 - 1.
    if speed_mbit_s <= 0 or speed_mbit_s in (65535, 4294967295):
        return Skipped(f"{driver_name(driver)} does not know the rate of {node}:{interface}")
    return speed_mbit_s * 1e6


def driver_name(driver: str | Skipped) -> str:
    return driver if isinstance(driver, str) else "the driver"


#: What ``ip`` calls the medium (ARPHRD_INFINIBAND); Omni-Path's is the same.
MEDIUM = "infiniband"

_MODES = ("datagram", "connected")

#: Omni-Path's generation by the rate of its ports in Gb/s.
_OMNI_PATH = {"100": "OPA100", "400": "CN5000"}


def ipoib_port(where: str, values: Mapping[str, str]) -> IpoibPort:
    """``values`` are the interface's in /sys; ``where`` names it (``c1:ib0``)."""
    mode = values.get("mode", "")
    rate = _port_rate(values)
    no_link = Skipped(f"/sys gives no link of the port behind {where}")
    return IpoibPort(
        mode=mode if mode in _MODES else Skipped(f"/sys gives no IPoIB mode of {where}"),
        link=(_port_link(rate, values.get("driver", "")) if rate else "") or no_link,
    )


def port_rate(values: Mapping[str, str]) -> float | None:
    """The rate of the port in bit/s, as the kernel counts it; None where /sys gives none."""
    rate = _port_rate(values)
    return float(rate[1]) * 1e9 if rate else None


def _port_rate(values: Mapping[str, str]) -> re.Match[str] | None:
    """Of the port that the interface is on; of the only one where nothing says which."""
    rates = [value for key, value in values.items() if key.startswith("rate ")]
    on = values.get("dev_port", "")
    if on.isascii() and on.isdigit() and len(on) <= 3:
        return RATE.fullmatch(values.get(f"rate {int(on) + 1}", ""))
    return RATE.fullmatch(rates[0]) if len(rates) == 1 else None


def _port_link(rate: re.Match[str], driver: str) -> str:
    if driver.startswith("hfi"):
        return _OMNI_PATH.get(rate[1], "")
    return f"{rate[2]}x {rate[3] or 'SDR'}" if rate[2] else ""
