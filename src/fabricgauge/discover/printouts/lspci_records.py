"""``lspci -vmm``: a record of ``KEY:`` lines for each function → adapters; pure."""

from collections.abc import Iterator

import msgspec

from fabricgauge.discover.printouts import figures, kinds, partial, pci
from fabricgauge.discover.printouts.lines import lines, pair
from fabricgauge.discover.printouts.lspci_names import Names, named, product_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter

TOOL = "lspci"


def records(text: str) -> tuple[Adapter, ...]:
    """The network adapters; ``Driver`` and ``NUMANode`` come with ``-k`` and ``-v``."""
    found = (_record(values) for values in _blocks(text))
    return tuple(one for one in found if one is not None)


def _blocks(text: str) -> Iterator[dict[str, str]]:
    values: dict[str, str] = {}
    for line in [*lines(text), ""]:
        key, value = pair(line)
        if key:
            values.setdefault(key, value)
        elif not line.strip() and values:
            yield values
            values = {}


def _record(values: dict[str, str]) -> Adapter | None:
    bus = pci.address(values.get("Slot", ""))
    names = _names(values)
    if bus is None or not names.is_network:
        return None
    driver, node = values.get("Driver", ""), values.get("NUMANode", "")
    return msgspec.structs.replace(
        partial.adapter(TOOL, kinds.kind_of(names.device_class, names.product, driver)),
        bus=bus, vendor=names.vendor, product=partial.said(TOOL, names.product),
        driver=partial.said(TOOL, driver),
        numa_node=figures.whole(node, "the NUMA node") if node else Skipped("lspci names none"),
    )  # fmt: skip


def _names(values: dict[str, str]) -> Names:
    device_class = named(values.get("Class", "") + ": ").device_class
    vendor, product = values.get("Vendor", ""), values.get("Device", "")
    numbers = f"{_code(vendor)}:{_code(product)}" if _code(vendor) and _code(product) else ""
    product = product_of(pci.without_numbers(product), numbers)
    return Names(device_class, partial.said(TOOL, pci.without_numbers(vendor)), product)


def _code(name: str) -> str:
    return name[-5:-1] if name.endswith("]") and name[-6:-5] == "[" else ""
