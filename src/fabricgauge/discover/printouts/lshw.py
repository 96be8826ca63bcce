"""``lshw``, ``lshw -class network``, as text or ``-json`` → adapters; pure.

Keys are those of lshw 02.19 (print.cc). Text that was copied from a page has its long values
wrapped: a line without a known key goes on with the value before it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts.json_documents import is_json, objects, table, word, words
from fabricgauge.discover.printouts.lines import broken_off, lines, pair, unrecognised
from fabricgauge.discover.printouts.lshw_device import TOOL, Device, parts

KEYS = frozenset(
    {"description", "product", "vendor", "physical id", "bus info", "logical name", "version",
     "date", "serial", "slot", "size", "capacity", "width", "clock", "capabilities",
     "configuration", "resources"}
)  # fmt: skip


def parse(text: str, argument: str = "") -> Parts:
    """Adapters with bus, vendor, product, driver, firmware and interfaces.

    Facts: ``speed of IFACE`` in bit/s, ``link of IFACE`` (``yes``), ``ip of IFACE``.
    """
    if is_json(text):
        read = objects(text)
        troubles = broken_off(TOOL, read.whole)
        return msgspec.structs.replace(parts(_json_devices(read.found)), troubles=troubles)
    devices = list(_text_devices(text))
    return msgspec.structs.replace(parts(devices), troubles=unrecognised(TOOL, text, devices))


def _json_devices(read: Iterable[dict[str, object]]) -> Iterator[Device]:
    left: list[object] = []
    left += reversed(tuple(read))
    while left:
        value = left.pop()
        if not isinstance(value, dict):
            continue
        children = value.get("children")
        left += reversed(children) if isinstance(children, list) else []
        if value.get("class") == "network":
            yield Device(
                bus=word(value.get("businfo")), description=word(value.get("description")),
                product=word(value.get("product")), vendor=word(value.get("vendor")),
                interfaces=tuple(words(value.get("logicalname"))),
                size=_size(value), settings=table(value.get("configuration")),
            )  # fmt: skip


def _size(value: dict[str, object]) -> str:
    size = word(value.get("size"))
    return f"{size}bit/s" if size and value.get("units") == "bit/s" else ""


class _Block(msgspec.Struct):
    """The lines below one ``*-NAME``; ``depth`` is its indentation."""

    depth: int
    name: str
    values: list[tuple[str, list[str]]] = []

    def all(self, key: str) -> list[str]:
        return [" ".join(pieces) for known, pieces in self.values if known == key]

    def value(self, key: str) -> str:
        return next(iter(self.all(key)), "")


def _text_devices(text: str) -> Iterator[Device]:
    parent: _Block | None = None
    for block in _blocks(text):
        if parent is not None and block.depth <= parent.depth:
            parent = None
        if block.name.startswith("network") and parent is None:
            parent = block
        if parent is not None or _is_interface(block):
            yield Device(
                bus=block.value("bus info"), description=block.value("description"),
                product=block.value("product"), vendor=block.value("vendor"),
                interfaces=tuple(block.all("logical name")), size=block.value("size"),
                settings=settings(block.value("configuration")),
            )  # fmt: skip


def _is_interface(block: _Block) -> bool:
    return bool(block.all("logical name")) and block.value("description").endswith(" interface")


def _blocks(text: str) -> list[_Block]:
    found: list[_Block] = []
    for line in lines(text):
        bare = line.strip()
        if bare.startswith("*-"):
            depth = len(line) - len(line.lstrip())
            found.append(_Block(depth, bare[2:].partition(" ")[0]))
        elif found and bare:
            _add(found[-1].values, bare)
    return found


def _add(values: list[tuple[str, list[str]]], line: str) -> None:
    key, value = pair(line)
    if key in KEYS:
        values.append((key, [value]))
    elif values:
        values[-1][1].append(line)


def settings(configuration: str) -> dict[str, str]:
    """``driver=i40e firmware=5.04 0x8000253b latency=0``: a word without ``=`` goes on."""
    found: dict[str, list[str]] = {}
    key = ""
    for piece in configuration.split():
        name, middle, value = piece.partition("=")
        if middle and name.isascii() and name.replace("-", "").isalpha() and name not in found:
            key = name
            found[key] = [value]
        elif key:
            found[key].append(piece)
    return {name: " ".join(pieces) for name, pieces in found.items()}
