"""What one source says of a node: inventory parts with only the fields that a tool tells.

What a tool leaves out is ``Skipped`` with the tool's name. An empty ``kind``, ``link_layer``
or ``protocol`` means that the tool does not tell; merging takes another source's. A part
is known by its bus, or else by its interfaces or RDMA devices.
"""

from typing import Any

import msgspec

from fabricgauge.model.absence import Skipped
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
    """What a single printout or section gave; a field that it does not mention is empty.

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
    facts: dict[str, str] = {}
    troubles: tuple[str, ...] = ()


#: Words for no value: lshw's, ethtool's, fi_info's.
_NOTHING = ("N/A", "n/a", "(null)")


def blank_adapter(tool: str, kind: str, **known: Any) -> Adapter:
    """An adapter with only the ``known`` fields; their texts may be empty, see ``said``."""
    unsaid = Skipped(f"{tool} does not say it")
    blank = Adapter(
        unsaid, unsaid, unsaid, kind, unsaid, unsaid, unsaid, unsaid, unsaid, unsaid,
        modes=Skipped(f"{tool} does not say the link modes"),
        lane_mode=Skipped(f"{tool} does not say the lane mode"),
    )  # fmt: skip
    told = {name: said(tool, one) if isinstance(one, str) else one for name, one in known.items()}
    return msgspec.structs.replace(blank, **told)


def blank_port(tool: str, device: str, number: int, **known: Any) -> RdmaPort:
    """A port with only its name and the ``known`` fields."""
    unsaid = Skipped(f"{tool} does not say it")
    blank = RdmaPort(
        device, number, "", "", unsaid, unsaid, unsaid, unsaid, (), (), unsaid, (), (),
        unsaid, unsaid, unsaid, unsaid, unsaid,
    )  # fmt: skip
    return msgspec.structs.replace(blank, **known)


def said(tool: str, text: str) -> str | Skipped:
    """A value that a tool may leave empty or fill with a word for nothing."""
    if not text:
        return Skipped(f"{tool} does not say it")
    return Skipped(f"{tool} gives it as {text}") if text in _NOTHING else text
