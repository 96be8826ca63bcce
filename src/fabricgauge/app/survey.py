"""All that nodes say of themselves, asked now or read from a bundle, with their networks."""

from pathlib import Path

from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.discover.interface import SURVEY_TIMEOUT_S, Keep, survey, surveyed_fabric
from fabricgauge.discover.likeness.classes import classes
from fabricgauge.discover.ports import port_classes
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.printouts.table import parse_named
from fabricgauge.discover.sections import by_node
from fabricgauge.discover.survey.understand import ANSWER, understood
from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.surveyed import Surveyed
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
    return found, surveyed_fabric(found, declared, access.virtual)


def read_bundle(
    path: Path, declared: tuple[DeclaredNetwork, ...] = ()
) -> tuple[tuple[Inventory, ...], Fabric]:
    """The same from a bundle: one that ``discover -o`` wrote, or printouts put together by hand.

    Raises:
        StoreError: no directory, a damaged index, or nothing in it.
        UsageError: a declared subnet is none.
    """
    bundle = Bundle(path)
    index = bundle.index
    shared = {name: _by_node(bundle, name) for name in bundle.shared}
    nodes = dict.fromkeys((*bundle.nodes, *(node for per in shared.values() for node in per)))
    if not nodes:
        raise StoreError(
            f"{path} holds no node's answers; expected {path}/NODE/{ANSWER}.txt, or a tool's "
            f"printout there, or files in which every line begins with NODE and a colon"
        )
    found = tuple(
        understood(
            node,
            {**{name: per[node] for name, per in shared.items() if node in per}, **bundle.of(node)},
            index.troubles.get(node, ""),
            parse_named,
        )
        for node in nodes
    )
    return found, surveyed_fabric(found, (*index.declared, *declared), index.virtual)


def _by_node(bundle: Bundle, name: str) -> dict[str, str]:
    text = bundle.shared[name]
    found = by_node(text, bundle.index.nodes)
    if not text.strip() or (found and not _is_one_nodes(name, text, found)):
        return found
    raise StoreError(
        f"{bundle.path}/{name}: not every line begins with its node's name and a colon, as pdsh "
        f"and clush write it; put a single node's printout into {bundle.path}/NODE/"
    )


def _is_one_nodes(name: str, text: str, found: dict[str, str]) -> bool:
    """Many tools print ``KEY: VALUE``: such a file means something as it stands alone."""
    return not any(_says(name, one) for one in found.values()) and _says(name, text)


def _says(name: str, text: str) -> bool:
    parts = parse_named(name, text)
    return parts is not None and parts != Parts(troubles=parts.troubles)


def concluded(inventories: tuple[Inventory, ...], fabric: Fabric) -> Surveyed:
    """What follows from a survey: classes of like nodes, odd ones, ceilings."""
    joined = {(one.node, one.interface) for net in fabric.networks for one in net.members}
    ports = port_classes(inventories, joined)
    return Surveyed(
        inventories=inventories,
        fabric=fabric,
        classes=classes(inventories, fabric.ip_networks),
        ports=ports,
        ceilings=ceilings((*fabric.networks, *(one.network for one in ports))),
    )
