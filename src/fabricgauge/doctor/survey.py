"""Survey nodes, live or from a bundle, and find their networks."""

from pathlib import Path

from fabricgauge.doctor.examining import examine
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.finding import Severity
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.inventory import Inventory, Subnet
from fabricgauge.model.preflight import Preflight
from fabricgauge.model.surveyed import BundleContent, Surveyed
from fabricgauge.nodes.discover.interface import (
    SURVEY_TIMEOUT_S,
    Keep,
    build_surveyed_fabric,
    survey,
)
from fabricgauge.nodes.discover.likeness import classify_nodes
from fabricgauge.nodes.discover.ports import classify_ports
from fabricgauge.nodes.discover.printouts.parsing import Parts
from fabricgauge.nodes.discover.printouts.subnet import (
    is_subnet_printout,
    merge_subnets,
    parse_subnet,
)
from fabricgauge.nodes.discover.printouts.table import parse_named
from fabricgauge.nodes.discover.sections import split_by_node
from fabricgauge.nodes.discover.survey.understand import ANSWER, build_inventory
from fabricgauge.store.bundle import Bundle


def survey_nodes(
    access: HostAccess,
    declared: tuple[DeclaredNetwork, ...],
    *,
    timeout_s: float = SURVEY_TIMEOUT_S,
    keep: Keep = lambda node, raw, trouble: None,
    partial: bool = False,
) -> tuple[tuple[Inventory, ...], Fabric]:
    """Ask every node at once; return an inventory for each node of ``access``, and the fabric.

    ``keep(node, raw, trouble)`` receives each answer as it arrives, before it is parsed. A node
    that is not done within ``timeout_s`` counts with its output so far. With ``partial`` an
    interrupt ends the asking, and the answers so far are returned.

    Raises:
        UsageError: a declared subnet is invalid.
    """
    inventories = survey(access, timeout_s=timeout_s, keep=keep, parse=parse_named, partial=partial)
    return inventories, build_surveyed_fabric(inventories, declared, access.virtual)


def read_bundle(path: Path, declared: tuple[DeclaredNetwork, ...] = ()) -> BundleContent:
    """Read inventories and fabric from a bundle of ``discover -o``, or from collected printouts.

    A file that cannot be read goes to ``unread``; the others still count.

    Raises:
        StoreError: no directory, a damaged index, or an empty bundle.
        UsageError: a declared subnet is invalid.
    """
    bundle = Bundle(path)
    index, unread = bundle.index, list(bundle.unread)
    shared: dict[str, dict[str, str]] = {}
    subnets: list[Subnet] = []
    for name, text in bundle.shared.items():
        if subnet := parse_subnet(name, text):
            subnets.append(subnet)
        elif is_subnet_printout(name):
            unread.append(f"{name}: {_NO_SUBNET}")
        elif (per_node := _split_by_node(name, text, index.nodes)) is not None:
            shared[name] = per_node
        else:
            unread.append(f"{name}: {_UNLABELLED}")
    nodes = dict.fromkeys((*bundle.nodes, *(node for per in shared.values() for node in per)))
    if not nodes and not subnets:
        raise StoreError(
            f"{path} holds no answers of nodes; expected {path}/NODE/{ANSWER}.txt, or a tool's "
            f"printout there, or files in which every line begins with NODE and a colon"
            + "".join(f"; {reason}" for reason in unread)
        )
    inventories: list[Inventory] = []
    for node in nodes:
        printouts = {name: per[node] for name, per in shared.items() if node in per}
        printouts |= bundle.printouts(node)
        for name in filter(is_subnet_printout, [*printouts]):
            text = printouts.pop(name)
            if subnet := parse_subnet(name, text):
                subnets.append(subnet)
            else:
                unread.append(f"{node}/{name}: {_NO_SUBNET}")
        trouble = index.troubles.get(node, "")
        inventories.append(build_inventory(node, printouts, trouble, parse_named))
    fabric = build_surveyed_fabric(inventories, (*index.declared, *declared), index.virtual)
    return BundleContent(tuple(inventories), fabric, merge_subnets(subnets), tuple(unread))


_NO_SUBNET = "it has no active link and no error counters of a port"

_UNLABELLED = (
    "not every line begins with a node's name and a colon, as in the output of pdsh and clush;"
    " put the printout of a single node into a folder of the node's name"
)


def _split_by_node(name: str, text: str, nodes: tuple[str, ...]) -> dict[str, str] | None:
    """Return the lines of each node; None if they are not labelled."""

    def has_content(lines: str) -> bool:
        parts = parse_named(name, lines)
        return parts is not None and parts != Parts(troubles=parts.troubles)

    lines_by_node = split_by_node(text, nodes)
    if not lines_by_node or not text.strip():
        return None if text.strip() else lines_by_node
    # Lines ``KEY: VALUE``, as many tools print them, may be one node's printout.
    is_labelled = any(map(has_content, lines_by_node.values())) or not has_content(text)
    return lines_by_node if is_labelled else None


NO_SUBNET = Subnet()

#: Checks of doctor that explain why an adapter, a port or a link carries less than it could, or
#: nothing.
_LIMITS = ("port", "pcie", "rdma-rate", "subnet-links", "port-errors")


def conclude_survey(
    inventories: tuple[Inventory, ...],
    fabric: Fabric,
    unread: tuple[str, ...] = (),
    subnet: Subnet = NO_SUBNET,
) -> Surveyed:
    """Derive from a survey: classes of equal nodes, nodes that differ, limits, ceilings."""
    joined = {(member.node, member.interface) for net in fabric.networks for member in net.members}
    ports = classify_ports(inventories, joined)
    node_classes = classify_nodes(inventories, fabric.ip_networks)
    node_groups = tuple(node_class.nodes for node_class in node_classes)
    preflight = Preflight(fabric, inventories, alike=node_groups, subnet=subnet)
    return Surveyed(
        inventories=inventories,
        fabric=fabric,
        classes=node_classes,
        ports=ports,
        ceilings=ceilings((*fabric.networks, *(port_class.network for port_class in ports))),
        limits=tuple(
            finding
            for check in examine(preflight, _LIMITS)
            for finding in check.findings
            if (check.check, finding.severity) != ("port", Severity.NOTE)  # it is not in use
        ),
        unread=unread,
    )
