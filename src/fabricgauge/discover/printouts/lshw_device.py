"""One device as lshw lists it, from text or from JSON, and the adapter behind it."""

from collections.abc import Iterable

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, kinds, partial, pci
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter

TOOL = "lshw"


class Device(msgspec.Struct, frozen=True):
    """Values are empty where lshw gave none; ``settings`` is its ``configuration``."""

    bus: str
    description: str
    product: str
    vendor: str
    interfaces: tuple[str, ...]
    size: str
    settings: dict[str, str]


def parts(devices: Iterable[Device]) -> Parts:
    """Adapters and what is said of their interfaces; virtual devices are left out."""
    real = [device for device in _joined(devices) if device.bus or device.product]
    facts: dict[str, str] = {}
    for device in real:
        facts.update(_facts(device))
    return Parts(adapters=tuple(map(_adapter, real)), facts=facts)


def _joined(devices: Iterable[Device]) -> list[Device]:
    """A virtio interface is listed below the PCI device that carries it: both are one."""
    found: list[Device] = []
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


def _adapter(device: Device) -> Adapter:
    settings = device.settings
    driver = settings.get("driver", "")
    product = pci.without_numbers(device.product)
    return msgspec.structs.replace(
        partial.adapter(TOOL, kinds.kind_of(device.description, product, driver)),
        bus=_bus(device.bus), vendor=partial.said(TOOL, pci.without_numbers(device.vendor)),
        product=partial.said(TOOL, product), driver=partial.said(TOOL, driver),
        driver_version=partial.said(TOOL, settings.get("driverversion", "")),
        firmware=partial.said(TOOL, settings.get("firmware", "")), interfaces=device.interfaces,
    )  # fmt: skip


def _bus(bus: str) -> str | Skipped:
    found = pci.address(bus.removeprefix("pci@"))
    return found or Skipped(f"lshw gives the bus as {bus[:60]!r}")


def _facts(device: Device) -> dict[str, str]:
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
