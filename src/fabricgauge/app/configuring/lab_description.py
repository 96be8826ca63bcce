"""What a lab's own networks should be, as a description: so that a broken lab can be mended."""

from collections.abc import Collection

from fabricgauge.configure.description import Description, NetworkDescription
from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabNetwork, LabState
from fabricgauge.model.errors import UsageError


def lab_description(state: LabState, nodes: Collection[str], backend: str) -> Description:
    """Every network of the lab, for these nodes; the first one's ends have the nodes' plain names.

    Raises:
        UsageError: a backend that no lab has.
    """
    if backend not in ("", "ip"):
        raise UsageError(
            f"a lab's nodes have no {backend}; without a FILE only the backend ip fits"
        )
    return Description(
        origin=f"lab {state.name}",
        backend="ip",
        networks=tuple(_network(state, network, nodes) for network in state.networks),
    )


def _network(state: LabState, network: LabNetwork, nodes: Collection[str]) -> NetworkDescription:
    chosen = tuple(node for node in state.nodes if node.index and node.name in nodes)
    return NetworkDescription(
        name=network.name,
        subnet=network.subnet,
        kind="ethernet",
        nodes=tuple(node.name for node in chosen),
        interfaces={node.name: network.interface for node in chosen},
        rate_bit_s=network.rate_bit_s,
        mtu_bytes=network.mtu_bytes,
        suffix=f"-{network.name}",
        addresses={node.name: address(network.index, node.index) for node in chosen},
        plain=network.index == 0,
        exclusive=True,
    )
