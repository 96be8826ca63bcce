"""Parse lines, blocks, pairs, JSON and figures of printouts into one source's part of an inventory.

Text that is not understood becomes a trouble or a ``Skipped`` that quotes it; figures are bounded
and finite. A field that a tool leaves out is ``Skipped`` with the tool's name. An empty ``kind``,
``link_layer`` or ``protocol`` means that the tool does not give it; merging takes another source's.
A part is identified by its bus, or else by its interfaces or RDMA devices.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort
from fabricgauge.model.inventory import Parts as Parts
from fabricgauge.model.words.port_counters import kind_of

_T = TypeVar("_T")

#: A rate, size or index above this is not a fact about a machine (10^15 bit/s is 1 Pb/s).
LARGEST_NUMBER = 10**15

#: Limits the troubles of a printout of another tool, of which every line is one.
MAX_TROUBLES = 20
_MAX_QUOTE = 80


def split_lines(text: str) -> list[str]:
    """Split at line feeds only, so that numbers are those of an editor; drop carriage returns."""
    lines = text.split("\n")
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def split_pair(line: str) -> tuple[str, str]:
    """Split ``KEY: VALUE`` and strip both; the key is "" if there is no colon."""
    key, separator, value = line.partition(":")
    return (key.strip(), value.strip()) if separator else ("", line.strip())


def parse_pairs(text: str, separator: str = ": ") -> dict[str, str]:
    """Read ``KEY separator VALUE`` lines; the first of two equal keys counts."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, middle, value = line.partition(separator)
        if middle:
            values.setdefault(key.strip(), value.strip())
    return values


def split_blocks(text: str, parse_head: Callable[[str], _T | None]) -> list[tuple[_T, str]]:
    """Return the head of each block, as ``parse_head`` reads it, with the lines below it."""
    blocks: list[tuple[_T, list[str]]] = []
    for line in split_lines(text):
        if head := parse_head(line):
            blocks.append((head, []))
        elif blocks:
            blocks[-1][1].append(line)
    return [(head, "\n".join(body)) for head, body in blocks]


def describe_trouble(tool: str, number: int, problem: str, line: str) -> str:
    """Return a sentence on line ``number`` of a tool's printout."""
    return f"{tool}: line {number}: {problem}: {line.strip()[:_MAX_QUOTE]!r}"


def report_unrecognised(tool: str, text: str, recognised: object) -> tuple[str, ...]:
    """Return one trouble if nothing was ``recognised`` although the tool printed something."""
    if recognised:
        return ()
    filled = ((number, line) for number, line in enumerate(split_lines(text), 1) if line.strip())
    return tuple(
        describe_trouble(tool, number, f"not a line of {tool}", line)
        for number, line in islice(filled, 1)
    )


#: Old lshw prints neither brackets nor, in places, commas; a list that was cut off loses its end.
_BETWEEN = re.compile(r"[\s,\[\]]*")
_decode = json.JSONDecoder().raw_decode


def decode_objects(text: str) -> tuple[list[dict[str, object]], bool]:
    """Return the objects up to the first other text, and whether that is the text's end."""
    objects: list[dict[str, object]] = []
    position = 0
    while (position := _skip_separators(text, position)) < len(text):
        try:
            value, position = _decode(text, position)
        except (ValueError, RecursionError):
            return objects, False
        if isinstance(value, dict):
            objects.append(value)
    return objects, True


def _skip_separators(text: str, position: int) -> int:
    separators = _BETWEEN.match(text, position)
    return separators.end() if separators else position


def parse_entries(
    tool: str,
    text: str,
    parse_object: Callable[[dict[str, object]], Iterable[_T]],
    parse_text: Callable[[str], Iterable[_T]],
) -> tuple[list[_T], tuple[str, ...]]:
    """Return a tool's entries from JSON or text, and a trouble if it breaks off or has none."""
    if text.lstrip()[:1] not in ("[", "{"):
        entries = list(parse_text(text))
        return entries, report_unrecognised(tool, text, entries)
    objects, is_complete = decode_objects(text)
    troubles = () if is_complete else (f"{tool}: its JSON breaks off; the part before was read",)
    return [entry for decoded in objects for entry in parse_object(decoded)], troubles


def to_word(value: object) -> str:
    """Return a string, whole number or truth as text, "" for every other value.

    Half a surrogate pair, which JSON can escape but UTF-8 cannot hold, becomes ``?``.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


def list_words(value: object) -> Iterator[str]:
    return filter(None, map(to_word, value if isinstance(value, list) else [value]))


def to_table(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {to_word(key): to_word(entry) for key, entry in value.items() if to_word(entry)}


_WHOLE = re.compile(r"[0-9]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,16})?")
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})")

#: lshw writes these before "bit/s"; powers of ten.
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BIT_RATE = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,6})?) ?([kKMGT]?)(?:bit/s|b/s|b)")


def skip_unread(text: str, label: str) -> Skipped:
    """Return the reason why a value is unknown: the tool left it out, or wrote other text."""
    return Skipped(f"{label} is given as {text[:60]!r}" if text else f"{label} is not given")


def parse_whole(text: str, label: str, largest: int = LARGEST_NUMBER) -> int | Skipped:
    """Read a whole decimal number from 0 to ``largest``."""
    value = int(text) if _WHOLE.fullmatch(text) else largest + 1
    return value if value <= largest else skip_unread(text, label)


def parse_number(text: str, label: str, unit: float = 1.0) -> float | Skipped:
    """Read a decimal number that is not negative, times ``unit``."""
    value = float(text) * unit if _DECIMAL.fullmatch(text) else math.inf
    return value if value <= LARGEST_NUMBER else skip_unread(text, label)


def parse_hex(text: str, label: str) -> int | Skipped:
    """Read a LID or mask such as ``0x0000000d``."""
    match = _HEX.fullmatch(text)
    value = int(match[1], 16) if match else LARGEST_NUMBER + 1
    return value if value <= LARGEST_NUMBER else skip_unread(text, label)


def parse_bit_rate(text: str, label: str) -> float | Skipped:
    """Read ``10Gbit/s``, ``40000Mb/s``, ``25Gb`` as bit/s."""
    match = _BIT_RATE.fullmatch(text)
    return parse_number(match[1], label, PREFIXES[match[2]]) if match else skip_unread(text, label)


def make_speed_fact(interface: str, text: str) -> dict[str, str]:
    """Return ``speed of IFACE`` in whole bit/s, without an exponent; empty without a rate."""
    rate = parse_bit_rate(text, "the speed")
    return {} if isinstance(rate, Skipped) else {f"speed of {interface}": f"{rate:.0f}"}


#: A driver may have a counter for each of some hundred queues: the largest ones are kept.
MAX_COUNTERS = 64


def make_counters_fact(name: str, counters: Mapping[str, int]) -> dict[str, str]:
    """Return ``counters of NAME``: errors and drops above 0, as ``NAME=VALUE``, or ``none``."""
    nonzero = {
        key: value
        for key, value in counters.items()
        if value and kind_of(key) in ("errors", "drops")
    }
    largest = sorted(nonzero, key=lambda key: -nonzero[key])[:MAX_COUNTERS]
    text = " ".join(f"{key}={nonzero[key]}" for key in nonzero if key in largest and " " not in key)
    return {f"counters of {name}": text or "none"}


def parse_guid(text: str, label: str) -> str | Skipped:
    """Read a GUID as ``0x`` and 16 digits, in any grouping; zeros are not a GUID."""
    digits = text.strip()[:40].replace(":", "").lower().removeprefix("0x")
    if not _HEX.fullmatch(digits) or not digits.strip("0"):
        return skip_unread(text, label)
    return f"0x{digits:0>16}"


#: Words for no value: lshw's, ethtool's, fi_info's.
_NO_VALUE = ("N/A", "n/a", "(null)")


def make_adapter(tool: str, kind: str, **fields: Any) -> Adapter:
    """Return an adapter with only these fields; texts may be empty, see ``read_text``."""
    absent = Skipped(f"{tool} does not give it")
    blank = Adapter(
        absent, absent, absent, kind, absent, absent, absent, absent, absent, absent,
        modes=Skipped(f"{tool} does not give the link modes"),
        lane_mode=Skipped(f"{tool} does not give the lane mode"),
    )  # fmt: skip
    values = {
        name: read_text(tool, value) if isinstance(value, str) else value
        for name, value in fields.items()
    }
    return msgspec.structs.replace(blank, **values)


def make_port(tool: str, device: str, number: int, **fields: Any) -> RdmaPort:
    absent = Skipped(f"{tool} does not give it")
    blank = RdmaPort(
        device, number, "", "", absent, absent, absent, absent, (), (), absent, (), (),
        absent, absent, absent, absent, absent,
    )  # fmt: skip
    return msgspec.structs.replace(blank, **fields)


def read_text(tool: str, text: str) -> str | Skipped:
    """Read a value that a tool may leave empty or fill with a word for no value."""
    if not text:
        return Skipped(f"{tool} does not give it")
    return Skipped(f"{tool} gives it as {text}") if text in _NO_VALUE else text
