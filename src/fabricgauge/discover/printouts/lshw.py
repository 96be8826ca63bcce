"""``lshw``, ``lshw -class network``, as text or ``-json`` → adapters; pure.

Keys are those of lshw 02.19 (print.cc). Text that was copied from a page has its long values
wrapped: a line without a known key goes on with the value before it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import blocks, entries, pair, table, word, words
from fabricgauge.discover.printouts.parts import Parts, blank_adapter, said
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter

TOOL = "lshw"

KEYS = frozenset(
    {"description", "product", "vendor", "physical id", "bus info", "logical name", "version",
     "date", "serial", "slot", "size", "capacity", "width", "clock", "capabilities",
     "configuration", "resources"}
)  # fmt: skip


def parse(text: str, argument: str = "") -> Parts:
    """Adapters with bus, vendor, product, driver, firmware and interfaces.

    Facts: ``speed of IFACE`` in bit/s, ``link of IFACE`` (``yes``), ``ip of IFACE``.
    """
    devices, troubles = entries(TOOL, text, _json_devices, _text_devices)
    real = [device for device in _joined(devices) if device.bus or device.product]  # not virtual
    facts: dict[str, str] = {}
    for device in real:
        facts.update(_facts(device))
    return Parts(adapters=tuple(map(_adapter, real)), facts=facts, troubles=troubles)


class _Device(msgspec.Struct, frozen=True):
    """Values are empty where lshw gave none; ``settings`` is its ``configuration``."""

    bus: str
    description: str
    product: str
    vendor: str
    interfaces: tuple[str, ...]
    size: str
    settings: dict[str, str]


def _json_devices(entry: dict[str, object]) -> Iterator[_Device]:
    left: list[object] = [entry]
    while left:
        value = left.pop()
        if not isinstance(value, dict):
            continue
        children = value.get("children")
        left += reversed(children) if isinstance(children, list) else []
        if value.get("class") == "network":
            size = word(value.get("size"))
            bus, of, product, vendor = (word(value.get(key)) for key in ("businfo", *_NAMES))
            yield _Device(
                bus, of, product, vendor, tuple(words(value.get("logicalname"))),
                f"{size}bit/s" if size and value.get("units") == "bit/s" else "",
                table(value.get("configuration")),
            )  # fmt: skip


_NAMES = ("description", "product", "vendor")


def _text_devices(text: str) -> Iterator[_Device]:
    parent: int | None = None
    for (depth, name), body in blocks(text, _entry):
        if parent is not None and depth <= parent:
            parent = None
        if name.startswith("network") and parent is None:
            parent = depth
        values = _values(body)
        first = {key: found[0] for key, found in values.items()}
        interfaces = tuple(values.get("logical name", ()))
        is_interface = interfaces and first.get("description", "").endswith(" interface")
        if parent is not None or is_interface:
            bus, of, product, vendor = (first.get(key, "") for key in ("bus info", *_NAMES))
            known = settings(first.get("configuration", ""))
            yield _Device(bus, of, product, vendor, interfaces, first.get("size", ""), known)


def _entry(line: str) -> tuple[int, str] | None:
    """Indentation and name of ``*-network:0``."""
    bare = line.strip()
    if not bare.startswith("*-"):
        return None
    return len(line) - len(line.lstrip()), bare[2:].partition(" ")[0]


def _values(body: str) -> dict[str, list[str]]:
    """By key every value; a line without a known key goes on with the one before it."""
    pieces: list[tuple[str, list[str]]] = []
    for line in filter(None, map(str.strip, body.split("\n"))):
        key, value = pair(line)
        if key in KEYS:
            pieces.append((key, [value]))
        elif pieces:
            pieces[-1][1].append(line)
    found: dict[str, list[str]] = {}
    for key, told in pieces:
        found.setdefault(key, []).append(" ".join(told))
    return found


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
