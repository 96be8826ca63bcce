"""Choose a node's interface for a network; pure. Nothing is guessed."""

import ipaddress
import re
from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.features.configure.description import Match, NetworkDescription
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.inventory import Adapter, Inventory
from fabricgauge.model.words.figures import link_rate

#: Usual names of virtual interfaces (systemd.netdev(5), ip-link(8)).
_VIRTUAL_NAME = re.compile(r".+\.[0-9]+|(bond|team|br|vlan)-?[0-9]*")

#: How many candidates a sentence names.
_NAMED = 6


class Candidate(msgspec.Struct, frozen=True):
    """An interface and its adapter; an unknown text is empty.

    ``kinds`` are its possible kinds, ``rates_bit_s`` its present rate and those that it supports.
    """

    name: str
    kinds: tuple[str, ...]
    product: str
    driver: str
    bus: str
    rates_bit_s: tuple[float, ...]
    ips: tuple[str, ...]


class ChosenInterface(msgspec.Struct, frozen=True):
    """``doubt`` is empty, or a sentence: the name was stated, and no source confirms it."""

    interface: str
    doubt: str = ""


def interface_of(
    network: NetworkDescription, subnet: str, node: str, inventory: Inventory | Skipped
) -> ChosenInterface | Skipped:
    """Return a node's interface for a network, or why there is not exactly one.

    In this order: the name in the description; the interface that matches its adapter. Without
    either, the interface with an address in the subnet, or the only one of the kind without any
    address: the node may be reached by an interface with another address.
    """
    interfaces = candidates(inventory) if isinstance(inventory, Inventory) else ()
    if node in network.interfaces:
        return _stated_interface(network.interfaces[node], node, interfaces, inventory)
    if isinstance(inventory, Skipped):
        return Skipped(f"{inventory.reason}; name its interface for {network.name}")
    fitting = tuple(candidate for candidate in interfaces if _fits(candidate, network))
    if network.match == Match():
        inside = ipaddress.ip_network(subnet)
        fitting = tuple(
            candidate
            for candidate in fitting
            if any(ipaddress.ip_address(ip) in inside for ip in candidate.ips)
        ) or tuple(candidate for candidate in fitting if all(":" in ip for ip in candidate.ips))
    if len(fitting) == 1:
        return ChosenInterface(fitting[0].name)
    return _no_choice(network, node, fitting, interfaces)


def candidates(inventory: Inventory) -> tuple[Candidate, ...]:
    """Return every interface but the loopback, of any source."""
    adapters = {name: adapter for adapter in inventory.adapters for name in adapter.interfaces}
    visible = (interface for interface in inventory.interfaces if interface.driver != "loopback")
    by_name = {interface.name: interface for interface in visible if interface.name != "lo"}
    names = dict.fromkeys((*by_name, *adapters))
    return tuple(_candidate(name, adapters.get(name), by_name.get(name)) for name in names)


def _candidate(name: str, adapter: Adapter | None, interface: Interface | None) -> Candidate:
    """Join interface and adapter. IPoIB's driver does not show whether it runs on Omni-Path."""
    drivers = [
        device.driver
        for device in (adapter, interface)
        if device and isinstance(device.driver, str)
    ]
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
        tuple(rates), tuple(address.ip for address in interface.addresses) if interface else (),
    )  # fmt: skip


def _stated_interface(
    name: str, node: str, interfaces: Sequence[Candidate], inventory: Inventory | Skipped
) -> ChosenInterface | Skipped:
    if any(candidate.name == name for candidate in interfaces):
        return ChosenInterface(name)
    if isinstance(inventory, Inventory) and not isinstance(inventory.node, Skipped):
        first = "; make it first: configure makes no bond, bridge or VLAN"
        return Skipped(
            f"{node} has no interface {name}; it has {_names(interfaces)}"
            f"{first if _VIRTUAL_NAME.fullmatch(name) else ''}"
        )
    return ChosenInterface(name, f"no source shows {name} of {node}; the name is used as stated")


def _fits(candidate: Candidate, network: NetworkDescription) -> bool:
    match = network.match
    rate = match.rate_bit_s
    if isinstance(rate, Skipped):
        rate = network.rate_bit_s if match == Match() and candidate.rates_bit_s else rate
    return (
        (match.kind or network.kind) in candidate.kinds
        and match.product.casefold() in candidate.product.casefold()
        and match.driver in ("", candidate.driver)
        and match.bus in ("", candidate.bus)
        and (isinstance(rate, Skipped) or rate in candidate.rates_bit_s)
    )


def _no_choice(
    network: NetworkDescription,
    node: str,
    fitting: Sequence[Candidate],
    interfaces: Sequence[Candidate],
) -> Skipped:
    sought = ", ".join(_criteria(network)) or f"kind {network.kind}"
    if not fitting:
        return Skipped(
            f"{node} has no interface for {network.name} ({sought}); it has {_names(interfaces)}"
        )
    return Skipped(
        f"{node} has {len(fitting)} interfaces for {network.name} ({sought}): {_names(fitting)};"
        f' name one: interface = {{ {node} = "{fitting[0].name}" }}'
    )


def _criteria(network: NetworkDescription) -> Iterator[str]:
    for word in ("product", "driver", "bus"):
        if value := getattr(network.match, word):
            yield f"{word} {value}"
    yield f"kind {network.match.kind or network.kind}"
    rate = network.match.rate_bit_s
    if not isinstance(rate, Skipped):
        yield f"rate {link_rate(rate)}"


def _names(interfaces: Sequence[Candidate]) -> str:
    more = f" and {len(interfaces) - _NAMED} more" if len(interfaces) > _NAMED else ""
    return (", ".join(candidate.name for candidate in interfaces[:_NAMED]) or "none") + more
