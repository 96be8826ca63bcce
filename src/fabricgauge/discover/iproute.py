"""``ip addr`` and ``tc qdisc show``, as JSON or as text → links, addresses, token buckets; pure."""

import ipaddress
import re
from collections.abc import Iterable

import msgspec

from fabricgauge.discover.printouts.lines import LARGEST_NUMBER, blocks
from fabricgauge.discover.sections import AnswerSection
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Shaper
from fabricgauge.model.ip_link import IpAddress, IpLink, Number, printed


def links_from_json(section: AnswerSection) -> tuple[IpLink, ...]:
    """Links in the order of ``ip -d -j addr``.

    Raises:
        ProbeError: not the JSON that ip prints.
    """
    try:
        found = printed(section.json, tuple[IpLink, ...])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise section.error(f"not what ip -j prints: {error}") from error
    return tuple(link for link in found if link.name)


_HEAD = re.compile(r"(\d{1,9}): ([^\s:@]+)(?:@(\S+))?: <([^>]*)> mtu (\d{1,9})")
_MASTER = re.compile(r" master (\S+)")
_UNNAMED = re.compile(r"NONE|if\d+")
_STATE = re.compile(r" state (\S+)")
_MAC = re.compile(r"\s+link/(\S+) ([0-9a-fA-F:]+)")
_INET = re.compile(r"\s+inet6? ([0-9a-fA-F:.]+)(?: peer [0-9a-fA-F:.]+)?(?:/(\d{1,3}))?\s")


def links_from_text(section: AnswerSection) -> tuple[IpLink, ...]:
    """Links in the order of ``ip addr``; other lines than those named here are left out.

    Raises:
        ProbeError: no line is an interface's, or an address is none.
    """
    found = blocks(section.text, _HEAD.match)
    if not found:
        raise section.error("no interface found in what ip addr printed")
    return tuple(_text_link(head, body.split("\n")) for head, body in found)


def _text_link(head: re.Match[str], body: list[str]) -> IpLink:
    index, name, parent, flags, mtu = head.groups()
    state, master = _STATE.search(head.string), _MASTER.search(head.string)
    medium, mac = next((found.groups() for found in map(_MAC.match, body) if found), ("", ""))
    inets = [found for found in map(_INET.match, (f"{line} " for line in body)) if found]
    unnamed = parent is None or _UNNAMED.fullmatch(parent)  # what is in another namespace
    return IpLink(
        name, int(index), tuple(flags.split(",")), int(mtu), state[1] if state else "UNKNOWN", mac,
        tuple(IpAddress("inet", found[1], _prefix(found[1], found[2])) for found in inets),
        medium, master[1] if master else "", "" if unnamed else parent,
    )  # fmt: skip


def _prefix(ip: str, length: str | None) -> int:
    """A point-to-point address is printed without its length: it stands for itself alone."""
    if length is not None:
        return int(length)
    return 128 if ":" in ip else 32


def addresses_of(section: AnswerSection, link: IpLink) -> tuple[Address, ...]:
    """Those of IP.

    Raises:
        ProbeError: one is none.
    """
    ours = (one for one in link.addresses if one.family in ("inet", "inet6"))
    return tuple(_address(section, one) for one in ours)


def _address(section: AnswerSection, one: IpAddress) -> Address:
    try:
        interface = ipaddress.ip_interface(one.cidr)
    except ValueError as error:
        raise section.error(f"not an address: {one.ip!r:.60}/{one.prefix_length}") from error
    return Address(str(interface.ip), one.prefix_length)


#: What ``tc`` appends to a rate (tc(8), "UNITS"); powers of ten.
RATE_UNITS = {"bit": 1.0, "Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}

#: What ``tc`` appends to a size (tc(8), "UNITS"): these are powers of two.
SIZE_UNITS = {"b": 1, "Kb": 1024, "Mb": 1024**2, "Gb": 1024**3}


class _JsonOptions(msgspec.Struct):
    rate: Number | None = None
    burst: Number = 0


class _JsonQueue(msgspec.Struct):
    """Fields of iproute2's ``tc -j qdisc show``; its rate is in bytes/s."""

    kind: str = ""
    dev: str = ""
    options: _JsonOptions = msgspec.field(default_factory=_JsonOptions)


def shapers_from_json(section: AnswerSection) -> dict[str, Shaper]:
    """Token buckets by the name of their interface; the slowest of several counts.

    Raises:
        ProbeError: not the JSON that tc prints.
    """
    try:
        raw = msgspec.json.decode(section.json, type=tuple[dict[str, object], ...])
        found = [msgspec.convert(entry, _JsonQueue) for entry in raw if entry.get("kind") == "tbf"]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise section.error(f"not what tc -j prints: {error}") from error
    rated = ((one.dev, one.options.rate, one.options.burst) for one in found)
    return _slowest((name, Shaper(rate * 8.0, burst)) for name, rate, burst in rated if rate)


_TBF = re.compile(
    r"qdisc tbf \S+ dev (\S+) .*?\brate (\d{1,12}(?:\.\d{1,6})?)([KMGT]?bit)"
    r" burst (\d{1,12}(?:\.\d{1,6})?)([KMG]?b)\b"
)

_TBF_OF = re.compile(r"qdisc tbf \S+ dev (\S+) ")


def shapers_from_text(section: AnswerSection) -> dict[str, Shaper | Skipped]:
    """As shapers_from_json, from the text form.

    The tc of busybox shows that there is a token bucket, but not its rate.

    Raises:
        ProbeError: a line of a token bucket that names no interface.
    """
    found: list[tuple[str, Shaper]] = []
    unknown: dict[str, Shaper | Skipped] = {}
    for offset, line in enumerate(section.lines):
        if not line.startswith("qdisc tbf "):
            continue
        owner, match = _TBF_OF.match(line), _TBF.match(line)
        if owner is None:
            raise section.error(f"a token bucket of no interface: {line!r:.80}", offset)
        if match is None:
            where = f"{section.node}:{owner[1]}"
            unknown[owner[1]] = Skipped(f"{where} has a token bucket of unknown rate")
            continue
        name, rate, rate_unit, burst, burst_unit = match.groups()
        rate_bit_s = min(float(rate) * RATE_UNITS[rate_unit], 8.0 * LARGEST_NUMBER)
        found.append((name, Shaper(rate_bit_s, int(float(burst) * SIZE_UNITS[burst_unit]))))
    return {**unknown, **_slowest(found)}


def _slowest(found: Iterable[tuple[str, Shaper]]) -> dict[str, Shaper]:
    return dict(sorted(found, key=lambda pair: pair[1].rate_bit_s, reverse=True))
