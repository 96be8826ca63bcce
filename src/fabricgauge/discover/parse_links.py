"""``ip addr``, as JSON or as text → links with their addresses; pure."""

import ipaddress
import re
from typing import Annotated

import msgspec

from fabricgauge.discover.sections import LARGEST_NUMBER, Section
from fabricgauge.model.fabric import Address

Number = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_NUMBER)]


class Link(msgspec.Struct, frozen=True):
    """An interface as ``ip`` shows it.

    ``kind`` is the virtual driver's name or empty, ``medium`` the kind of link: ``ether``,
    ``infiniband``, ``loopback``. ``master`` and ``parent`` are as in ``Interface``.
    """

    name: str
    index: int
    flags: tuple[str, ...]
    mtu_bytes: int
    operstate: str
    mac: str
    kind: str
    addresses: tuple[Address, ...]
    medium: str
    master: str = ""
    parent: str = ""


class _JsonAddress(msgspec.Struct):
    family: str = ""
    local: str = ""
    prefixlen: Number = 0


class _JsonKind(msgspec.Struct):
    info_kind: str = ""


class _JsonLink(msgspec.Struct):
    """Fields of iproute2's ``ip -d -j addr``; old versions print empty objects as well."""

    ifname: str = ""
    ifindex: Number = 0
    flags: tuple[str, ...] = ()
    mtu: Number = 0
    operstate: str = "UNKNOWN"
    address: str = ""
    link_type: str = ""
    master: str | None = None
    link: str | None = None
    linkinfo: _JsonKind = msgspec.field(default_factory=_JsonKind)
    addr_info: tuple[_JsonAddress, ...] = ()


def links_from_json(section: Section) -> tuple[Link, ...]:
    """Links in the order of ``ip -d -j addr``.

    Raises:
        ProbeError: not the JSON that ip prints.
    """
    try:
        found = msgspec.json.decode(section.json, type=tuple[_JsonLink, ...])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise section.error(f"not what ip -j prints: {error}") from error
    return tuple(
        Link(
            link.ifname, link.ifindex, link.flags, link.mtu, link.operstate.lower(),
            link.address, link.linkinfo.info_kind,
            tuple(
                _address(section, entry.local, entry.prefixlen)
                for entry in link.addr_info
                if entry.family in ("inet", "inet6")
            ),
            link.link_type, link.master or "", link.link or "",
        )
        for link in found
        if link.ifname
    )  # fmt: skip


_HEAD = re.compile(r"(\d{1,9}): ([^\s:@]+)(?:@(\S+))?: <([^>]*)> mtu (\d{1,9})")
_MASTER = re.compile(r" master (\S+)")
_UNNAMED = re.compile(r"NONE|if\d+")
_STATE = re.compile(r" state (\S+)")
_MAC = re.compile(r"\s+link/(\S+) ([0-9a-fA-F:]+)")
_INET = re.compile(r"\s+inet6? ([0-9a-fA-F:.]+)(?: peer [0-9a-fA-F:.]+)?(?:/(\d{1,3}))?\s")


def links_from_text(section: Section) -> tuple[Link, ...]:
    """Links in the order of ``ip addr``; other lines than those named here are left out.

    Raises:
        ProbeError: no line is an interface's, or an address is none.
    """
    starts = [number for number, line in enumerate(section.lines) if _HEAD.match(line)]
    if not starts:
        raise section.error("no interface found in what ip addr printed")
    ends = [*starts[1:], len(section.lines)]
    return tuple(
        _text_link(section, section.lines[start], section.lines[start + 1 : end])
        for start, end in zip(starts, ends, strict=True)
    )


def _text_link(section: Section, head: str, body: tuple[str, ...]) -> Link:
    match = _HEAD.match(head)
    if match is None:
        raise section.error(f"no interface line: {head!r:.80}")
    state, master = _STATE.search(head), _MASTER.search(head)
    medium, mac = next((found.groups() for found in map(_MAC.match, body) if found), ("", ""))
    inets = [found for found in map(_INET.match, (f"{line} " for line in body)) if found]
    return Link(
        match.group(2), int(match.group(1)), tuple(match.group(4).split(",")), int(match.group(5)),
        state.group(1).lower() if state else "unknown", mac, "",
        tuple(_address(section, ip, _prefix(ip, length)) for ip, length in map(_groups, inets)),
        medium, master.group(1) if master else "", _parent(match.group(3)),
    )  # fmt: skip


def _parent(told: str | None) -> str:
    """``eth0`` of ``eth0.7@eth0``; what is in another namespace has a number alone."""
    return "" if told is None or _UNNAMED.fullmatch(told) else told


def _groups(match: "re.Match[str]") -> tuple[str, str | None]:
    return match.group(1), match.group(2)


def _prefix(ip: str, length: str | None) -> int:
    """A point-to-point address is printed without its length: it stands for itself alone."""
    if length is not None:
        return int(length)
    return 128 if ":" in ip else 32


def _address(section: Section, ip: str, prefix_length: int) -> Address:
    try:
        interface = ipaddress.ip_interface(f"{ip}/{prefix_length}")
    except ValueError as error:
        raise section.error(f"not an address: {ip!r:.60}/{prefix_length}") from error
    return Address(str(interface.ip), prefix_length)
