"""``ethtool IFACE``, ``-i IFACE``, ``-a IFACE``, ``-S IFACE``, as text or ``--json``; pure.

As ethtool 6.1 prints them; the JSON of the settings after ethtool 6.10 (netlink/settings.c).
The printout itself shows which of the four it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import LinkModes
from fabricgauge.nodes.discover.parse_probe import DRIVERS_WITHOUT_WIRE
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    list_words,
    make_adapter,
    make_counters_fact,
    make_speed_fact,
    parse_entries,
    parse_pairs,
    split_lines,
    split_pair,
    to_word,
)

TOOL = "ethtool"

#: First lines of other options' printouts, which are parsed elsewhere or not at all.
_UNUSED_HEADS = ("Features for", "Coalesce parameters", "Ring parameters", "Channel")
_SETTINGS, _PAUSE, _STATISTICS = "Settings for ", "Pause parameters for ", "NIC statistics"
_HEADS = (_SETTINGS, _PAUSE, _STATISTICS, "driver:", *_UNUSED_HEADS)


def parse(text: str, argument: str = "") -> Parts:
    """Return the values of one of the four printouts of one interface.

    ``argument`` ends with the interface's name: ``eth0``, ``-i eth0``. ``-i`` and ``-S`` need it.
    """

    def parse_text(text: str) -> Iterator[Parts]:
        head = next((line for line in split_lines(text) if line.startswith(_HEADS)), "")
        if head.startswith(_SETTINGS):
            yield _parse_settings(text)
        elif head.startswith(_PAUSE):
            yield _parse_pause(text)
        elif head.startswith("driver:"):
            yield _parse_driver(text, argument.rpartition(" ")[2])
        elif head.startswith(_STATISTICS):
            yield _parse_statistics(text, argument.rpartition(" ")[2])
        elif head:
            yield Parts()

    entries, troubles = parse_entries(TOOL, text, _parse_object, parse_text)
    return entries[0] if entries else Parts(troubles=troubles)


def _parse_object(entry: Mapping[str, object]) -> Iterator[Parts]:
    """Read the JSON, in which ``speed`` is a number of Mb/s."""
    name = to_word(entry.get("ifname"))
    if "rx" in entry and "tx" in entry:
        negotiated = entry.get("negotiated")
        pause = negotiated if isinstance(negotiated, dict) else entry
        rx, tx = (
            {"yes": "on", "no": "off"}.get(to_word(pause.get(direction)), "")
            for direction in ("rx", "tx")
        )
        yield _make_pause_fact(name, rx, tx)
    elif name:
        values = {key: to_word(entry.get(key)) for key in TEXT_KEYS.values()}
        values["speed"] += "Mb/s" if values["speed"] else ""
        modes = {key: [*list_words(entry[key])] for key in entry if key.endswith("-link-modes")}
        yield _make_parts(name, values, modes)


SUPPORTED, ADVERTISED = "supported-link-modes", "advertised-link-modes"
PARTNER = "link-partner-advertised-link-modes"

#: The text's words for the keys of the JSON; both in ethtool's netlink/settings.c.
TEXT_KEYS = {
    "Supported link modes": SUPPORTED, "Advertised link modes": ADVERTISED,
    "Link partner advertised link modes": PARTNER, "Speed": "speed", "Duplex": "duplex",
    "Auto-negotiation": "auto-negotiation", "Port": "port", "Link detected": "link-detected",
}  # fmt: skip

#: ``25000baseCR/Full``: the figure is in Mb/s (linux/ethtool.h, ethtool_link_mode_bit_indices).
_MODE = re.compile(r"([0-9]{2,8})base")
_TRUTHS = {"on": True, "yes": True, "off": False, "no": False}


def _parse_settings(text: str) -> Parts:
    """Read the printout without options; the first interface of several counts."""
    interface, key = "", ""
    values: dict[str, str] = {}
    modes: dict[str, list[str]] = {}
    for line in split_lines(text):
        stripped = line.strip()
        if stripped.startswith(_SETTINGS):
            if interface:
                break
            interface = stripped.removeprefix(_SETTINGS).removesuffix(":")
            continue
        name, value = split_pair(stripped)
        if name:
            key = TEXT_KEYS.get(name, "")
            values.setdefault(key, value)
        if key.endswith("-modes"):
            modes.setdefault(key, []).extend(value.split())
    return _make_parts(interface, values, modes)


def _make_parts(name: str, values: Mapping[str, str], modes: Mapping[str, Iterable[str]]) -> Parts:
    """Return an adapter with its interface, if it reports link modes, and facts of its link.

    Values and modes are under the JSON's keys. Facts: ``speed of IFACE`` in bit/s, ``link of
    IFACE`` (``yes``, ``no``), ``link reason of IFACE`` (``No cable``), ``port of IFACE``
    (``FIBRE``).
    """
    link, _, reason = values.get("link-detected", "").partition(" (")
    texts = {"link": link, "link reason": reason.removesuffix(")"), "port": values.get("port", "")}
    facts = make_speed_fact(name, values.get("speed", ""))
    facts |= {f"{key} of {name}": value for key, value in texts.items() if value}
    supported, advertised, partner = (
        _parse_rates(modes.get(key, ())) for key in (SUPPORTED, ADVERTISED, PARTNER)
    )
    if not (supported or advertised or partner):
        return Parts(facts=facts)
    negotiates = _TRUTHS.get(values.get("auto-negotiation", ""))
    duplex = values.get("duplex", "")
    link_modes = LinkModes(
        supported, advertised, partner,
        Skipped(f"ethtool does not give it for {name}") if negotiates is None else negotiates,
        duplex.lower() if duplex.lower() in ("full", "half")
        else Skipped(f"{name} has duplex {duplex[:40]!r}"),
    )  # fmt: skip
    adapter = make_adapter(TOOL, "", interfaces=(name,) if name else (), modes=link_modes)
    return Parts(adapters=(adapter,), facts=facts)


def _parse_rates(modes: Iterable[str]) -> tuple[float, ...]:
    matches = map(_MODE.match, modes)
    return tuple(sorted({float(match[1]) * 1e6 for match in matches if match}))


def _parse_pause(text: str) -> Parts:
    """Return ``rx on tx off``: the negotiated values if given, else the settings."""
    heads = (line.strip() for line in split_lines(text) if line.strip().startswith(_PAUSE))
    names = (head.removeprefix(_PAUSE).removesuffix(":") for head in heads)
    values = parse_pairs(text, ":")
    rx, tx = (
        values.get(f"{direction} negotiated") or values.get(direction, "")
        for direction in ("RX", "TX")
    )
    return _make_pause_fact(next(filter(None, names), ""), rx, tx)


def _make_pause_fact(interface: str, rx: str, tx: str) -> Parts:
    if not interface or rx not in ("on", "off") or tx not in ("on", "off"):
        return Parts(troubles=(f"ethtool -a: the pause of {interface[:40]!r} is unknown",))
    return Parts(facts={f"pause {interface}": f"rx {rx} tx {tx}"})


def _parse_statistics(text: str, interface: str) -> Parts:
    """Return the fact ``counters of IFACE``, in the form of ``make_counters_fact``."""
    if not interface:
        return Parts(troubles=("ethtool -S: the file's name does not contain the interface",))
    counters = {
        name: int(value)
        for name, value in parse_pairs(text, ":").items()
        if value.isascii() and value.isdigit() and len(value) <= 20
    }
    if not counters:
        return Parts(troubles=(f"ethtool -S: it holds no counter of {interface[:40]!r}",))
    return Parts(facts=make_counters_fact(interface, counters))


def _parse_driver(text: str, interface: str) -> Parts:
    """Return driver, version, firmware and bus; nothing for an interface without an adapter."""
    tool, values = "ethtool -i", parse_pairs(text, ":")
    driver, bus = values.get("driver", ""), values.get("bus-info", "")
    if not bus and driver in DRIVERS_WITHOUT_WIRE:
        return Parts()
    adapter = make_adapter(
        tool, pci.choose_kind("", "", driver), bus=pci.parse_bus(tool, bus), driver=driver,
        driver_version=values.get("version", ""), firmware=values.get("firmware-version", ""),
        interfaces=(interface,) if interface else (),
    )  # fmt: skip
    return Parts(adapters=(adapter,))
