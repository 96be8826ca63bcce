"""Has every node an address in the networks of its like?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, has_cable, leads_out, like
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Network
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "members"
TITLE = "Like nodes are in the same networks"
WHY = "A rank there cannot use the network: MPI hangs, or takes another network for all."

REMEDY = (
    "give the adapter that is cabled to it the node's address in the network, where it is"
    " configured as well: fabricgauge configure plans the commands"
)


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if not preflight.inventories:
        return Skipped("nothing is known of which nodes are alike")
    if not preflight.fabric.networks:
        return Skipped("no network joins these nodes")
    return tuple(
        finding
        for group in like(preflight)
        for network in preflight.fabric.networks
        for finding in _look(network, group)
    )


def _look(network: Network, group: tuple[Seen, ...]) -> Iterator[Finding]:
    """Of a few like nodes in a network of others nothing follows, nor of bridges inside nodes."""
    there = [seen for seen in group if _cabled(network, seen)]
    missing = [seen for seen in group if isinstance(network.member(seen.name), Skipped)]
    if 2 * len(there) <= len(group):
        return
    for seen in missing:
        severity = Severity.FAIL if len(missing) == 1 else Severity.WARN
        yield Finding(
            ID, severity, seen.name, "has no address in this network, like nodes have",
            tuple(_told(network, seen, there)), WHY, REMEDY, (seen.name,), network.name,
        )  # fmt: skip


def _cabled(network: Network, seen: Seen) -> bool:
    member = network.member(seen.name)
    if isinstance(member, Skipped):
        return False
    interface = seen.node.interface(member.interface)
    return isinstance(interface, Interface) and has_cable(interface)


def _told(network: Network, seen: Seen, there: list[Seen]) -> Iterator[str]:
    yield f"{network.name} is {network.subnet}; {listed([one.name for one in there])} are in it"
    own = [
        f"{one.name} {listed([address.ip for address in one.addresses]) or 'without address'}"
        for one in seen.node.interfaces
        if has_cable(one) and (not one.addresses or any(leads_out(a.ip) for a in one.addresses))
    ]
    yield f"{seen.name} has {listed(own) or 'no interface with a cable'}"
