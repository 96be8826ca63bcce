"""All that nodes say of themselves, asked now or read from a bundle, with their networks."""

from pathlib import Path

from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.discover.interface import SURVEY_TIMEOUT_S, Keep, build_surveyed_fabric, survey
from fabricgauge.discover.likeness.classes import classify_nodes
from fabricgauge.discover.ports import classify_ports
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.printouts.subnet import is_subnet_printout, merge_subnets, parse_subnet
from fabricgauge.discover.printouts.table import parse_named
from fabricgauge.discover.sections import split_by_node
from fabricgauge.discover.survey.understand import ANSWER, build_inventory
from fabricgauge.doctor.checks.hardware import PCIE
from fabricgauge.doctor.checks.rates import RDMA_RATE
from fabricgauge.doctor.checks.subnet import PORT_ERRORS, SUBNET_LINKS
from fabricgauge.doctor.examining import examine
from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.preflight import Preflight
from fabricgauge.model.subnet import Subnet
from fabricgauge.model.surveyed import BundleContent, Surveyed
from fabricgauge.store.bundle import Bundle


def surveyed(
    access: HostAccess,
    declared: tuple[DeclaredNetwork, ...],
    *,
    timeout_s: float = SURVEY_TIMEOUT_S,
    keep: Keep = lambda node, raw, trouble: None,
    partial: bool = False,
) -> tuple[tuple[Inventory, ...], Fabric]:
    """Ask every node at once: an inventory for each node of ``access``, in order, and the fabric.

    ``keep(node, raw, trouble)`` is handed each answer as it arrives, before it is parsed. A
    node that is not done within ``timeout_s`` is known by what it had printed. With
    ``partial`` an interrupt ends the asking, and what had arrived is returned.

    Raises:
        UsageError: a declared subnet is none.
    """
    found = survey(access, timeout_s=timeout_s, keep=keep, parse=parse_named, partial=partial)
    return found, build_surveyed_fabric(found, declared, access.virtual)


def read_bundle(path: Path, declared: tuple[DeclaredNetwork, ...] = ()) -> BundleContent:
    """The same from a bundle: one that ``discover -o`` wrote, or printouts put together by hand.

    A file that cannot be read costs itself alone and is in ``unread``.

    Raises:
        StoreError: no directory, a damaged index, or nothing in it.
        UsageError: a declared subnet is none.
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
        elif (per_node := _by_node(name, text, index.nodes)) is not None:
            shared[name] = per_node
        else:
            unread.append(f"{name}: {_UNLABELLED}")
    nodes = dict.fromkeys((*bundle.nodes, *(node for per in shared.values() for node in per)))
    if not nodes and not subnets:
        raise StoreError(
            f"{path} holds no node's answers; expected {path}/NODE/{ANSWER}.txt, or a tool's "
            f"printout there, or files in which every line begins with NODE and a colon"
            + "".join(f"; {one}" for one in unread)
        )
    found: list[Inventory] = []
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
        found.append(build_inventory(node, printouts, trouble, parse_named))
    fabric = build_surveyed_fabric(found, (*index.declared, *declared), index.virtual)
    return BundleContent(tuple(found), fabric, merge_subnets(subnets), tuple(unread))


_NO_SUBNET = "it holds no link that is up, and no port's errors"

_UNLABELLED = (
    "not every line begins with its node's name and a colon, as pdsh and clush write it; put a"
    " single node's printout into a folder of the node's name"
)


def _by_node(name: str, text: str, nodes: tuple[str, ...]) -> dict[str, str] | None:
    """The lines of each node; None where they are not labelled."""
    found = split_by_node(text, nodes)
    if not text.strip() or (found and not _is_one_nodes(name, text, found)):
        return found
    return None


def _is_one_nodes(name: str, text: str, found: dict[str, str]) -> bool:
    """Many tools print ``KEY: VALUE``: such a file means something as it stands alone."""
    return not any(_says(name, one) for one in found.values()) and _says(name, text)


def _says(name: str, text: str) -> bool:
    parts = parse_named(name, text)
    return parts is not None and parts != Parts(troubles=parts.troubles)


NO_SUBNET = Subnet()

#: Checks of doctor that say what holds an adapter, a port or a link below what it could carry.
_LIMITS = (PCIE.id, RDMA_RATE.id, SUBNET_LINKS.id, PORT_ERRORS.id)


def concluded(
    inventories: tuple[Inventory, ...],
    fabric: Fabric,
    unread: tuple[str, ...] = (),
    subnet: Subnet = NO_SUBNET,
) -> Surveyed:
    """What follows from a survey: classes of like nodes, odd ones, limits, ceilings."""
    joined = {(one.node, one.interface) for net in fabric.networks for one in net.members}
    ports, sorted_ = (
        classify_ports(inventories, joined),
        classify_nodes(inventories, fabric.ip_networks),
    )
    alike = tuple(one.nodes for one in sorted_)
    preflight = Preflight(fabric, inventories, alike=alike, subnet=subnet)
    checked = examine(preflight, _LIMITS)
    return Surveyed(
        inventories=inventories,
        fabric=fabric,
        classes=sorted_,
        ports=ports,
        ceilings=ceilings((*fabric.networks, *(one.network for one in ports))),
        limits=tuple(finding for one in checked for finding in one.findings),
        unread=unread,
    )
