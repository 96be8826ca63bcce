"""``lshw``, ``lshw -class network``, as text or ``-json`` → adapters; pure.

Keys are those of lshw 02.19 (print.cc). In text that was copied from a page long values are
wrapped: a line without a known key continues the value before it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.model.inventory import Adapter
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    list_words,
    make_adapter,
    make_speed_fact,
    parse_entries,
    split_blocks,
    split_pair,
    to_table,
)

TOOL = "lshw"

KEYS = frozenset(
    {"description", "product", "vendor", "physical id", "bus info", "logical name", "version",
     "date", "serial", "slot", "size", "capacity", "width", "clock", "capabilities",
     "configuration", "resources"}
)  # fmt: skip


def parse(text: str, argument: str = "") -> Parts:
    """Return adapters with bus, vendor, product, driver, firmware and interfaces.

    Facts: ``speed of IFACE`` in bit/s, ``link of IFACE`` (``yes``), ``ip of IFACE``.
    """
    devices, troubles = parse_entries(TOOL, text, _parse_object, _parse_text)
    joined = _join_virtio(devices)
    # Virtual devices have neither.
    physical = [device for device in joined if device.get("bus info") or device.get("product")]
    facts: dict[str, str] = {}
    for device in physical:
        # lshw gives no figures for each of several interfaces.
        for name in device.interfaces if len(device.interfaces) == 1 else ():
            settings = device.settings
            facts |= make_speed_fact(name, settings.get("speed") or device.get("size"))
            facts |= {
                f"{key} of {name}": settings[key] for key in ("link", "ip") if key in settings
            }
    return Parts(adapters=tuple(map(_make_adapter, physical)), facts=facts, troubles=troubles)


class _Device(msgspec.Struct, frozen=True):
    """``values`` are by the text's keys; ``settings`` is its ``configuration``."""

    values: dict[str, str]
    interfaces: tuple[str, ...]
    settings: dict[str, str]

    def get(self, key: str) -> str:
        return self.values.get(key, "")


def _parse_object(entry: dict[str, object]) -> Iterator[_Device]:
    pending: list[object] = [entry]
    while pending:
        value = pending.pop()
        if not isinstance(value, dict):
            continue
        children = value.get("children")
        pending += reversed(children) if isinstance(children, list) else []
        if value.get("class") == "network":
            values = to_table(value)
            is_rate = value.get("units") == "bit/s" and "size" in values
            values["size"] = f"{values['size']}bit/s" if is_rate else ""
            values["bus info"] = values.get("businfo", "")
            interfaces = tuple(list_words(value.get("logicalname")))
            yield _Device(values, interfaces, to_table(value.get("configuration")))


def _parse_text(text: str) -> Iterator[_Device]:
    parent: int | None = None
    for (depth, name), body in split_blocks(text, _parse_head):
        if parent is not None and depth <= parent:
            parent = None
        if name.startswith("network") and parent is None:
            parent = depth
        values = _parse_values(body)
        first_values = {key: texts[0] for key, texts in values.items()}
        interfaces = tuple(values.get("logical name", ()))
        is_interface = interfaces and first_values.get("description", "").endswith(" interface")
        if parent is not None or is_interface:
            settings = parse_settings(first_values.get("configuration", ""))
            yield _Device(first_values, interfaces, settings)


def _parse_head(line: str) -> tuple[int, str] | None:
    """Return indentation and name of ``*-network:0``."""
    stripped = line.strip()
    if not stripped.startswith("*-"):
        return None
    return len(line) - len(line.lstrip()), stripped[2:].partition(" ")[0]


def _parse_values(body: str) -> dict[str, list[str]]:
    """Return all values by key; a line without a known key continues the one before it."""
    pieces: list[tuple[str, list[str]]] = []
    for line in filter(None, map(str.strip, body.split("\n"))):
        key, value = split_pair(line)
        if key in KEYS:
            pieces.append((key, [value]))
        elif pieces:
            pieces[-1][1].append(line)
    values: dict[str, list[str]] = {}
    for key, lines in pieces:
        values.setdefault(key, []).append(" ".join(lines))
    return values


def parse_settings(configuration: str) -> dict[str, str]:
    """Read ``driver=i40e firmware=5.04 0x8000253b latency=0``.

    A word without ``=`` continues the value before it.
    """
    settings: dict[str, list[str]] = {}
    key = ""
    for piece in configuration.split():
        name, equals, value = piece.partition("=")
        if equals and name.isascii() and name.replace("-", "").isalpha() and name not in settings:
            key = name
            settings[key] = [value]
        elif key:
            settings[key].append(piece)
    return {name: " ".join(pieces) for name, pieces in settings.items()}


def _join_virtio(devices: Iterable[_Device]) -> list[_Device]:
    """Join each virtio interface with the PCI device above it, which carries it."""
    joined: list[_Device] = []
    previous_bus = ""
    for device in devices:
        bus = device.get("bus info")
        if bus.startswith("virtio@") and previous_bus.startswith("pci@"):
            last = joined[-1]
            joined[-1] = _Device(
                {**last.values, "size": device.get("size") or last.get("size")},
                last.interfaces + device.interfaces, {**last.settings, **device.settings},
            )  # fmt: skip
        else:
            joined.append(device)
        previous_bus = bus
    return joined


def _make_adapter(device: _Device) -> Adapter:
    settings = device.settings
    driver, product = settings.get("driver", ""), pci.strip_numbers(device.get("product"))
    return make_adapter(
        TOOL, pci.choose_kind(device.get("description"), product, driver),
        bus=pci.parse_bus(TOOL, device.get("bus info").removeprefix("pci@")),
        vendor=pci.strip_numbers(device.get("vendor")), product=product, driver=driver,
        driver_version=settings.get("driverversion", ""), firmware=settings.get("firmware", ""),
        interfaces=device.interfaces,
    )  # fmt: skip
