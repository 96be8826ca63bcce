"""Why a network may carry less than its ceiling: what the evidence points at."""

from collections.abc import Callable, Iterator

import msgspec

from fabricgauge.judge import wording
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.traffic import troubles
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Interface, Member, Network, Shaper
from fabricgauge.stats.series import Point

#: Link rates of IEEE 802.3 in bit/s, as `ethtool` lists them.
ETHERNET_RATES = (10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9)

#: How near a figure must be to another rate's ceiling, below and above.
NEAR = (0.93, 1.02)

#: Frames as the kernel's token bucket counts them, and as they are on the wire, at MTU 1500.
SHAPED_BYTES, WIRE_BYTES = 1514, 1538


class Cause(msgspec.Struct, frozen=True):
    """A likely cause with what points at it and what mends it."""

    cause: str
    remedy: str
    evidence: str


class _Low(msgspec.Struct, frozen=True):
    fabric: Fabric
    subject: Subject
    network: Network
    rate_bit_s: float
    fraction: float


UNKNOWN = Cause(
    "the link, its ends or what is between them carry less than the nominal rate",
    "compare the negotiated rates (ethtool) and error counters of both ends and of the switch"
    " port; exchange cable and port one at a time; measure the same pair again",
    "",
)


UNSTEADY = Cause(
    "the figure reaches the ceiling but is not steady: other load on the hosts or the link",
    "measure again when nodes and network are quiet: fabricgauge check --profile standard",
    "",
)


def causes(fabric: Fabric, subject: Subject, point: Point, ceiling: float) -> tuple[Cause, ...]:
    """Likely causes of one low bandwidth, the most telling first; never empty."""
    network = subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return (UNKNOWN,)
    low = _Low(fabric, subject, network, network.rate_bit_s, point.bandwidth.value / ceiling)
    return tuple(cause for look in _LOOKS for cause in look(low)) or (UNKNOWN,)


def _shaper(low: _Low) -> Iterator[Cause]:
    for member, interface in _members(low):
        shaper = interface.shaper
        if isinstance(shaper, Shaper):
            wire = shaper.rate_bit_s * WIRE_BYTES / SHAPED_BYTES
            if wire < 0.98 * low.rate_bit_s:
                remove = wording.command(
                    ("tc", "qdisc", "del", "dev", member.interface, "root")
                )  # fmt: skip
                yield Cause(
                    f"a token bucket on {member.node}:{member.interface} lets through only"
                    f" {wording.link_rate(wire)} of {wording.link_rate(low.rate_bit_s)}",
                    f"on {member.node}: {remove}, or set it to the link's rate",
                    f"{member.node}:{member.interface} has a token bucket of"
                    f" {wording.link_rate(shaper.rate_bit_s)} (frames without preamble, FCS, gap)",
                )


def _slow_port(low: _Low) -> Iterator[Cause]:
    for member, interface in _members(low):
        speed = interface.speed_bit_s
        if not isinstance(speed, Skipped) and 0 < speed < 0.98 * low.rate_bit_s:
            show = wording.command(("ethtool", member.interface))
            yield Cause(
                f"{member.node}:{member.interface} runs at {wording.link_rate(speed)} instead of"
                f" {wording.link_rate(low.rate_bit_s)}",
                f"on {member.node}: {show}; reseat or exchange the cable, and let both ends"
                " negotiate the rate",
                f"{member.node}:{member.interface} reports {wording.link_rate(speed)}",
            )


def lower_rate(rate_bit_s: float, fraction: float, near: tuple[float, float]) -> float | None:
    """The standard rate below ``rate_bit_s`` whose ceiling a figure is at, in bit/s.

    ``near`` bounds the figure as a multiple of what that rate's link can carry.
    """
    for rate in ETHERNET_RATES:
        relative = fraction * rate_bit_s / rate
        if rate < 0.98 * rate_bit_s and near[0] <= relative <= near[1]:
            return rate
    return None


def _lower_rate(low: _Low) -> Iterator[Cause]:
    rate = lower_rate(low.rate_bit_s, low.fraction, NEAR)
    if rate is None:
        return
    shown = [wording.command(("ethtool", name)) for name in _interface_names(low)]
    yield Cause(
        f"a link on the way runs at {wording.link_rate(rate)} instead of"
        f" {wording.link_rate(low.rate_bit_s)}",
        f"compare the negotiated rate on each node ({wording.listed(shown)}) and on the"
        " switch's ports; reseat or exchange the cable, and let both ends negotiate",
        f"the figure is {wording.percent(low.fraction * low.rate_bit_s / rate)} of what a"
        f" {wording.link_rate(rate)} link can carry",
    )


def _errors(low: _Low) -> Iterator[Cause]:
    ours = {(member.node, member.interface) for member in low.network.members}
    for one in troubles(low.subject.launches):
        if (one.node, one.interface) in ours:
            yield Cause(
                f"{one.node}:{one.interface} loses frames ({one.counter})",
                f"exchange the cable and the transceiver of {one.node}:{one.interface}, then its"
                " port; look at the switch port's counters",
                f"{one.counter} of {one.node}:{one.interface} rose by {one.count:,} during the"
                " cases",
            )


_Look = Callable[[_Low], Iterator[Cause]]
_LOOKS: tuple[_Look, ...] = (_slow_port, _shaper, _lower_rate, _errors)


def _members(low: _Low) -> Iterator[tuple[Member, Interface]]:
    for member in low.network.members:
        node = low.fabric.node(member.node)
        interface = node if isinstance(node, Skipped) else node.interface(member.interface)
        if not isinstance(interface, Skipped):
            yield member, interface


def _interface_names(low: _Low) -> list[str]:
    return sorted({member.interface for member in low.network.members})
