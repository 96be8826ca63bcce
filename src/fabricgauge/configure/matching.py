"""Which of a node's interfaces a network is meant for; pure. Nothing is guessed."""

import ipaddress
import re
from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.configure.description import Match, NetworkDescription
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.inventory import Adapter, Inventory
from fabricgauge.words.figures import link_rate

#: Usual names of interfaces that are made by hand (systemd.netdev(5), ip-link(8)).
_MADE = re.compile(r".+\.[0-9]+|(bond|team|br|vlan)-?[0-9]*")

#: How many candidates a sentence names.
_NAMED = 6


class Candidate(msgspec.Struct, frozen=True):
    """An interface with what is known of it and its adapter; a text is empty where it is not.

    ``kinds`` are what it may be, ``rates_bit_s`` what it runs at and what it could.
    """

    name: str
    kinds: tuple[str, ...]
    product: str
    driver: str
    bus: str
    rates_bit_s: tuple[float, ...]
    ips: tuple[str, ...]


class ChosenInterface(msgspec.Struct, frozen=True):
    """``doubt`` is empty, or says that the name was stated and no source confirms it."""

    interface: str
    doubt: str = ""


def interface_of(
    network: NetworkDescription, subnet: str, node: str, inventory: Inventory | Skipped
) -> ChosenInterface | Skipped:
    """The node's own interface for a network; ``Skipped`` says why there is none, or no single one.

    In this order: the name that the description states; the one that matches its adapter;
    without either, the one that has an address in the subnet, or the only one of the kind
    that has no address at all: one that has another may be what the node is reached by.
    """
    there = candidates(inventory) if isinstance(inventory, Inventory) else ()
    if node in network.interfaces:
        return _stated(network.interfaces[node], node, there, inventory)
    if isinstance(inventory, Skipped):
        return Skipped(f"{inventory.reason}; name its interface for {network.name}")
    fitting = tuple(one for one in there if _fits(one, network))
    if network.match == Match():
        inside = ipaddress.ip_network(subnet)
        fitting = tuple(
            one for one in fitting if any(ipaddress.ip_address(ip) in inside for ip in one.ips)
        ) or tuple(one for one in fitting if all(":" in ip for ip in one.ips))
    if len(fitting) == 1:
        return ChosenInterface(fitting[0].name)
    return _undecided(network, node, fitting, there)


def candidates(inventory: Inventory) -> tuple[Candidate, ...]:
    """Every interface but the loopback, whichever source knows it."""
    on = {name: adapter for adapter in inventory.adapters for name in adapter.interfaces}
    every = (one for one in inventory.interfaces if one.driver != "loopback")
    seen = {one.name: one for one in every if one.name != "lo"}
    names = dict.fromkeys((*seen, *on))
    return tuple(_candidate(name, on.get(name), seen.get(name)) for name in names)


def _candidate(name: str, adapter: Adapter | None, interface: Interface | None) -> Candidate:
    """IPoIB's driver does not say whether it runs on Omni-Path."""
    drivers = [one.driver for one in (adapter, interface) if one and isinstance(one.driver, str)]
    kinds = ("infiniband", "omni-path") if "ipoib" in "".join(drivers) else ("ethernet",)
    words = (adapter.vendor, adapter.product) if adapter else ()
    rates: list[float] = []
    if adapter and not isinstance(adapter.modes, Skipped):
        rates += adapter.modes.supported_bit_s
    if interface and isinstance(interface.speed_bit_s, float):
        rates.append(interface.speed_bit_s)
    return Candidate(
        name, (adapter.kind,) if adapter else kinds,
        " ".join(word for word in words if isinstance(word, str)),
        drivers[0] if drivers else "",
        adapter.bus if adapter and isinstance(adapter.bus, str) else "",
        tuple(rates), tuple(one.ip for one in interface.addresses) if interface else (),
    )  # fmt: skip


def _stated(
    name: str, node: str, there: Sequence[Candidate], inventory: Inventory | Skipped
) -> ChosenInterface | Skipped:
    if any(one.name == name for one in there):
        return ChosenInterface(name)
    if isinstance(inventory, Inventory) and not isinstance(inventory.node, Skipped):
        first = "; make it first: configure makes no bond, bridge or VLAN"
        return Skipped(
            f"{node} has no interface {name}; it has {_names(there)}"
            f"{first if _MADE.fullmatch(name) else ''}"
        )
    return ChosenInterface(name, f"no source shows {name} of {node}; it is taken as stated")


def _fits(one: Candidate, network: NetworkDescription) -> bool:
    match = network.match
    rate = match.rate_bit_s
    if isinstance(rate, Skipped):
        rate = network.rate_bit_s if match == Match() and one.rates_bit_s else rate
    return (
        (match.kind or network.kind) in one.kinds
        and match.product.casefold() in one.product.casefold()
        and match.driver in ("", one.driver)
        and match.bus in ("", one.bus)
        and (isinstance(rate, Skipped) or rate in one.rates_bit_s)
    )


def _undecided(
    network: NetworkDescription, node: str, fitting: Sequence[Candidate], there: Sequence[Candidate]
) -> Skipped:
    sought = ", ".join(_sought(network)) or f"kind {network.kind}"
    if not fitting:
        return Skipped(
            f"{node} has no interface for {network.name} ({sought}); it has {_names(there)}"
        )
    return Skipped(
        f"{node} has {len(fitting)} interfaces for {network.name} ({sought}): {_names(fitting)};"
        f' say which: interface = {{ {node} = "{fitting[0].name}" }}'
    )


def _sought(network: NetworkDescription) -> Iterator[str]:
    for word in ("product", "driver", "bus"):
        if value := getattr(network.match, word):
            yield f"{word} {value}"
    yield f"kind {network.match.kind or network.kind}"
    rate = network.match.rate_bit_s
    if not isinstance(rate, Skipped):
        yield f"rate {link_rate(rate)}"


def _names(there: Sequence[Candidate]) -> str:
    more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
    return (", ".join(one.name for one in there[:_NAMED]) or "none") + more
