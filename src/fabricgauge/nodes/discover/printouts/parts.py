"""One source's part of a node's inventory, with only the fields that the tool gives.

A field that a tool leaves out is ``Skipped`` with the tool's name. An empty ``kind``,
``link_layer`` or ``protocol`` means that the tool does not give it; merging takes another source's.
A part is identified by its bus, or else by its interfaces or RDMA devices.
"""

from typing import Any

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.inventory import (
    Adapter,
    Gpu,
    GpuLink,
    Nearness,
    RdmaPort,
    Route,
    RoutingRule,
    Stack,
)


class Parts(msgspec.Struct, frozen=True):
    """The values of a single printout or section; fields that it does not mention are empty.

    ``troubles`` are sentences on lines that could not be understood, with their numbers.
    """

    adapters: tuple[Adapter, ...] = ()
    rdma_ports: tuple[RdmaPort, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    nearness: tuple[Nearness, ...] = ()
    gpu_links: tuple[GpuLink, ...] = ()
    routes: tuple[Route, ...] = ()
    rules: tuple[RoutingRule, ...] = ()
    tables: tuple[Route, ...] = ()
    stacks: tuple[Stack, ...] = ()
    modules: tuple[str, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    facts: dict[str, str] = {}
    troubles: tuple[str, ...] = ()


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
