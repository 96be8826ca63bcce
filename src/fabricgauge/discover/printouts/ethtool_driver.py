"""``ethtool -i IFACE`` → the adapter behind an interface; pure."""

import msgspec

from fabricgauge.discover.drivers import WITHOUT_A_WIRE
from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import kinds, partial, pci
from fabricgauge.discover.printouts.lines import lines, pair
from fabricgauge.model.absence import Skipped

TOOL = "ethtool -i"


def of_text(text: str, interface: str) -> Parts:
    """Driver, version, firmware, bus; nothing for an interface that no adapter is behind."""
    values: dict[str, str] = {}
    for line in lines(text):
        key, value = pair(line)
        values.setdefault(key, value)
    driver, bus = values.get("driver", ""), values.get("bus-info", "")
    if not bus and driver in WITHOUT_A_WIRE:
        return Parts()
    return Parts(
        adapters=(
            msgspec.structs.replace(
                partial.adapter(TOOL, kinds.kind_of("", "", driver)),
                bus=pci.address(bus) or Skipped(f"ethtool -i gives the bus as {bus[:60]!r}"),
                driver=partial.said(TOOL, driver),
                driver_version=partial.said(TOOL, values.get("version", "")),
                firmware=partial.said(TOOL, values.get("firmware-version", "")),
                interfaces=(interface,) if interface else (),
            ),
        )
    )
