"""``ethtool IFACE``, ``ethtool -i IFACE``, ``ethtool -a IFACE``, as text or ``--json``; pure.

As ethtool 6.1 prints them; the JSON of the settings after ethtool 6.10 (netlink/settings.c).
The printout itself tells which of the three it is.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.discover.parse_probe import WITHOUT_A_WIRE
from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import (
    broken_off,
    is_json,
    lines,
    objects,
    pair,
    unrecognised,
    word,
    words,
)
from fabricgauge.discover.printouts.parts import Parts, blank_adapter, said
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import LinkModes

TOOL = "ethtool"

#: What other options print; read elsewhere or not at all.
_OTHERS = ("Features for", "NIC statistics", "Coalesce parameters", "Ring parameters", "Channel")
_HEADS = ("Settings for ", "Pause parameters for ", "driver:", *_OTHERS)


def parse(text: str, argument: str = "") -> Parts:
    """What one of the three says of one interface.

    ``argument`` ends with the interface's name: ``eth0``, ``-i eth0``. Only ``-i`` needs it.
    """
    if is_json(text):
        return _of_json(text)
    first = next((line for line in lines(text) if line.startswith(_HEADS)), "")
    if first.startswith("Settings for "):
        return _settings(text)
    if first.startswith("Pause parameters for "):
        return _pause(text)
    if first.startswith("driver:"):
        return _driver(text, argument.rpartition(" ")[2])
    return Parts(troubles=unrecognised(TOOL, text, first))


def _of_json(text: str) -> Parts:
    read = objects(text)
    for entry in read.found:
        if "rx" in entry and "tx" in entry:
            return _json_pause(entry)
        if word(entry.get("ifname")):
            return _json_settings(entry)
    return Parts(troubles=broken_off(TOOL, read.whole))


_SETTINGS_TOOL = "ethtool"
_SETTINGS_HEAD = "Settings for "
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


class _PortSettings(msgspec.Struct, frozen=True):
    """One interface's settings under the JSON's keys; ``modes`` are the three lists."""

    interface: str
    values: dict[str, str]
    modes: dict[str, tuple[str, ...]]


def _settings(text: str) -> Parts:
    """Of the printout without options; the first interface of several counts."""
    interface, key = "", ""
    values: dict[str, str] = {}
    modes: dict[str, list[str]] = {}
    for line in lines(text):
        bare = line.strip()
        if bare.startswith(_SETTINGS_HEAD):
            if interface:
                break
            interface = bare.removeprefix(_SETTINGS_HEAD).removesuffix(":")
            continue
        name, value = pair(bare)
        if name:
            key = TEXT_KEYS.get(name, "")
            values.setdefault(key, value)
        if key.endswith("-modes"):
            modes.setdefault(key, []).extend(value.split())
    lists = {name: tuple(found) for name, found in modes.items()}
    return _settings_parts(_PortSettings(interface, values, lists))


def _json_settings(entry: Mapping[str, object]) -> Parts:
    """Of one interface's object; ``speed`` is a number of Mb/s there."""
    values = {key: word(entry.get(key)) for key in TEXT_KEYS.values()}
    modes = {key: tuple(words(entry[key])) for key in entry if key.endswith("-link-modes")}
    if values["speed"]:
        values["speed"] += "Mb/s"
    return _settings_parts(_PortSettings(word(entry.get("ifname")), values, modes))


def _settings_parts(settings: _PortSettings) -> Parts:
    """An adapter known by its interface, if it reports link modes, and facts of its link.

    Facts: ``speed of IFACE`` in bit/s, ``link of IFACE`` (``yes``, ``no``), ``link reason of
    IFACE`` (``No cable``), ``port of IFACE`` (``FIBRE``).
    """
    values, name = settings.values, settings.interface
    lists = [_rates(settings.modes.get(key, ())) for key in (SUPPORTED, ADVERTISED, PARTNER)]
    if not any(lists):
        return Parts(facts=_settings_facts(name, values))
    truth = _TRUTHS.get(values.get("auto-negotiation", ""))
    modes = LinkModes(
        lists[0],
        lists[1],
        lists[2],
        Skipped(f"ethtool does not say it of {name}") if truth is None else truth,
        _duplex(values.get("duplex", ""), name),
    )
    adapter = blank_adapter(_SETTINGS_TOOL, "", interfaces=(name,) if name else (), modes=modes)
    return Parts(adapters=(adapter,), facts=_settings_facts(name, values))


def _rates(modes: Iterable[str]) -> tuple[float, ...]:
    found = (_MODE.match(mode) for mode in modes)
    return tuple(sorted({float(one[1]) * 1e6 for one in found if one}))


def _duplex(text: str, name: str) -> str | Skipped:
    known = text.lower()
    return known if known in ("full", "half") else Skipped(f"{name} has duplex {text[:40]!r}")


def _settings_facts(name: str, values: Mapping[str, str]) -> dict[str, str]:
    speed = figures.bit_rate(values.get("speed", ""), "the speed")
    facts = {} if isinstance(speed, Skipped) else {f"speed of {name}": figures.rate_fact(speed)}
    link, _, reason = values.get("link-detected", "").partition(" (")
    told = {"link": link, "link reason": reason.removesuffix(")"), "port": values.get("port", "")}
    return {**facts, **{f"{key} of {name}": value for key, value in told.items() if value}}


_PAUSE_TOOL = "ethtool -a"
_PAUSE_HEAD = "Pause parameters for "
_OF_JSON = {"yes": "on", "no": "off"}


def _pause(text: str) -> Parts:
    """``rx on tx off``: what both ends agreed on where that is told, else what is set."""
    interface = ""
    found: dict[str, str] = {}
    for line in lines(text):
        bare = line.strip()
        if bare.startswith(_PAUSE_HEAD):
            interface = interface or bare.removeprefix(_PAUSE_HEAD).removesuffix(":")
        else:
            key, value = pair(bare)
            found.setdefault(key, value)
    rx, tx = (found.get(f"{way} negotiated") or found.get(way, "") for way in ("RX", "TX"))
    return _pause_fact(interface, rx, tx)


def _json_pause(entry: Mapping[str, object]) -> Parts:
    negotiated = entry.get("negotiated")
    chosen = negotiated if isinstance(negotiated, dict) else entry
    rx, tx = (_OF_JSON.get(word(chosen.get(way)), "") for way in ("rx", "tx"))
    return _pause_fact(word(entry.get("ifname")), rx, tx)


def _pause_fact(interface: str, rx: str, tx: str) -> Parts:
    if not interface or rx not in ("on", "off") or tx not in ("on", "off"):
        return Parts(troubles=(f"{_PAUSE_TOOL}: the pause of {interface[:40]!r} is not told",))
    return Parts(facts={f"pause {interface}": f"rx {rx} tx {tx}"})


_DRIVER_TOOL = "ethtool -i"


def _driver(text: str, interface: str) -> Parts:
    """Driver, version, firmware, bus; nothing for an interface that no adapter is behind."""
    values: dict[str, str] = {}
    for line in lines(text):
        key, value = pair(line)
        values.setdefault(key, value)
    driver, bus = values.get("driver", ""), values.get("bus-info", "")
    if not bus and driver in WITHOUT_A_WIRE:
        return Parts()
    return Parts(
        adapters=(
            blank_adapter(
                _DRIVER_TOOL,
                pci.kind_of("", "", driver),
                bus=pci.address(bus) or Skipped(f"ethtool -i gives the bus as {bus[:60]!r}"),
                driver=said(_DRIVER_TOOL, driver),
                driver_version=said(_DRIVER_TOOL, values.get("version", "")),
                firmware=said(_DRIVER_TOOL, values.get("firmware-version", "")),
                interfaces=(interface,) if interface else (),
            ),
        )
    )
