"""``ip addr`` and ``ip link``, as text, with ``-d`` or with ``-j`` → interfaces; pure.

As iproute2 6.1 prints them. Only ``-d`` names the kind of a link. Without it, bridges and links of
containers and guests are known by their ports and by the names that their programs give them.
"""

import re
from collections.abc import Iterable

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import NO_IPOIB, Interface
from fabricgauge.model.ip_link import IpLink
from fabricgauge.nodes.discover.iproute import parse_addresses, parse_links_json, parse_links_text
from fabricgauge.nodes.discover.parse_probe import MEDIUM, parse_ipoib_port
from fabricgauge.nodes.discover.printouts.lines import split_lines
from fabricgauge.nodes.discover.printouts.parts import Parts
from fabricgauge.nodes.discover.sections import AnswerSection

_TOOL = "ip addr"
_ABSENT = Skipped(f"{_TOOL} does not give it")

#: Names that programs give to links without a cable: Docker ("Bridge network driver"), libvirt
#: (virbr), Podman, LXD, CNI plugins; Calico, containers' ends; OpenVPN.
_NAMES = (
    (re.compile(r"(?:docker|virbr|lxcbr|lxdbr|podman|cni)\d+|br-[0-9a-f]{12}"), "bridge"),
    (re.compile(r"(?:veth|cali)\w+|vnet\d+"), "veth"),
    (re.compile(r"(?:tun|tap)\d+"), "tun"),
)


def parse(text: str, argument: str = "") -> Parts:
    """Return the interfaces in the order of the printout."""
    section = AnswerSection("", _TOOL, 1, tuple(split_lines(text)))
    try:
        is_json = text.lstrip()[:1] == "["
        links = parse_links_json(section) if is_json else parse_links_text(section)
        interfaces = tuple(_build_interface(section, link, links) for link in links)
    except ProbeError as error:
        return Parts(troubles=(str(error).partition("; see")[0].removeprefix(": "),))
    return Parts(interfaces=interfaces)


def _build_interface(section: AnswerSection, link: IpLink, links: Iterable[IpLink]) -> Interface:
    off = Skipped(f"{link.name} is switched off (ip link set {link.name} up)")
    return Interface(
        name=link.name,
        driver=_find_driver(link, links),
        operstate=link.operstate.lower(),
        carrier="LOWER_UP" in link.flags if link.up else off,
        speed_bit_s=_ABSENT,
        mtu_bytes=link.mtu_bytes,
        mac=link.mac,
        addresses=parse_addresses(section, link),
        shaper=_ABSENT,
        numa_node=_ABSENT,
        ipoib=parse_ipoib_port(link.name, {}) if link.medium == MEDIUM else NO_IPOIB,
        master=link.master,
        parent=link.parent,
    )


def _find_driver(link: IpLink, links: Iterable[IpLink]) -> str | Skipped:
    """Return the kind of a link, by its own line, its ports or its name; a bond has MASTER."""
    if link.kind:
        return link.kind
    if "LOOPBACK" in link.flags:
        return "loopback"
    if "MASTER" in link.flags:
        return "bonding"
    if any(port.master == link.name for port in links):
        return "bridge"
    names = (driver for pattern, driver in _NAMES if pattern.fullmatch(link.name))
    return next(names, _ABSENT)
