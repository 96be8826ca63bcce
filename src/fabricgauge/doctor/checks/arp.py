"""Does each interface answer for its own addresses only, where two are in one subnet?"""

from collections.abc import Iterator
from itertools import combinations

from fabricgauge.doctor.checks.subnets import Place, overlaps, places
from fabricgauge.doctor.places import Seen, nodes
from fabricgauge.doctor.routing import chosen_route
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "arp"
TITLE = "Interfaces in one subnet answer ARP for their own addresses only"
WHY = (
    "Linux answers for all of a node's addresses on any interface: traffic for one rail then goes"
    " to another one."
)

#: Linux, Documentation/networking/ip-sysctl.rst: answer for one's own address only; use the
#: interface's own address as the source of requests.
WANTED = (("arp_ignore", 1), ("arp_announce", 2))


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    rails = [(seen, _sharing(seen)) for seen in nodes(preflight)]
    if not any(shared for _, shared in rails):
        return Skipped("no node has two interfaces in one subnet")
    known = [(seen, shared) for seen, shared in rails if shared and _known(seen, shared)]
    if not known:
        return Skipped("no node with two interfaces in one subnet says how it answers ARP")
    return tuple(found for seen, shared in known for found in _look(seen, shared))


def _sharing(seen: Seen) -> tuple[Place, ...]:
    every = tuple(places(seen))
    pairs = [pair for pair in combinations(every, 2) if overlaps(*pair)]
    return tuple(place for place in every if any(place in pair for pair in pairs))


def setting(seen: Seen, interface: str, name: str) -> float | Skipped:
    """What is in force: the larger of the interface's own and of ``all`` (ip-sysctl.rst)."""
    values = [seen.number(f"net.ipv4.conf.{scope}.{name}") for scope in (interface, "all")]
    numbers = [value for value in values if not isinstance(value, Skipped)]
    return max(numbers) if numbers else values[0]


def _known(seen: Seen, shared: tuple[Place, ...]) -> bool:
    return all(
        not isinstance(setting(seen, place.interface.name, name), Skipped)
        for place in shared
        for name, _ in WANTED
    )


def _sends_its_own(seen: Seen, place: Place) -> bool:
    """Whether rules are known, and what comes from its address leaves by it."""
    route = chosen_route(seen.inventory, place.ip, str(place.subnet.network_address))
    mine = route is not None and route.interface == place.interface.name
    return bool(seen.inventory.rules) and mine


def _look(seen: Seen, shared: tuple[Place, ...]) -> Iterator[Finding]:
    """Where rules have each interface send what comes from its address, requests ask by that
    address as well: arp_announce has nothing to mend."""
    if all(setting(seen, place.interface.name, "arp_filter") == 1.0 for place in shared):
        return
    needed = WANTED[:1] if all(_sends_its_own(seen, place) for place in shared) else WANTED
    lacking = [
        (place.interface.name, name, wanted)
        for place in shared
        for name, wanted in needed
        if setting(seen, place.interface.name, name) < wanted  # type: ignore[operator]
    ]
    if not lacking:
        return
    told = [f"{place.told}" for place in shared]
    told += [
        f"{seen.name}: {name} of {interface} is below {wanted}"
        for interface, name, wanted in lacking
    ]
    mends = tuple(
        Command(seen.name, ("sysctl", "-w", f"net.ipv4.conf.{interface}.{name}={wanted}"))
        for interface, name, wanted in dict.fromkeys(lacking)
        if "=" not in interface
    )
    names = listed(list(dict.fromkeys(place.interface.name for place in shared)))
    yield Finding(
        ID, Severity.WARN, seen.name, f"answers ARP for {names} on any of them", tuple(told), WHY,
        "set arp_ignore=1 and arp_announce=2 for these interfaces, in /etc/sysctl.d as well, or put"
        " each rail into a subnet of its own",
        (seen.name,), "", mends,
    )  # fmt: skip
