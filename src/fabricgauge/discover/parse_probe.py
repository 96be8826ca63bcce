"""What a node said of itself → Node; pure.

A section that is missing becomes a ``Skipped`` with its reason; one that is there but
cannot be understood is an error, which names node, section and line. That of ``tc`` is a
``Skipped`` then.

IP over InfiniBand: Linux 6.12, drivers/infiniband/ulp/ipoib (mode; dev_port counts ports from 0;
a child of another partition is named ``ib0.8001`` after its parent).
"""

import re
from collections.abc import Mapping

from fabricgauge.discover.iproute import (
    addresses_of,
    links_from_json,
    links_from_text,
    shapers_from_json,
    shapers_from_text,
)
from fabricgauge.discover.printouts.infiniband import ibv_devinfo
from fabricgauge.discover.printouts.lines import pairs
from fabricgauge.discover.printouts.verbs import LINKS, RATE
from fabricgauge.discover.sections import AnswerSection, sections
from fabricgauge.discover.survey.same import adapters, rdma_ports
from fabricgauge.discover.survey.sysfs import net_parts, numa_node, rdma_parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import NO_CABLE, NO_IPOIB, Address, Interface, IpoibPort, Node, Shaper
from fabricgauge.model.ip_link import IpLink

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
    names = ("hostname", "boot_id", "net_namespace", "cpus", "kernel")
    hostname, boot_id, net_namespace, cpus, kernel = (_line(node, found, name) for name in names)
    texts = {name: section.text for name, section in found.items()}
    rdma = rdma_parts(texts)
    verbs = ibv_devinfo(texts.get("ibv_devinfo", ""))
    ports = [(source, one) for source, parts in (("/sys", rdma), ("ibv_devinfo", verbs))
             for one in parts.rdma_ports]  # fmt: skip
    functions = (*net_parts(texts).adapters, *rdma.adapters)
    return Node(
        name=node,
        hostname=hostname,
        boot_id=boot_id,
        net_namespace=net_namespace,
        cpu_count=found["cpus"].number(cpus, "number of processors", least=1),
        kernel=kernel,
        interfaces=_interfaces(node, found),
        facts=_facts(found),
        adapters=adapters([("/sys", one) for one in functions], []),
        rdma_ports=rdma_ports(ports, []),
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


def _facts(found: Sections) -> dict[str, str]:
    settings = found["settings"].pairs(":") if "settings" in found else {}
    facts = {key.replace("/", "."): " ".join(value.split()) for key, value in settings.items()}
    return facts | (found["facts"].pairs(": ") if "facts" in found else {})


def _interfaces(node: str, found: Sections) -> tuple[Interface, ...]:
    section = found.get("ip_json") or found.get("ip_text")
    if section is None:
        raise ProbeError(
            f"{node}: the node has no working ip program, so its addresses are not known; "
            "install iproute2 there"
        )
    links = links_from_json(section) if section.name == "ip_json" else links_from_text(section)
    shapers: Shapers = Skipped(f"{node} has no working tc program")
    try:
        if "tc_json" in found:
            shapers = dict(shapers_from_json(found["tc_json"]))
        elif "tc_text" in found:
            shapers = shapers_from_text(found["tc_text"])
    except ProbeError as error:
        # iproute2 before 5.5 prints the options of fq, codel, sfq and tbf as text amid its JSON.
        shapers = Skipped(str(error))
    return tuple(
        _interface(node, found, link, addresses_of(section, link), shapers, links) for link in links
    )


def _below(link: IpLink, links: tuple[IpLink, ...]) -> str:
    """The interface that a VLAN is on, or a tunnel is bound to by name or by its own address."""
    if link.parent or link.kind != "vxlan":
        return link.parent
    name, address = link.tunnel_ends
    own = (one.name for one in links if any(ip.ip == address for ip in one.addresses))
    return name or next(own, "")


def _interface(
    node: str, found: Sections, link: IpLink, addresses: tuple[Address, ...], shapers: Shapers,
    links: tuple[IpLink, ...],
) -> Interface:  # fmt: skip
    where = f"{node}:{link.name}"
    system = _system(node, found, link)
    values = system if isinstance(system, dict) else {}
    driver = _driver(where, found, link, values)
    behind = _behind(found, link, values)
    speed = rate_of(node, link.name, driver, _speed(where, found, link, system))
    operstate = link.operstate.lower()
    if operstate == "unknown":  # the ip of busybox does not print it
        operstate = values.get("operstate", operstate)
    off = Skipped(f"{where} is switched off (ip link set {link.name} up)")
    unshaped = Skipped(f"{where} has no token bucket")
    return Interface(
        name=link.name,
        driver=driver,
        operstate=operstate,
        carrier="LOWER_UP" in link.flags if link.up else off,
        # The driver's word; old kernels' IPoIB has none, and the port behind it has.
        speed_bit_s=(port_rate(behind) or speed) if isinstance(speed, Skipped) else speed,
        mtu_bytes=link.mtu_bytes,
        mac=link.mac,
        addresses=addresses,
        shaper=shapers if isinstance(shapers, Skipped) else shapers.get(link.name) or unshaped,
        numa_node=system if isinstance(system, Skipped) else numa_node(system, where),
        ipoib=ipoib_port(where, behind) if link.medium == MEDIUM else NO_IPOIB,
        master=link.master,
        parent=_below(link, links),
    )


def _behind(found: Sections, link: IpLink, values: dict[str, str]) -> dict[str, str]:
    """What /sys says of the port behind IP over InfiniBand; a child's parent says it."""
    if not values or link.medium != MEDIUM:
        return {}
    parent = found.get(f"sys {link.name.rpartition('.')[0]}")
    return {**(parent.pairs(": ") if parent else {}), **values}


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


def _speed(
    where: str, found: Sections, link: IpLink, system: dict[str, str] | Skipped
) -> int | Skipped:
    if isinstance(system, Skipped):
        return system
    if "speed" not in system:
        return Skipped(f"{where} gives no speed")
    return found[f"sys {link.name}"].number(system["speed"], "speed", least=-1)


def _driver(where: str, found: Sections, link: IpLink, values: dict[str, str]) -> str | Skipped:
    ethtool = found.get(f"ethtool {link.name}")
    named = pairs(ethtool.text).get("driver", "") if ethtool else ""
    if known := named or values.get("driver", "").strip() or link.kind.strip():
        return known
    if "LOOPBACK" in link.flags:
        return "loopback"
    return Skipped(f"{where}: neither ethtool, /sys nor ip names its driver")


#: Drivers without a wire: they report a fixed or inherited figure, or none. Linux 6.12:
#: drivers/net/veth.c, vmxnet3/vmxnet3_ethtool.c (always 10 Gb/s), macvlan.c (its parent's).
WITHOUT_A_WIRE = NO_CABLE | {"veth", "vmxnet3"}


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
        name = driver if isinstance(driver, str) else "the driver"
        return Skipped(f"{name} does not know the rate of {node}:{interface}")
    return speed_mbit_s * 1e6


#: What ``ip`` calls the medium (ARPHRD_INFINIBAND); Omni-Path's is the same.
MEDIUM = "infiniband"

_MODES = ("datagram", "connected")


def ipoib_port(where: str, values: Mapping[str, str]) -> IpoibPort:
    """``values`` are the interface's in /sys; ``where`` names it (``c1:ib0``)."""
    mode = values.get("mode", "")
    rate, link = _port_rate(values), ""
    if rate and values.get("driver", "").startswith("hfi"):
        link = LINKS.get(("omni-path", float(rate[1])), "")
    elif rate and rate[2]:
        link = f"{rate[2]}x {rate[3] or 'SDR'}"
    return IpoibPort(
        mode=mode if mode in _MODES else Skipped(f"/sys gives no IPoIB mode of {where}"),
        link=link or Skipped(f"/sys gives no link of the port behind {where}"),
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
