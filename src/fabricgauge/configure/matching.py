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
    """An interface with the adapter that it is on, as far as each is known."""

    name: str
    adapter: Adapter | Skipped
    interface: Interface | Skipped

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it may be: IPoIB's driver does not say whether it runs on Omni-Path."""
        if isinstance(self.adapter, Adapter):
            return (self.adapter.kind,)
        driver = self.interface.driver if isinstance(self.interface, Interface) else ""
        if isinstance(driver, str) and "ipoib" in driver:
            return ("infiniband", "omni-path")
        return ("ethernet",)

    @property
    def rates_bit_s(self) -> tuple[float, ...]:
        """What it runs at, and what it could."""
        found: list[float] = []
        if isinstance(self.adapter, Adapter) and not isinstance(self.adapter.modes, Skipped):
            found += self.adapter.modes.supported_bit_s
        if isinstance(self.interface, Interface) and isinstance(self.interface.speed_bit_s, float):
            found.append(self.interface.speed_bit_s)
        return tuple(found)


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
        fitting = tuple(one for one in fitting if _in_subnet(one, subnet)) or tuple(
            one for one in fitting if not _addressed(one)
        )
    if len(fitting) == 1:
        return ChosenInterface(fitting[0].name)
    return _undecided(network, node, fitting, there)


def candidates(inventory: Inventory) -> tuple[Candidate, ...]:
    """Every interface but the loopback, whichever source knows it."""
    on = {name: adapter for adapter in inventory.adapters for name in adapter.interfaces}
    seen = {} if isinstance(inventory.node, Skipped) else {
        one.name: one for one in inventory.node.interfaces if one.driver != "loopback"
        and one.name != "lo"
    }  # fmt: skip
    unknown = Skipped("no source knows it")
    return tuple(
        Candidate(name, on.get(name, unknown), seen.get(name, unknown))
        for name in dict.fromkeys((*seen, *on))
    )


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
        and match.product.casefold() in _product(one).casefold()
        and match.driver in ("", _driver(one))
        and match.bus in ("", _bus(one))
        and (isinstance(rate, Skipped) or rate in one.rates_bit_s)
    )


def _product(one: Candidate) -> str:
    if isinstance(one.adapter, Skipped):
        return ""
    words = (one.adapter.vendor, one.adapter.product)
    return " ".join(word for word in words if isinstance(word, str))


def _driver(one: Candidate) -> str | Skipped:
    if isinstance(one.adapter, Adapter) and isinstance(one.adapter.driver, str):
        return one.adapter.driver
    return one.interface.driver if isinstance(one.interface, Interface) else one.interface


def _bus(one: Candidate) -> str | Skipped:
    return one.adapter if isinstance(one.adapter, Skipped) else one.adapter.bus


def _in_subnet(one: Candidate, subnet: str) -> bool:
    if isinstance(one.interface, Skipped):
        return False
    network = ipaddress.ip_network(subnet)
    return any(ipaddress.ip_address(held.ip) in network for held in one.interface.addresses)


def _addressed(one: Candidate) -> bool:
    return isinstance(one.interface, Interface) and any(
        ":" not in held.ip for held in one.interface.addresses
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
