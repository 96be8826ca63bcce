"""Whether a port, a VLAN or a bond could run at more than it does."""

from fabricgauge.doctor.places import End, Seen
from fabricgauge.doctor.wording import link_rate
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Severity
from fabricgauge.model.inventory import Adapter, LinkModes

#: Drivers of what is on other interfaces, as ethtool and ip name them. Linux 6.12,
#: net/8021q/vlan_dev.c, net/bridge/br_device.c; in drivers/net: bonding, team, macvlan.c.
STACKED = frozenset(
    {"802.1Q VLAN Support", "vlan", "bonding", "bond", "team", "bridge", "macvlan", "ipvlan"}
)

#: A rate of a bond this much below its ports' sum is that of one of them: an active-backup bond.
WHOLE = 0.98


def behind(end: End) -> tuple[Adapter | None, ...]:
    """The adapter of each port that the end is on, ``None`` where it is not known."""
    return tuple(_adapter(end.seen, one) for one in end.seen.ports_behind(end.interface.name))


def modes_behind(end: End) -> tuple[LinkModes | None, ...]:
    """The link modes of each port that the end is on, ``None`` where they are not known."""
    return tuple(_modes(one) for one in behind(end))


def no_more(end: End, rate_bit_s: float, needed_bit_s: float) -> tuple[Severity, str] | None:
    """Why the end, which runs at ``rate_bit_s``, is not made for ``needed_bit_s``, and how much
    that counts; ``None`` where it may be."""
    most = _most(end, rate_bit_s)
    if most is not None:
        told = f"{end.where} supports no more than {link_rate(most)}"
        return (Severity.NOTE, told) if most < needed_bit_s else None
    if end.interface.driver in STACKED and not any(behind(end)):
        return _all_ports(end, rate_bit_s)
    return None


def _most(end: End, rate_bit_s: float) -> float | None:
    """What the ports behind support: together, or of a bond that uses one of them the best."""
    best = [_supported(one) for one in behind(end)]
    if not best or not all(best):
        return None
    now = sum(_rate(one) for one in end.seen.ports_behind(end.interface.name))
    return max(best) if rate_bit_s < WHOLE * now else sum(best)


def _all_ports(end: End, rate_bit_s: float) -> tuple[Severity, str] | None:
    """Where nobody knows what the end is on: no port of the node runs at more, or could."""
    adapters = [one for one in end.seen.adapters if one.kind == "ethernet"]
    names = {name for one in adapters for name in one.interfaces}
    ports = [one for one in end.seen.node.interfaces if one.name in names and one.carrier is True]
    best = [max(_rate(one), _supported(_adapter(end.seen, one))) for one in ports]
    if not best or not all(best) or WHOLE * max(best) > rate_bit_s:
        return None
    told = f"no port of {end.seen.name} that is up can do more than {link_rate(max(best))}"
    return Severity.WARN, told


def _adapter(seen: Seen, port: Interface) -> Adapter | None:
    found = seen.adapter_of(port.name)
    return None if isinstance(found, Skipped) else found


def _modes(adapter: Adapter | None) -> LinkModes | None:
    modes = Skipped("") if adapter is None else adapter.modes
    return modes if isinstance(modes, LinkModes) else None


def _supported(adapter: Adapter | None) -> float:
    modes = _modes(adapter)
    return max(modes.supported_bit_s, default=0.0) if modes else 0.0


def _rate(one: Interface) -> float:
    return 0.0 if isinstance(one.speed_bit_s, Skipped) else one.speed_bit_s
