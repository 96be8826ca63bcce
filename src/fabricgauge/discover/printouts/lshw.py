"""``lshw``, ``lshw -class network``, as text or ``-json`` → adapters; pure.

Keys are those of lshw 02.19 (print.cc). Text that was copied from a page has its long values
wrapped: a line without a known key goes on with the value before it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import (
    broken_off,
    is_json,
    lines,
    objects,
    pair,
    table,
    unrecognised,
    word,
    words,
)
from fabricgauge.discover.printouts.parts import Parts, blank_adapter, said
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter

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
        return msgspec.structs.replace(_parts(_json_devices(read.found)), troubles=troubles)
    devices = list(_text_devices(text))
    return msgspec.structs.replace(_parts(devices), troubles=unrecognised(TOOL, text, devices))


class _Device(msgspec.Struct, frozen=True):
    """Values are empty where lshw gave none; ``settings`` is its ``configuration``."""

    bus: str
    description: str
    product: str
    vendor: str
    interfaces: tuple[str, ...]
    size: str
    settings: dict[str, str]


def _json_devices(read: Iterable[dict[str, object]]) -> Iterator[_Device]:
    left: list[object] = []
    left += reversed(tuple(read))
    while left:
        value = left.pop()
        if not isinstance(value, dict):
            continue
        children = value.get("children")
        left += reversed(children) if isinstance(children, list) else []
        if value.get("class") == "network":
            yield _Device(
                bus=word(value.get("businfo")), description=word(value.get("description")),
                product=word(value.get("product")), vendor=word(value.get("vendor")),
                interfaces=tuple(words(value.get("logicalname"))),
                size=_size(value), settings=table(value.get("configuration")),
            )  # fmt: skip


def _size(value: dict[str, object]) -> str:
    size = word(value.get("size"))
    return f"{size}bit/s" if size and value.get("units") == "bit/s" else ""


class _Entry(msgspec.Struct):
    """The lines below one ``*-NAME``; ``depth`` is its indentation."""

    depth: int
    name: str
    values: list[tuple[str, list[str]]] = []

    def all(self, key: str) -> list[str]:
        return [" ".join(pieces) for known, pieces in self.values if known == key]

    def value(self, key: str) -> str:
        return next(iter(self.all(key)), "")


def _text_devices(text: str) -> Iterator[_Device]:
    parent: _Entry | None = None
    for block in _blocks(text):
        if parent is not None and block.depth <= parent.depth:
            parent = None
        if block.name.startswith("network") and parent is None:
            parent = block
        if parent is not None or _is_interface(block):
            yield _Device(
                bus=block.value("bus info"), description=block.value("description"),
                product=block.value("product"), vendor=block.value("vendor"),
                interfaces=tuple(block.all("logical name")), size=block.value("size"),
                settings=settings(block.value("configuration")),
            )  # fmt: skip


def _is_interface(block: _Entry) -> bool:
    return bool(block.all("logical name")) and block.value("description").endswith(" interface")


def _blocks(text: str) -> list[_Entry]:
    found: list[_Entry] = []
    for line in lines(text):
        bare = line.strip()
        if bare.startswith("*-"):
            depth = len(line) - len(line.lstrip())
            found.append(_Entry(depth, bare[2:].partition(" ")[0]))
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


TOOL = "lshw"


def _parts(devices: Iterable[_Device]) -> Parts:
    """Adapters and what is said of their interfaces; virtual devices are left out."""
    real = [device for device in _joined(devices) if device.bus or device.product]
    facts: dict[str, str] = {}
    for device in real:
        facts.update(_facts(device))
    return Parts(adapters=tuple(map(_adapter, real)), facts=facts)


def _joined(devices: Iterable[_Device]) -> list[_Device]:
    """A virtio interface is listed below the PCI device that carries it: both are one."""
    found: list[_Device] = []
    before = ""
    for device in devices:
        if device.bus.startswith("virtio@") and before.startswith("pci@"):
            settings = {**found[-1].settings, **device.settings}
            found[-1] = msgspec.structs.replace(
                found[-1], interfaces=found[-1].interfaces + device.interfaces,
                settings=settings, size=device.size or found[-1].size,
            )  # fmt: skip
        else:
            found.append(device)
        before = device.bus
    return found


def _adapter(device: _Device) -> Adapter:
    settings = device.settings
    driver = settings.get("driver", "")
    product = pci.without_numbers(device.product)
    return blank_adapter(
        TOOL, pci.kind_of(device.description, product, driver),
        bus=_bus(device.bus), vendor=said(TOOL, pci.without_numbers(device.vendor)),
        product=said(TOOL, product), driver=said(TOOL, driver),
        driver_version=said(TOOL, settings.get("driverversion", "")),
        firmware=said(TOOL, settings.get("firmware", "")), interfaces=device.interfaces,
    )  # fmt: skip


def _bus(bus: str) -> str | Skipped:
    found = pci.address(bus.removeprefix("pci@"))
    return found or Skipped(f"lshw gives the bus as {bus[:60]!r}")


def _facts(device: _Device) -> dict[str, str]:
    """Of one interface only: lshw gives a device with several no figures of each."""
    if len(device.interfaces) != 1:
        return {}
    name = device.interfaces[0]
    speed = device.settings.get("speed") or device.size
    rate = figures.bit_rate(speed, "the speed")
    facts = {} if isinstance(rate, Skipped) else {f"speed of {name}": figures.rate_fact(rate)}
    for key in ("link", "ip"):
        if key in device.settings:
            facts[f"{key} of {name}"] = device.settings[key]
    return facts
