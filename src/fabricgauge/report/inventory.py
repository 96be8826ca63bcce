"""What discovery found, as a page of text: nodes, networks, and each ceiling's sum."""

from collections.abc import Iterator, Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric, Interface, Network, Node
from fabricgauge.report.quantities import link_rate, of_unit
from fabricgauge.report.visible import visible


def render(fabric: Fabric, ceilings: Mapping[str, Ceiling | Skipped]) -> str:
    """One block per node, then one per network."""
    lines: list[str] = []
    for node in fabric.nodes:
        lines += _node(node)
    lines += [
        f"{visible(lost.name)}: not reached: {visible(lost.reason)}" for lost in fabric.unreached
    ]
    lines += [f"not joined: {visible(sentence)}" for sentence in fabric.unjoined]
    for network in fabric.networks:
        lines += _network(network, ceilings[network.name])
    if not fabric.networks:
        lines.append("no network joins these nodes")
    return "\n".join(lines)


def _node(node: Node) -> Iterator[str]:
    yield f"{visible(node.name)}: {node.cpu_count} processors, Linux {visible(node.kernel)}"
    for interface in node.interfaces:
        if interface.name != "lo":
            yield "  " + _interface(interface)


def _interface(interface: Interface) -> str:
    speed = interface.speed_bit_s
    parts = [
        visible(interface.name),
        interface.driver if isinstance(interface.driver, str) else "driver unknown",
        interface.operstate,
        speed.reason if isinstance(speed, Skipped) else link_rate(speed),
        f"MTU {interface.mtu_bytes}",
        *(f"{address.ip}/{address.prefix_length}" for address in interface.addresses),
    ]
    return ", ".join(visible(part) for part in parts)


def _network(network: Network, ceiling: Ceiling | Skipped) -> Iterator[str]:
    members = ", ".join(f"{m.node}:{m.interface}" for m in network.members)
    yield ""
    yield f"network {visible(network.name)} ({network.subnet}), {network.technology}"
    yield f"  members: {visible(members)}"
    yield f"  rate: {visible(network.rate_origin)}"
    if isinstance(ceiling, Skipped):
        yield f"  ceiling not known: {visible(ceiling.reason)}"
        return
    for step in ceiling.steps:
        yield f"  {step.label}: {step.expression} = {of_unit(step.value, step.unit)}"
