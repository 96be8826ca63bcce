"""Do InfiniBand and Omni-Path ports have all their lanes at full speed?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Port, ports, usual
from fabricgauge.doctor.wording import link_rate, listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.inventory import RdmaPort
from fabricgauge.model.preflight import Preflight

ID = "rdma-rate"
TITLE = "Every RDMA port has all its lanes, at the speed that it supports"
WHY = "Each lane that is missing takes its share of the bandwidth; a slower lane takes it of all."

#: Lanes, and the rate of each in bit/s.
Width = tuple[int, float]

CABLE = (
    "reseat or exchange the cable, then the transceiver and the port; look at the port's symbol and"
    " link error counters and at what the switch's port is set to"
)


#: A rate this near another is the same.
NEAR = 0.98


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = ports(preflight)
    if not every:
        return Skipped("no RDMA port is known")
    same = {id(one.same): one.same for one in every}
    common = {key: _usual(some) for key, some in same.items()}
    return tuple(found for one in every for found in _look(one, common[id(one.same)]))


def _look(one: Port, others: Width | None) -> Iterator[Finding]:
    if one.port.state != "ACTIVE":
        return  # the check of ports has it
    own = width(one.port)
    if own is not None and others is not None and _rate(own) < NEAR * _rate(others):
        yield _finding(
            one, Severity.FAIL, f"runs at {_name(own)}, like ports at {_name(others)}",
            f"{one.where}: {_name(own)}{_supported(one.port)}",
        )  # fmt: skip
    else:
        yield from _below_own(one)


def width(port: RdmaPort) -> Width | None:
    """Lanes, and bit/s of each; None where one of them is not known."""
    if isinstance(port.lanes, Skipped) or isinstance(port.lane_bit_s, Skipped):
        return None
    return port.lanes, port.lane_bit_s


def _usual(same: tuple[RdmaPort, ...]) -> Width | None:
    """That of most like ports that are up; the best where it is nobody's."""
    up = (port for port in same if port.state == "ACTIVE")
    known = [found for found in map(width, up) if found is not None]
    common = usual(known)
    return max(known, key=_rate, default=None) if isinstance(common, Skipped) else common


def _rate(width: Width) -> float:
    return width[0] * width[1]


def _name(width: Width) -> str:
    lanes, lane_bit_s = width
    return f"{lanes} lane{'s' * (lanes != 1)} of {link_rate(lane_bit_s)}"


def _supported(port: RdmaPort) -> str:
    lanes = f"; lanes supported: {max(port.lanes_supported)}" if port.lanes_supported else ""
    enabled = [str(count) for count in port.lanes_enabled]
    return lanes + (f", enabled: {listed(enabled)}" if enabled else "")


def _below_own(one: Port) -> Iterator[Finding]:
    """Less than it supports, as are all like ports.

    InfiniBand's cables that split a switch's port leave two of four lanes (HDR100, NDR200), and
    a switch may be of an older generation; Omni-Path knows neither.
    """
    port = one.port
    by_design = port.protocol != "omni-path"
    severity = Severity.NOTE if by_design else Severity.FAIL
    most = max(port.lanes_supported, default=0)
    if isinstance(port.lanes, int) and 0 < port.lanes < most:
        told = f"{one.where}: {port.lanes} lanes{_supported(port)}"
        yield _finding(one, severity, f"has {port.lanes} of {most} lanes", told)
    best = max(port.lane_bit_s_supported, default=0.0)
    if not isinstance(port.lane_bit_s, Skipped) and 0 < port.lane_bit_s < NEAR * best:
        what = f"has lanes of {link_rate(port.lane_bit_s)}, supports {link_rate(best)}"
        yield _finding(
            one, Severity.NOTE, what, f"{one.where}: {link_rate(port.lane_bit_s)} a lane"
        )


def _finding(one: Port, severity: Severity, what: str, told: str) -> Finding:
    return Finding(
        ID, severity, one.where, what, (told,), WHY, CABLE, (one.seen.name,), one.network
    )
