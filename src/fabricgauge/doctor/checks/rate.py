"""Does every port run at the rate of its network?"""

from collections.abc import Iterator

import msgspec

from fabricgauge.doctor.places import End, ends, usual
from fabricgauge.doctor.reserves import behind, modes_behind, no_more
from fabricgauge.doctor.wording import link_rate, listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Shaper
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.inventory import LinkModes
from fabricgauge.model.preflight import Preflight

ID = "rate"
TITLE = "Every port runs at its network's rate, full duplex"
WHY = "No figure of a pair can be above the rate of its slower port."

#: A rate this near the nominal one is the same; a token bucket is rounded by the kernel.
NEAR = 0.98

#: Octets around a packet of full MTU as a token bucket counts them and as they are on the
#: wire: header; and preamble, frame check sequence, gap (IEEE 802.3 clauses 3, 4.4.2).
COUNTED_BYTES, WIRE_BYTES = 14, 38


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = tuple(ends(preflight))
    if not every:
        return Skipped("no network joins these nodes")
    if all(isinstance(own_rate(end), Skipped) and _modes(end) is None for end in every):
        return Skipped("no driver and no declaration gives a rate")
    found: list[Finding] = []
    for network in dict.fromkeys(end.network.name for end in every):
        members = [end for end in every if end.network.name == network]
        reference = _reference(members)
        fast = _products(members, reference)
        for end in members:
            found += _look(end, reference, fast)
    return tuple(found)


def _reference(members: list[End]) -> float | Skipped:
    """The rate that a member should have: as declared, else that of most of them.

    A head with a faster port than all nodes is no fault of theirs. Where no rate is that of
    most, the fastest counts. Discovery takes a network's rate from a member's driver where
    nobody declared one, and says so.
    """
    network = members[0].network
    if not any(network.rate_origin.startswith(f"{end.where}'s driver ") for end in members):
        return network.rate_bit_s
    own = [rate for end in members if not isinstance(rate := end.interface.speed_bit_s, Skipped)]
    common = usual(own)
    return network.rate_bit_s if isinstance(common, Skipped) else common


def _products(members: list[End], nominal: float | Skipped) -> set[str]:
    """The adapters of members that have the network's rate."""
    rates = [(end, own_rate(end)) for end in members]
    return {
        product
        for end, rate in rates
        if not isinstance(nominal, Skipped)
        and not isinstance(rate, Skipped)
        and rate[0] >= NEAR * nominal
        for product in _products_of(end)
    }


def _products_of(end: End) -> tuple[str, ...]:
    """Those of the adapters behind a port, a VLAN or a bond that are known."""
    adapters = behind(end)
    return tuple(dict.fromkeys(end.seen.product(one) for one in adapters if one is not None))


def own_rate(end: End) -> tuple[float, str] | Skipped:
    """What the node itself says that the port carries in bit/s, and how it says so."""
    interface, found = end.interface, []
    if not isinstance(interface.speed_bit_s, Skipped):
        found.append(
            (interface.speed_bit_s, f"{end.where} reports {link_rate(interface.speed_bit_s)}")
        )
    if isinstance(interface.shaper, Shaper):
        bucket = interface.shaper.rate_bit_s
        mtu = interface.mtu_bytes
        wire = bucket * (mtu + WIRE_BYTES) / (mtu + COUNTED_BYTES)
        told = f"{end.where} has a token bucket of {link_rate(bucket)}: {link_rate(wire)} of wire"
        found.append((wire, told))
    return min(found) if found else Skipped(f"{end.where} gives no rate")


def _look(end: End, nominal: float | Skipped, fast: set[str]) -> Iterator[Finding]:
    own = own_rate(end)
    modes = _modes(end)
    if modes is not None and modes.duplex == "half":
        yield _finding(end, "runs half duplex", f"{end.where} reports half duplex")
    if isinstance(own, Skipped):
        return
    rate, told = own
    if not isinstance(nominal, Skipped) and rate < NEAR * nominal:
        what = f"runs at {link_rate(rate)} instead of {link_rate(nominal)}"
        found = _finding(end, what, told, f"{end.network.name}: {end.network.rate_origin}")
        made = no_more(end, rate, NEAR * nominal) or _other_product(end, nominal, fast)
        yield _as_made(found, *made) if made else found
    elif modes is not None and rate < NEAR * (best := _both(modes)):
        what = f"runs at {link_rate(rate)}, though both ends support {link_rate(best)}"
        yield _finding(end, what, told, f"{end.where}: link partner offers {link_rate(best)}")


def _other_product(end: End, nominal: float, fast: set[str]) -> tuple[Severity, str] | None:
    own = _products_of(end)
    if any(modes and modes.supported_bit_s for modes in modes_behind(end)) or isinstance(
        end.interface.shaper, Shaper
    ):
        return None
    if not own or not fast or fast & {*own}:
        return None
    told = f"{end.where} is on another adapter than those with {link_rate(nominal)}"
    return Severity.NOTE, f"{told}: {listed(own)}"


def _as_made(found: Finding, severity: Severity, reason: str) -> Finding:
    """A node of another generation is no fault; a pair with it is slower all the same."""
    return msgspec.structs.replace(
        found, severity=severity, evidence=(*found.evidence, reason),
        remedy="none; compare pairs of like nodes, or declare networks of their own",
    )  # fmt: skip


def _modes(end: End) -> LinkModes | None:
    """Those of a single port, which a VLAN may be on."""
    modes = modes_behind(end)
    return modes[0] if len(modes) == 1 else None


def _both(modes: LinkModes) -> float:
    """The best rate that both ends have; 0 where the partner says nothing."""
    return max({*modes.supported_bit_s} & {*modes.partner_bit_s}, default=0.0)


def _finding(end: End, what: str, *evidence: str) -> Finding:
    return Finding(
        ID, Severity.FAIL, end.where, what, evidence, WHY, _remedy(end), (end.seen.name,),
        end.network.name,
    )  # fmt: skip


def _remedy(end: End) -> str:
    if isinstance(end.interface.shaper, Shaper):
        return "look at tc qdisc show on the node; remove the token bucket or set it to the rate"
    return (
        "let both ends negotiate (ethtool INTERFACE shows what they offer), reseat or exchange the"
        " cable and the transceiver, then the port; see how the switch's port is set"
    )
