"""Interfaces and networks in lines of text; whoever prints them makes them visible."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network
from fabricgauge.report.folded import shortened
from fabricgauge.report.quantities import link_rate, of_unit


def interface(one: Interface) -> str:
    """Name, driver, state, rate, MTU and addresses in one line."""
    speed = one.speed_bit_s
    return ", ".join(
        [
            one.name,
            one.driver if isinstance(one.driver, str) else "driver unknown",
            one.operstate,
            speed.reason if isinstance(speed, Skipped) else link_rate(speed),
            f"MTU {one.mtu_bytes}",
            *_ipoib(one),
            *(f"{address.ip}/{address.prefix_length}" for address in one.addresses),
        ]
    )


def _ipoib(one: Interface) -> Iterator[str]:
    if isinstance(one.ipoib, IpoibPort):
        mode = f" in {one.ipoib.mode} mode" if isinstance(one.ipoib.mode, str) else ""
        link = f" on {one.ipoib.link}" if isinstance(one.ipoib.link, str) else ""
        yield f"IPoIB{mode}{link}"


def network(
    one: Network, ceiling: Ceiling | Skipped, ports: tuple[Member, ...] = ()
) -> Iterator[str]:
    """A network with its members and its sum; ``ports`` are those that it stands for."""
    if ports:
        yield f"RDMA ports {one.name}: {listed(ports)}"
    else:
        yield f"network {titled(one)}"
        yield f"  members: {listed(one.members)}"
    yield f"  rate: {one.rate_origin}"
    if isinstance(ceiling, Skipped):
        yield f"  ceiling not known: {ceiling.reason}"
        return
    for step in ceiling.steps:
        yield f"  {step.label}: {step.expression} = {of_unit(step.value, step.unit)}"


def titled(one: Network) -> str:
    """Name, subnet where that is not its name, technology."""
    subnet = f" ({one.subnet})" if one.subnet != one.name else ""
    return f"{one.name}{subnet}, {one.technology}"


def listed(members: tuple[Member, ...]) -> str:
    """``c[1-9]:eth0, c10:eth1``: nodes by the name that they give their interface."""
    nodes: dict[str, list[str]] = {}
    for member in members:
        nodes.setdefault(member.interface, []).append(member.node)
    return ", ".join(f"{shortened(names)}:{name}" for name, names in nodes.items())
