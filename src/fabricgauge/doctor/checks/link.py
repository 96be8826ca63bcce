"""Has every port that is meant to carry something a link?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, has_cable, leads_out, like, memberships
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "link"
TITLE = "Every port with an address is up and has a carrier"
WHY = "Nothing crosses a link without a carrier: MPI hangs, or takes another network."

NO_CARRIER = "has no carrier: its cable, transceiver or other end is gone"
PLUG_IN = "plug in or exchange cable and transceiver; see whether the switch's port is enabled"
STATES_DOWN = ("down", "lowerlayerdown")


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if not preflight.fabric.nodes:
        return Skipped("no node answered")
    networks = memberships(preflight)
    return tuple(
        finding
        for group in like(preflight)
        for seen in group
        for interface in seen.node.interfaces
        if has_cable(interface)
        for finding in _look(seen, interface, networks.get((seen.name, interface.name), ""), group)
    )


def _look(
    seen: Seen, interface: Interface, network: str, group: tuple[Seen, ...]
) -> Iterator[Finding]:
    if network or any(leads_out(address.ip) for address in interface.addresses):
        if isinstance(interface.carrier, Skipped):
            yield _switched_off(seen.name, interface, network)
        elif not interface.carrier or interface.operstate in STATES_DOWN:
            yield _dead(seen, interface, network)
    elif interface.carrier is False and not isinstance(seen.adapter_of(interface.name), Skipped):
        yield _spare(seen, interface, group)


def _dead(seen: Seen, interface: Interface, network: str) -> Finding:
    return Finding(
        ID, Severity.FAIL, f"{seen.name}:{interface.name}", NO_CARRIER, (_told(seen, interface),),
        WHY, PLUG_IN, (seen.name,), network,
    )  # fmt: skip


def _spare(seen: Seen, interface: Interface, group: tuple[Seen, ...]) -> Finding:
    """A port without an address: nothing may ever have been meant to be plugged in."""
    others = [
        (one.name, port.carrier is True)
        for one in group
        if one is not seen and isinstance(port := one.node.interface(interface.name), Interface)
    ]
    plugged = [name for name, carrier in others if carrier]
    told = [f"{name}:{interface.name} has a carrier" for name in plugged[:2]]
    where, evidence = f"{seen.name}:{interface.name}", (_told(seen, interface), *told)
    if plugged and 2 * len(plugged) >= len(others):
        what, severity, remedy = NO_CARRIER, Severity.WARN, PLUG_IN
    else:
        what, severity = "is up and has no carrier", Severity.NOTE
        remedy = f"none, if nothing is meant to be plugged in; else {PLUG_IN}"
    return Finding(ID, severity, where, what, evidence, WHY, remedy, (seen.name,))


def _told(seen: Seen, interface: Interface) -> str:
    addresses = "".join(f" {one.ip}/{one.prefix_length}" for one in interface.addresses)
    where = f"{seen.name}:{interface.name}{addresses}"
    return f"{where} is {interface.operstate}, carrier {_word(interface)}"


def _word(interface: Interface) -> str:
    return "yes" if interface.carrier is True else "no"


def _switched_off(node: str, interface: Interface, network: str) -> Finding:
    argv = ("ip", "link", "set", "dev", interface.name, "up")
    return Finding(
        ID, Severity.FAIL, f"{node}:{interface.name}", "is switched off",
        (f"{node}:{interface.name} is not UP (ip link)",), WHY,
        "switch it on, and let the network configuration do so at each start",
        (node,), network, (Command(node, argv),),
    )  # fmt: skip
