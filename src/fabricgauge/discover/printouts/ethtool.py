"""``ethtool IFACE``, ``-i IFACE``, ``-a IFACE``, ``-S IFACE``, as text or ``--json``; pure.

As ethtool 6.1 prints them; the JSON of the settings after ethtool 6.10 (netlink/settings.c).
The printout itself tells which of the four it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from fabricgauge.discover.parse_probe import WITHOUT_A_WIRE
from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import entries, lines, pair, pairs, word, words
from fabricgauge.discover.printouts.parts import Parts, blank_adapter
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import LinkModes

TOOL = "ethtool"

#: What other options print; read elsewhere or not at all.
_OTHERS = ("Features for", "Coalesce parameters", "Ring parameters", "Channel")
_SETTINGS, _PAUSE, _STATISTICS = "Settings for ", "Pause parameters for ", "NIC statistics"
_HEADS = (_SETTINGS, _PAUSE, _STATISTICS, "driver:", *_OTHERS)


def parse(text: str, argument: str = "") -> Parts:
    """What one of the four says of one interface.

    ``argument`` ends with the interface's name: ``eth0``, ``-i eth0``. ``-i`` and ``-S`` need it.
    """

    def of_text(text: str) -> Iterator[Parts]:
        head = next((line for line in lines(text) if line.startswith(_HEADS)), "")
        if head.startswith(_SETTINGS):
            yield _settings(text)
        elif head.startswith(_PAUSE):
            yield _pause(text)
        elif head.startswith("driver:"):
            yield _driver(text, argument.rpartition(" ")[2])
        elif head.startswith(_STATISTICS):
            yield _statistics(text, argument.rpartition(" ")[2])
        elif head:
            yield Parts()

    found, troubles = entries(TOOL, text, _of_object, of_text)
    return found[0] if found else Parts(troubles=troubles)


def _of_object(entry: Mapping[str, object]) -> Iterator[Parts]:
    """``speed`` is a number of Mb/s there."""
    name = word(entry.get("ifname"))
    if "rx" in entry and "tx" in entry:
        negotiated = entry.get("negotiated")
        chosen = negotiated if isinstance(negotiated, dict) else entry
        rx, tx = ({"yes": "on", "no": "off"}.get(word(chosen.get(way)), "") for way in ("rx", "tx"))
        yield _pause_fact(name, rx, tx)
    elif name:
        values = {key: word(entry.get(key)) for key in TEXT_KEYS.values()}
        values["speed"] += "Mb/s" if values["speed"] else ""
        modes = {key: [*words(entry[key])] for key in entry if key.endswith("-link-modes")}
        yield _settings_parts(name, values, modes)


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


def _settings(text: str) -> Parts:
    """Of the printout without options; the first interface of several counts."""
    interface, key = "", ""
    values: dict[str, str] = {}
    modes: dict[str, list[str]] = {}
    for line in lines(text):
        bare = line.strip()
        if bare.startswith(_SETTINGS):
            if interface:
                break
            interface = bare.removeprefix(_SETTINGS).removesuffix(":")
            continue
        name, value = pair(bare)
        if name:
            key = TEXT_KEYS.get(name, "")
            values.setdefault(key, value)
        if key.endswith("-modes"):
            modes.setdefault(key, []).extend(value.split())
    return _settings_parts(interface, values, modes)


def _settings_parts(
    name: str, values: Mapping[str, str], modes: Mapping[str, Iterable[str]]
) -> Parts:
    """An adapter known by its interface, if it reports link modes, and facts of its link.

    Values and modes are under the JSON's keys. Facts: ``speed of IFACE`` in bit/s, ``link of
    IFACE`` (``yes``, ``no``), ``link reason of IFACE`` (``No cable``), ``port of IFACE``
    (``FIBRE``).
    """
    link, _, reason = values.get("link-detected", "").partition(" (")
    told = {"link": link, "link reason": reason.removesuffix(")"), "port": values.get("port", "")}
    facts = figures.speed_fact(name, values.get("speed", ""))
    facts |= {f"{key} of {name}": value for key, value in told.items() if value}
    able, offered, heard = (
        tuple(sorted({float(one[1]) * 1e6 for one in map(_MODE.match, modes.get(key, ())) if one}))
        for key in (SUPPORTED, ADVERTISED, PARTNER)
    )
    if not (able or offered or heard):
        return Parts(facts=facts)
    truth = _TRUTHS.get(values.get("auto-negotiation", ""))
    duplex = values.get("duplex", "")
    known = LinkModes(
        able, offered, heard,
        Skipped(f"ethtool does not say it of {name}") if truth is None else truth,
        duplex.lower() if duplex.lower() in ("full", "half")
        else Skipped(f"{name} has duplex {duplex[:40]!r}"),
    )  # fmt: skip
    adapter = blank_adapter(TOOL, "", interfaces=(name,) if name else (), modes=known)
    return Parts(adapters=(adapter,), facts=facts)


def _pause(text: str) -> Parts:
    """``rx on tx off``: what both ends agreed on where that is told, else what is set."""
    heads = (line.strip() for line in lines(text) if line.strip().startswith(_PAUSE))
    names = (head.removeprefix(_PAUSE).removesuffix(":") for head in heads)
    found = pairs(text, ":")
    rx, tx = (found.get(f"{way} negotiated") or found.get(way, "") for way in ("RX", "TX"))
    return _pause_fact(next(filter(None, names), ""), rx, tx)


def _pause_fact(interface: str, rx: str, tx: str) -> Parts:
    if not interface or rx not in ("on", "off") or tx not in ("on", "off"):
        return Parts(troubles=(f"ethtool -a: the pause of {interface[:40]!r} is not told",))
    return Parts(facts={f"pause {interface}": f"rx {rx} tx {tx}"})


def _statistics(text: str, interface: str) -> Parts:
    """Fact ``counters of IFACE``, as ``counters_fact`` has it."""
    if not interface:
        return Parts(troubles=("ethtool -S: the name of the file does not tell the interface",))
    counted = {
        name: int(value)
        for name, value in pairs(text, ":").items()
        if value.isascii() and value.isdigit() and len(value) <= 20
    }
    if not counted:
        return Parts(troubles=(f"ethtool -S: it holds no counter of {interface[:40]!r}",))
    return Parts(facts=figures.counters_fact(interface, counted))


def _driver(text: str, interface: str) -> Parts:
    """Driver, version, firmware, bus; nothing for an interface that no adapter is behind."""
    tool, values = "ethtool -i", pairs(text, ":")
    driver, bus = values.get("driver", ""), values.get("bus-info", "")
    if not bus and driver in WITHOUT_A_WIRE:
        return Parts()
    adapter = blank_adapter(
        tool, pci.kind_of("", "", driver), bus=pci.bus(tool, bus), driver=driver,
        driver_version=values.get("version", ""), firmware=values.get("firmware-version", ""),
        interfaces=(interface,) if interface else (),
    )  # fmt: skip
    return Parts(adapters=(adapter,))
