"""``ip addr`` and ``tc qdisc show``, as JSON or as text → links, addresses, token buckets; pure."""

import ipaddress
import re
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Shaper
from fabricgauge.model.ip_link import IpAddress, IpLink, Number, read_ip_json
from fabricgauge.nodes.discover.printouts.lines import LARGEST_NUMBER, split_blocks
from fabricgauge.nodes.discover.sections import AnswerSection


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
        tuple(IpAddress("inet", inet[1], _parse_prefix(inet[1], inet[2])) for inet in inets),
        medium, master[1] if master else "", "" if is_unnamed else parent,
    )  # fmt: skip


def _parse_prefix(ip: str, length: str | None) -> int:
    """A point-to-point address has no printed length: its subnet is the address alone."""
    if length is not None:
        return int(length)
    return 128 if ":" in ip else 32


def parse_addresses(section: AnswerSection, link: IpLink) -> tuple[Address, ...]:
    """Return the IP addresses of a link.

    Raises:
        ProbeError: an address is not valid.
    """
    ip_addresses = (address for address in link.addresses if address.family in ("inet", "inet6"))
    return tuple(_parse_address(section, address) for address in ip_addresses)


def _parse_address(section: AnswerSection, address: IpAddress) -> Address:
    try:
        interface = ipaddress.ip_interface(address.cidr)
    except ValueError as error:
        text = f"{address.ip!r:.60}/{address.prefix_length}"
        raise section.make_error(f"not an address: {text}") from error
    return Address(str(interface.ip), address.prefix_length)


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
