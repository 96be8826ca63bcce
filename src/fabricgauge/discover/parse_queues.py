"""``tc qdisc show``, as JSON or as text → token buckets by interface; pure."""

import re

import msgspec

from fabricgauge.discover.parse_links import Number
from fabricgauge.discover.sections import LARGEST_NUMBER, Section
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Shaper

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


def shapers_from_json(section: Section) -> dict[str, Shaper]:
    """Token buckets by the name of their interface; the slowest of several counts.

    Raises:
        ProbeError: not the JSON that tc prints.
    """
    try:
        raw = msgspec.json.decode(section.json, type=tuple[dict[str, object], ...])
        found = [msgspec.convert(entry, _JsonQueue) for entry in raw if entry.get("kind") == "tbf"]
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeEncodeError) as error:
        raise section.error(f"not what tc -j prints: {error}") from error
    return _slowest(
        [
            (queue.dev, Shaper(queue.options.rate * 8.0, queue.options.burst))
            for queue in found
            if queue.options.rate
        ]
    )


_TBF = re.compile(
    r"qdisc tbf \S+ dev (\S+) .*?\brate (\d{1,12}(?:\.\d{1,6})?)([KMGT]?bit)"
    r" burst (\d{1,12}(?:\.\d{1,6})?)([KMG]?b)\b"
)


_TBF_OF = re.compile(r"qdisc tbf \S+ dev (\S+) ")


def shapers_from_text(section: Section) -> dict[str, Shaper | Skipped]:
    """As shapers_from_json, from the text form.

    The tc of busybox shows that there is a token bucket, but not its rate.

    Raises:
        ProbeError: a line of a token bucket that names no interface.
    """
    found = []
    unknown: dict[str, Shaper | Skipped] = {}
    for offset, line in enumerate(section.lines):
        if not line.startswith("qdisc tbf "):
            continue
        owner, match = _TBF_OF.match(line), _TBF.match(line)
        if owner is None:
            raise section.error(f"a token bucket of no interface: {line!r:.80}", offset)
        if match is None:
            where = f"{section.node}:{owner.group(1)}"
            unknown[owner.group(1)] = Skipped(f"{where} has a token bucket of unknown rate")
            continue
        name, rate, rate_unit, burst, burst_unit = match.groups()
        rate_bit_s = min(float(rate) * RATE_UNITS[rate_unit], 8.0 * LARGEST_NUMBER)
        found.append((name, Shaper(rate_bit_s, int(float(burst) * SIZE_UNITS[burst_unit]))))
    return {**unknown, **_slowest(found)}


def _slowest(found: list[tuple[str, Shaper]]) -> dict[str, Shaper]:
    by_name: dict[str, Shaper] = {}
    for name, shaper in found:
        known = by_name.get(name)
        if known is None or shaper.rate_bit_s < known.rate_bit_s:
            by_name[name] = shaper
    return by_name
