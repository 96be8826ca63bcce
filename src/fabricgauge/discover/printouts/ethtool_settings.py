"""``ethtool IFACE`` → what the port can, offers, hears and has agreed on; pure."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, partial
from fabricgauge.discover.printouts.json_documents import word, words
from fabricgauge.discover.printouts.lines import lines, pair
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import LinkModes

TOOL = "ethtool"
_HEAD = "Settings for "
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


class Settings(msgspec.Struct, frozen=True):
    """One interface's settings under the JSON's keys; ``modes`` are the three lists."""

    interface: str
    values: dict[str, str]
    modes: dict[str, tuple[str, ...]]


def of_text(text: str) -> Parts:
    """Of the printout without options; the first interface of several counts."""
    interface, key = "", ""
    values: dict[str, str] = {}
    modes: dict[str, list[str]] = {}
    for line in lines(text):
        bare = line.strip()
        if bare.startswith(_HEAD):
            if interface:
                break
            interface = bare.removeprefix(_HEAD).removesuffix(":")
            continue
        name, value = pair(bare)
        if name:
            key = TEXT_KEYS.get(name, "")
            values.setdefault(key, value)
        if key.endswith("-modes"):
            modes.setdefault(key, []).extend(value.split())
    lists = {name: tuple(found) for name, found in modes.items()}
    return parts(Settings(interface, values, lists))


def of_json(entry: Mapping[str, object]) -> Parts:
    """Of one interface's object; ``speed`` is a number of Mb/s there."""
    values = {key: word(entry.get(key)) for key in TEXT_KEYS.values()}
    modes = {key: tuple(words(entry[key])) for key in entry if key.endswith("-link-modes")}
    if values["speed"]:
        values["speed"] += "Mb/s"
    return parts(Settings(word(entry.get("ifname")), values, modes))


def parts(settings: Settings) -> Parts:
    """An adapter known by its interface, if it reports link modes, and facts of its link.

    Facts: ``speed of IFACE`` in bit/s, ``link of IFACE`` (``yes``, ``no``), ``link reason of
    IFACE`` (``No cable``), ``port of IFACE`` (``FIBRE``).
    """
    values, name = settings.values, settings.interface
    lists = [_rates(settings.modes.get(key, ())) for key in (SUPPORTED, ADVERTISED, PARTNER)]
    if not any(lists):
        return Parts(facts=_facts(name, values))
    truth = _TRUTHS.get(values.get("auto-negotiation", ""))
    modes = LinkModes(
        lists[0],
        lists[1],
        lists[2],
        Skipped(f"ethtool does not say it of {name}") if truth is None else truth,
        _duplex(values.get("duplex", ""), name),
    )
    adapter = msgspec.structs.replace(
        partial.adapter(TOOL, ""), interfaces=(name,) if name else (), modes=modes
    )
    return Parts(adapters=(adapter,), facts=_facts(name, values))


def _rates(modes: Iterable[str]) -> tuple[float, ...]:
    found = (_MODE.match(mode) for mode in modes)
    return tuple(sorted({float(one[1]) * 1e6 for one in found if one}))


def _duplex(text: str, name: str) -> str | Skipped:
    known = text.lower()
    return known if known in ("full", "half") else Skipped(f"{name} has duplex {text[:40]!r}")


def _facts(name: str, values: Mapping[str, str]) -> dict[str, str]:
    speed = figures.bit_rate(values.get("speed", ""), "the speed")
    facts = {} if isinstance(speed, Skipped) else {f"speed of {name}": figures.rate_fact(speed)}
    link, _, reason = values.get("link-detected", "").partition(" (")
    told = {"link": link, "link reason": reason.removesuffix(")"), "port": values.get("port", "")}
    return {**facts, **{f"{key} of {name}": value for key, value in told.items() if value}}
