"""``lshw``, ``lshw -class network``, as text or ``-json`` → adapters; pure.

Keys are those of lshw 02.19 (print.cc). Text that was copied from a page has its long values
wrapped: a line without a known key goes on with the value before it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import blocks, entries, pair, table, words
from fabricgauge.discover.printouts.parts import Parts, blank_adapter
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
    joined = _joined(devices)  # virtual ones have neither
    real = [one for one in joined if one.get("bus info") or one.get("product")]
    facts: dict[str, str] = {}
    for device in real:
        facts.update(_facts(device))
    return Parts(adapters=tuple(map(_adapter, real)), facts=facts, troubles=troubles)


class _Device(msgspec.Struct, frozen=True):
    """``values`` are by the text's keys; ``settings`` is its ``configuration``."""

    values: dict[str, str]
    interfaces: tuple[str, ...]
    settings: dict[str, str]

    def get(self, key: str) -> str:
        return self.values.get(key, "")


def _json_devices(entry: dict[str, object]) -> Iterator[_Device]:
    left: list[object] = [entry]
    while left:
        value = left.pop()
        if not isinstance(value, dict):
            continue
        children = value.get("children")
        left += reversed(children) if isinstance(children, list) else []
        if value.get("class") == "network":
            values = table(value)
            is_rate = value.get("units") == "bit/s" and "size" in values
            values["size"] = f"{values['size']}bit/s" if is_rate else ""
            values["bus info"] = values.get("businfo", "")
            interfaces = tuple(words(value.get("logicalname")))
            yield _Device(values, interfaces, table(value.get("configuration")))


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
            yield _Device(first, interfaces, settings(first.get("configuration", "")))


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
        bus = device.get("bus info")
        if bus.startswith("virtio@") and before.startswith("pci@"):
            last = found[-1]
            found[-1] = _Device(
                {**last.values, "size": device.get("size") or last.get("size")},
                last.interfaces + device.interfaces, {**last.settings, **device.settings},
            )  # fmt: skip
        else:
            found.append(device)
        before = bus
    return found


def _adapter(device: _Device) -> Adapter:
    settings = device.settings
    driver, product = settings.get("driver", ""), pci.without_numbers(device.get("product"))
    return blank_adapter(
        TOOL, pci.kind_of(device.get("description"), product, driver),
        bus=pci.bus(TOOL, device.get("bus info").removeprefix("pci@")),
        vendor=pci.without_numbers(device.get("vendor")), product=product, driver=driver,
        driver_version=settings.get("driverversion", ""), firmware=settings.get("firmware", ""),
        interfaces=device.interfaces,
    )  # fmt: skip


def _facts(device: _Device) -> dict[str, str]:
    """Of one interface only: lshw gives a device with several no figures of each."""
    if len(device.interfaces) != 1:
        return {}
    name, settings = device.interfaces[0], device.settings
    told = {f"{key} of {name}": settings[key] for key in ("link", "ip") if key in settings}
    return figures.speed_fact(name, settings.get("speed") or device.get("size")) | told
