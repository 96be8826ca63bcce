"""What a node said of itself → Node; pure.

A section that is missing becomes a ``Skipped`` with its reason; one that is there but
cannot be understood is an error, which names node, section and line.
"""

from fabricgauge.discover.drivers import rate_of
from fabricgauge.discover.ipoib import MEDIUM, ipoib_port, port_rate
from fabricgauge.discover.parse_links import Link, links_from_json, links_from_text
from fabricgauge.discover.parse_queues import shapers_from_json, shapers_from_text
from fabricgauge.discover.sections import Section, sections
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import NO_IPOIB, Interface, Node, Shaper

Sections = dict[str, Section]
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
    shapers = _shapers(node, found)
    return tuple(_interface(node, found, link, shapers) for link in _links(node, found))


def _links(node: str, found: Sections) -> tuple[Link, ...]:
    if "ip_json" in found:
        return links_from_json(found["ip_json"])
    if "ip_text" in found:
        return links_from_text(found["ip_text"])
    raise ProbeError(
        f"{node}: the node has no working ip program, so its addresses are not known; "
        "install iproute2 there"
    )


def _shapers(node: str, found: Sections) -> Shapers:
    if "tc_json" in found:
        return dict(shapers_from_json(found["tc_json"]))
    if "tc_text" in found:
        return shapers_from_text(found["tc_text"])
    return Skipped(f"{node} has no working tc program")


def _interface(node: str, found: Sections, link: Link, shapers: Shapers) -> Interface:
    system = _system(node, found, link)
    driver = _driver(node, found, link, system)
    behind = _behind(found, link, system)
    return Interface(
        name=link.name,
        driver=driver,
        operstate=_operstate(link, system),
        carrier=_carrier(node, link),
        speed_bit_s=_speed(node, link, driver, _number(found, link, system, "speed"), behind),
        mtu_bytes=link.mtu_bytes,
        mac=link.mac,
        addresses=link.addresses,
        shaper=_shaper(node, link, shapers),
        numa_node=_numa_node(node, link, _number(found, link, system, "numa_node")),
        ipoib=ipoib_port(f"{node}:{link.name}", behind) if link.medium == MEDIUM else NO_IPOIB,
        master=link.master,
        parent=link.parent,
    )


def _behind(found: Sections, link: Link, system: dict[str, str] | Skipped) -> dict[str, str]:
    """What /sys says of the port behind IP over InfiniBand; a child's parent says it."""
    if isinstance(system, Skipped) or link.medium != MEDIUM:
        return {}
    parent = found.get(f"sys {link.name.rpartition('.')[0]}")
    return {**(parent.pairs(": ") if parent else {}), **system}


def _speed(
    node: str, link: Link, driver: str | Skipped, speed: int | Skipped, behind: dict[str, str]
) -> float | Skipped:
    """The driver's word; old kernels' IPoIB has none, and the port behind it has."""
    rate = rate_of(node, link.name, driver, speed)
    return (port_rate(behind) or rate) if isinstance(rate, Skipped) else rate


def _system(node: str, found: Sections, link: Link) -> dict[str, str] | Skipped:
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
    found: Sections, link: Link, system: dict[str, str] | Skipped, key: str
) -> int | Skipped:
    if isinstance(system, Skipped):
        return system
    if key not in system:
        return Skipped(f"{found[f'sys {link.name}'].node}:{link.name} gives no {key}")
    return found[f"sys {link.name}"].number(system[key], key, least=-1)


def _driver(
    node: str, found: Sections, link: Link, system: dict[str, str] | Skipped
) -> str | Skipped:
    ethtool = found.get(f"ethtool {link.name}")
    lines = ethtool.lines if ethtool else ()
    named = [line.removeprefix("driver: ") for line in lines if line.startswith("driver: ")]
    linked = system.get("driver", "") if isinstance(system, dict) else ""
    for name in (*named[:1], linked, link.kind):
        if name.strip():
            return name.strip()
    if "LOOPBACK" in link.flags:
        return "loopback"
    return Skipped(f"{node}:{link.name}: neither ethtool, /sys nor ip names its driver")


def _operstate(link: Link, system: dict[str, str] | Skipped) -> str:
    """The ip of busybox does not print it."""
    if link.operstate == "unknown" and isinstance(system, dict):
        return system.get("operstate", link.operstate)
    return link.operstate


def _carrier(node: str, link: Link) -> bool | Skipped:
    if "UP" not in link.flags:
        return Skipped(f"{node}:{link.name} is switched off (ip link set {link.name} up)")
    return "LOWER_UP" in link.flags


def _shaper(node: str, link: Link, shapers: Shapers) -> Shaper | Skipped:
    if isinstance(shapers, Skipped):
        return shapers
    return shapers.get(link.name) or Skipped(f"{node}:{link.name} has no token bucket")


def _numa_node(node: str, link: Link, number: int | Skipped) -> int | Skipped:
    """The kernel writes -1 where the firmware names no node."""
    if isinstance(number, int) and number < 0:
        return Skipped(f"{node}:{link.name} belongs to no particular NUMA node")
    return number
