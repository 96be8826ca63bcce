"""Adapters and ports of which a tool says a part only.

What a tool leaves out is ``Skipped`` with the tool's name. An empty ``kind``, ``link_layer``
or ``protocol`` means that the tool does not tell; whoever merges takes another source's. A part
is known by its bus, or else by its interfaces or RDMA devices.
"""

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

#: Words for no value: lshw's, ethtool's, fi_info's.
_NOTHING = ("N/A", "n/a", "(null)")


def adapter(tool: str, kind: str) -> Adapter:
    """One of which nothing is known yet."""
    unsaid = Skipped(f"{tool} does not say it")
    return Adapter(
        unsaid, unsaid, unsaid, kind, unsaid, unsaid, unsaid, unsaid, unsaid, unsaid,
        modes=Skipped(f"{tool} does not say the link modes"),
        lane_mode=Skipped(f"{tool} does not say the lane mode"),
    )  # fmt: skip


def port(tool: str, device: str, number: int) -> RdmaPort:
    """One of which nothing is known but its name."""
    unsaid = Skipped(f"{tool} does not say it")
    return RdmaPort(
        device, number, "", "", unsaid, unsaid, unsaid, unsaid, (), (), unsaid, (), (),
        unsaid, unsaid, unsaid, unsaid, unsaid,
    )  # fmt: skip


def said(tool: str, text: str) -> str | Skipped:
    """A value that a tool may leave empty or fill with a word for nothing."""
    if not text:
        return Skipped(f"{tool} does not say it")
    return Skipped(f"{tool} gives it as {text}") if text in _NOTHING else text
