"""Make a plan: facts, a first draft, the nodes' replies to its questions, the plan."""

from collections.abc import Collection

import msgspec

from fabricgauge.features.configure.apply.hosts import PlanHosts, ask_hosts
from fabricgauge.features.configure.description import Description, NetworkDescription
from fabricgauge.features.configure.interface import checks, draft, plan, questions
from fabricgauge.features.configure.values import Configuration
from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabNetwork, LabState
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.inventory import Inventory


def make_plan(
    description: Description, inventories: tuple[Inventory, ...], hosts: PlanHosts | Skipped
) -> Configuration:
    """Make the plan; without hosts nothing is asked, and only the facts show what is fulfilled.

    Raises:
        UsageError: the description does not fit the nodes.
    """
    job = draft(description, inventories)
    if isinstance(hosts, Skipped):
        return plan(job)
    job = msgspec.structs.replace(job, replies=ask_hosts(hosts, questions(job)))
    first = plan(job)
    more = tuple(command for command in checks(first) if command not in job.replies)
    return plan(msgspec.structs.replace(job, replies={**job.replies, **ask_hosts(hosts, more)}))


def require_answers(description: Description, inventories: tuple[Inventory, ...]) -> None:
    """Refuse to plan for nodes that could not be asked.

    Raises:
        CannotRun: a node did not answer; each is named with the reason.
    """
    silent = [
        f"{inventory.name}: {inventory.node.reason}"
        for inventory in inventories
        if inventory.name in description.nodes
        and isinstance(inventory.node, Skipped)
        and not inventory.sources
    ]
    if silent:
        raise CannotRun(
            "cannot plan for nodes that cannot be asked; exclude them with -x, or use a bundle: "
            + "; ".join(silent[:20])
        )


def lab_description(state: LabState, nodes: Collection[str], backend: str) -> Description:
    """Describe every network of the lab for these nodes. In the first, each end has its node's
    name.

    Raises:
        UsageError: a backend that no lab has.
    """
    if backend not in ("", "ip"):
        raise UsageError(f"a lab's nodes have no {backend}; without a FILE use the backend ip")
    return Description(
        origin=f"lab {state.name}",
        backend="ip",
        networks=tuple(_lab_network(state, network, nodes) for network in state.networks),
    )


def _lab_network(
    state: LabState, network: LabNetwork, nodes: Collection[str]
) -> NetworkDescription:
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
