"""A node's answer to the probe → Node; pure.

A section that is missing becomes a ``Skipped`` with its reason; a section that cannot be understood
is an error, which names node, section and line, except that of ``tc``, which is a ``Skipped`` then.
``ip addr`` and ``tc qdisc show`` are read as JSON or as text.

IP over InfiniBand: Linux 6.12, drivers/infiniband/ulp/ipoib (mode; dev_port counts ports from 0;
a child of another partition is named ``ib0.8001`` after its parent).
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import NO_CABLE, NO_IPOIB, Address, Interface, IpoibPort, Node, Shaper
from fabricgauge.model.ip_link import IpAddress, IpLink, Number, read_ip_json
from fabricgauge.nodes.discover.printouts.parsing import LARGEST_NUMBER, parse_pairs, split_blocks
from fabricgauge.nodes.discover.printouts.verbs import LINKS, RATE
from fabricgauge.nodes.discover.sections import AnswerSection, split_answer
from fabricgauge.nodes.discover.survey.same import merge_adapters, merge_rdma_ports
from fabricgauge.nodes.discover.survey.sysfs import parse_net, parse_numa_node, parse_rdma

Sections = dict[str, AnswerSection]
Shapers = dict[str, Shaper | Skipped] | Skipped


def parse_probe(node: str, raw: str) -> Node:
    """Return the node that the probe's output describes; it was reached by the name ``node``.

    Raises:
        ProbeError: the output is cut off, lacks a section that every node has, or is malformed.
    """
    return build_node(node, split_answer(node, raw))


def build_node(node: str, sections: Sections) -> Node:
    """Return the node that the sections of the probe's output describe.

    Raises:
        ProbeError: a section that every node has is missing or malformed.
    """
    names = ("hostname", "boot_id", "net_namespace", "cpus", "kernel")
    hostname, boot_id, net_namespace, cpus, kernel = (
        _get_line(node, sections, name) for name in names
    )
    texts = {name: section.text for name, section in sections.items()}
    rdma = parse_rdma(texts)
    ports = [("/sys", port) for port in rdma.rdma_ports]
    if "ibv_devinfo" in texts:
        from fabricgauge.nodes.discover.printouts.infiniband import parse_ibv_devinfo

        verbs = parse_ibv_devinfo(texts["ibv_devinfo"])
        ports += [("ibv_devinfo", port) for port in verbs.rdma_ports]
    functions = (*parse_net(texts).adapters, *rdma.adapters)
    settings = sections["settings"].parse_pairs(":") if "settings" in sections else {}
    facts = {key.replace("/", "."): " ".join(value.split()) for key, value in settings.items()}
    facts |= sections["facts"].parse_pairs(": ") if "facts" in sections else {}
    return Node(
        name=node,
        hostname=hostname,
        boot_id=boot_id,
        net_namespace=net_namespace,
        cpu_count=sections["cpus"].parse_number(cpus, "number of processors", minimum=1),
        kernel=kernel,
        interfaces=_list_interfaces(node, sections),
        facts=facts,
        adapters=merge_adapters([("/sys", adapter) for adapter in functions], []),
        rdma_ports=merge_rdma_ports(ports, []),
    )


def _get_line(node: str, sections: Sections, name: str) -> str:
    """Return the one line of a section that every Linux node has."""
    section = sections.get(name)
    text = section.text.strip() if section else ""
    if not text:
        raise ProbeError(
            f'{node}: the node did not report its {name} (section "{name}" is empty or missing); '
            "it needs uname, readlink, cat, and /proc mounted"
        )
    return text


def _list_interfaces(node: str, sections: Sections) -> tuple[Interface, ...]:
    section = sections.get("ip_json") or sections.get("ip_text")
    if section is None:
        raise ProbeError(
            f"{node}: the node has no working ip program, so its addresses are unknown; "
            "install iproute2 on it"
        )
    links = parse_links_json(section) if section.name == "ip_json" else parse_links_text(section)
    shapers: Shapers = Skipped(f"{node} has no working tc program")
    try:
        if "tc_json" in sections:
            shapers = dict(parse_shapers_json(sections["tc_json"]))
        elif "tc_text" in sections:
            shapers = parse_shapers_text(sections["tc_text"])
    except ProbeError as error:
        # iproute2 before 5.5 prints the options of fq, codel, sfq and tbf as text amid its JSON.
        shapers = Skipped(str(error))
    return tuple(
        _build_interface(node, sections, link, parse_addresses(section, link), shapers, links)
        for link in links
    )


def _find_parent(link: IpLink, links: tuple[IpLink, ...]) -> str:
    """Return the interface of a VLAN, or the one a tunnel is bound to by name or by address."""
    if link.parent or link.kind != "vxlan":
        return link.parent
    name, ip = link.tunnel_ends
    holders = (peer.name for peer in links if any(address.ip == ip for address in peer.addresses))
    return name or next(holders, "")


def _build_interface(
    node: str, sections: Sections, link: IpLink, addresses: tuple[Address, ...], shapers: Shapers,
    links: tuple[IpLink, ...],
) -> Interface:  # fmt: skip
    label = f"{node}:{link.name}"
    system = _read_system(node, sections, link)
    values = system if isinstance(system, dict) else {}
    driver = _choose_driver(label, sections, link, values)
    port_values: dict[str, str] = {}
    if values and link.medium == MEDIUM:  # a child has the port of its parent
        parent = sections.get(f"sys {link.name.rpartition('.')[0]}")
        port_values = {**(parent.parse_pairs(": ") if parent else {}), **values}
    stated_speed: int | Skipped = Skipped(f"{label} gives no speed")
    if isinstance(system, Skipped):
        stated_speed = system
    elif "speed" in system:
        section = sections[f"sys {link.name}"]
        stated_speed = section.parse_number(system["speed"], "speed", minimum=-1)
    speed = parse_rate(node, link.name, driver, stated_speed)
    operstate = link.operstate.lower()
    if operstate == "unknown":  # the ip of busybox does not print it
        operstate = values.get("operstate", operstate)
    off = Skipped(f"{label} is switched off (ip link set {link.name} up)")
    unshaped = Skipped(f"{label} has no token bucket")
    return Interface(
        name=link.name,
        driver=driver,
        operstate=operstate,
        carrier="LOWER_UP" in link.flags if link.up else off,
        # The driver's rate; old kernels' IPoIB has none, and the port behind it has.
        speed_bit_s=(get_port_rate(port_values) or speed) if isinstance(speed, Skipped) else speed,
        mtu_bytes=link.mtu_bytes,
        mac=link.mac,
        addresses=addresses,
        shaper=shapers if isinstance(shapers, Skipped) else shapers.get(link.name) or unshaped,
        numa_node=system if isinstance(system, Skipped) else parse_numa_node(system, label),
        ipoib=parse_ipoib_port(label, port_values) if link.medium == MEDIUM else NO_IPOIB,
        master=link.master,
        parent=_find_parent(link, links),
    )


def _read_system(node: str, sections: Sections, link: IpLink) -> dict[str, str] | Skipped:
    """Return the /sys values, if their interface is the one that ``ip`` showed.

    /sys shows the network namespace in which it was mounted; the process may be in another one
    with an interface of the same name.
    """
    section = sections.get(f"sys {link.name}")
    if section is None:
        return Skipped(f"/sys/class/net of {node} has no {link.name}")
    values = section.parse_pairs(": ")
    index = section.parse_number(values.get("ifindex", ""), "ifindex")
    if index != link.index or values.get("address", "").lower() != link.mac.lower():
        return Skipped(f"/sys of {node} shows another network namespace than the node's own")
    return values


def _choose_driver(
    label: str, sections: Sections, link: IpLink, values: dict[str, str]
) -> str | Skipped:
    ethtool = sections.get(f"ethtool {link.name}")
    ethtool_driver = parse_pairs(ethtool.text).get("driver", "") if ethtool else ""
    if driver := ethtool_driver or values.get("driver", "").strip() or link.kind.strip():
        return driver
    if "LOOPBACK" in link.flags:
        return "loopback"
    return Skipped(f"{label}: neither ethtool, /sys nor ip names its driver")


#: Drivers without a wire: they report a fixed or inherited figure, or none. Linux 6.12:
#: drivers/net/veth.c, vmxnet3/vmxnet3_ethtool.c (always 10 Gb/s), macvlan.c (its parent's).
DRIVERS_WITHOUT_WIRE = NO_CABLE | {"veth", "vmxnet3"}


def parse_rate(
    node: str, interface: str, driver: str | Skipped, speed_mbit_s: int | Skipped
) -> float | Skipped:
    """Return the line rate in bit/s from the kernel's ``speed`` (10^6 bit/s; -1 is unknown)."""
    if isinstance(driver, str) and driver in DRIVERS_WITHOUT_WIRE:
        return Skipped(f"{driver} reports no physical rate ({node}:{interface})")
    if isinstance(speed_mbit_s, Skipped):
        return speed_mbit_s
    # ethtool.h: SPEED_UNKNOWN is -1, which some drivers pass on as 65535 or 2^32 - 1.
    if speed_mbit_s <= 0 or speed_mbit_s in (65535, 4294967295):
        name = driver if isinstance(driver, str) else "the driver"
        return Skipped(f"{name} does not know the rate of {node}:{interface}")
    return speed_mbit_s * 1e6


#: ip's name of the medium (ARPHRD_INFINIBAND); Omni-Path has the same.
MEDIUM = "infiniband"

_MODES = ("datagram", "connected")


def parse_ipoib_port(label: str, values: Mapping[str, str]) -> IpoibPort:
    """Read the interface's ``values`` in /sys; ``label`` names it (``c1:ib0``)."""
    mode = values.get("mode", "")
    rate, link = _match_port_rate(values), ""
    if rate and values.get("driver", "").startswith("hfi"):
        link = LINKS.get(("omni-path", float(rate[1])), "")
    elif rate and rate[2]:
        link = f"{rate[2]}x {rate[3] or 'SDR'}"
    return IpoibPort(
        mode=mode if mode in _MODES else Skipped(f"/sys gives no IPoIB mode of {label}"),
        link=link or Skipped(f"/sys gives no link of the port behind {label}"),
    )


def get_port_rate(values: Mapping[str, str]) -> float | None:
    """Return the rate of the port in bit/s, as the kernel counts it; None if /sys gives none."""
    rate = _match_port_rate(values)
    return float(rate[1]) * 1e9 if rate else None


def _match_port_rate(values: Mapping[str, str]) -> re.Match[str] | None:
    """Match the rate of the interface's port, or of the only port if /sys names none."""
    rates = [value for key, value in values.items() if key.startswith("rate ")]
    port = values.get("dev_port", "")
    if port.isascii() and port.isdigit() and len(port) <= 3:
        return RATE.fullmatch(values.get(f"rate {int(port) + 1}", ""))
    return RATE.fullmatch(rates[0]) if len(rates) == 1 else None


def parse_links_json(section: AnswerSection) -> tuple[IpLink, ...]:
    """Return links in the order of ``ip -d -j addr``.

    Raises:
        ProbeError: not the JSON that ip prints.
    """
    try:
        links = read_ip_json(section.json, tuple[IpLink, ...])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise section.make_error(f"not the JSON of ip -j: {error}") from error
    return tuple(link for link in links if link.name)


_HEAD = re.compile(r"(\d{1,9}): ([^\s:@]+)(?:@(\S+))?: <([^>]*)> mtu (\d{1,9})")
_MASTER = re.compile(r" master (\S+)")
_UNNAMED = re.compile(r"NONE|if\d+")
_STATE = re.compile(r" state (\S+)")
_MAC = re.compile(r"\s+link/(\S+) ([0-9a-fA-F:]+)")
_INET = re.compile(r"\s+inet6? ([0-9a-fA-F:.]+)(?: peer [0-9a-fA-F:.]+)?(?:/(\d{1,3}))?\s")


def parse_links_text(section: AnswerSection) -> tuple[IpLink, ...]:
    """Return links in the order of ``ip addr``; unknown lines are left out.

    Raises:
        ProbeError: no line is an interface's, or an address is not valid.
    """
    blocks = split_blocks(section.text, _HEAD.match)
    if not blocks:
        raise section.make_error("ip addr printed no interface")
    return tuple(_parse_link_text(head, body.split("\n")) for head, body in blocks)


def _parse_link_text(head: re.Match[str], body: list[str]) -> IpLink:
    index, name, parent, flags, mtu = head.groups()
    state, master = _STATE.search(head.string), _MASTER.search(head.string)
    mac_lines = map(_MAC.match, body)
    medium, mac = next((match.groups() for match in mac_lines if match), ("", ""))
    inets = [match for match in map(_INET.match, (f"{line} " for line in body)) if match]
    is_unnamed = parent is None or _UNNAMED.fullmatch(parent)  # it is in another namespace
    return IpLink(
        name, int(index), tuple(flags.split(",")), int(mtu), state[1] if state else "UNKNOWN", mac,
        tuple(
            # A point-to-point address has no printed length: its subnet is the address alone.
            IpAddress("inet", ip, int(length) if length else 128 if ":" in ip else 32)
            for ip, length in map(re.Match.groups, inets)
        ),
        medium, master[1] if master else "", "" if is_unnamed else parent,
    )  # fmt: skip


def parse_addresses(section: AnswerSection, link: IpLink) -> tuple[Address, ...]:
    """Return the IP addresses of a link.

    Raises:
        ProbeError: an address is not valid.
    """
    addresses: list[Address] = []
    for address in link.addresses:
        if address.family in ("inet", "inet6"):
            try:
                ip = str(ipaddress.ip_interface(address.cidr).ip)
            except ValueError as error:
                text = f"{address.ip!r:.60}/{address.prefix_length}"
                raise section.make_error(f"not an address: {text}") from error
            addresses.append(Address(ip, address.prefix_length))
    return tuple(addresses)


#: Units that ``tc`` appends to a rate (tc(8), "UNITS"); powers of ten.
RATE_UNITS = {"bit": 1.0, "Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}

#: Units that ``tc`` appends to a size (tc(8), "UNITS"): these are powers of two.
SIZE_UNITS = {"b": 1, "Kb": 1024, "Mb": 1024**2, "Gb": 1024**3}


class _JsonOptions(msgspec.Struct):
    rate: Number | None = None
    burst: Number = 0


class _JsonQueue(msgspec.Struct):
    """Fields of iproute2's ``tc -j qdisc show``; its rate is in bytes/s."""

    kind: str = ""
    dev: str = ""
    options: _JsonOptions = msgspec.field(default_factory=_JsonOptions)


def parse_shapers_json(section: AnswerSection) -> dict[str, Shaper]:
    """Return token buckets by the name of their interface; the slowest of several counts.

    Raises:
        ProbeError: not the JSON that tc prints.
    """
    try:
        raw = msgspec.json.decode(section.json, type=tuple[dict[str, object], ...])
        queues = [msgspec.convert(entry, _JsonQueue) for entry in raw if entry.get("kind") == "tbf"]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise section.make_error(f"not the JSON of tc -j: {error}") from error
    buckets = ((queue.dev, queue.options.rate, queue.options.burst) for queue in queues)
    return _choose_slowest(
        (name, Shaper(rate * 8.0, burst)) for name, rate, burst in buckets if rate
    )


_TBF = re.compile(
    r"qdisc tbf \S+ dev (\S+) .*?\brate (\d{1,12}(?:\.\d{1,6})?)([KMGT]?bit)"
    r" burst (\d{1,12}(?:\.\d{1,6})?)([KMG]?b)\b"
)

_TBF_INTERFACE = re.compile(r"qdisc tbf \S+ dev (\S+) ")


def parse_shapers_text(section: AnswerSection) -> dict[str, Shaper | Skipped]:
    """Return the same as ``parse_shapers_json`` from the text form.

    The tc of busybox shows that an interface has a token bucket, but not its rate.

    Raises:
        ProbeError: a line of a token bucket that names no interface.
    """
    shapers: list[tuple[str, Shaper]] = []
    unknown: dict[str, Shaper | Skipped] = {}
    for offset, line in enumerate(section.lines):
        if not line.startswith("qdisc tbf "):
            continue
        interface, match = _TBF_INTERFACE.match(line), _TBF.match(line)
        if interface is None:
            raise section.make_error(f"a token bucket without interface: {line!r:.80}", offset)
        if match is None:
            label = f"{section.node}:{interface[1]}"
            unknown[interface[1]] = Skipped(f"{label} has a token bucket of unknown rate")
            continue
        name, rate, rate_unit, burst, burst_unit = match.groups()
        rate_bit_s = min(float(rate) * RATE_UNITS[rate_unit], 8.0 * LARGEST_NUMBER)
        shapers.append((name, Shaper(rate_bit_s, int(float(burst) * SIZE_UNITS[burst_unit]))))
    return {**unknown, **_choose_slowest(shapers)}


def _choose_slowest(shapers: Iterable[tuple[str, Shaper]]) -> dict[str, Shaper]:
    return dict(sorted(shapers, key=lambda item: item[1].rate_bit_s, reverse=True))
