"""The preflight: ask the nodes, let them try each other, run the checks."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from fabricgauge.doctor.checks import load_checks
from fabricgauge.doctor.examining import examine
from fabricgauge.doctor.places import Cluster
from fabricgauge.doctor.survey import read_bundle, survey_nodes
from fabricgauge.lab.host_access import head_name
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.finding import Diagnosis, Finding
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.preflight import Preflight
from fabricgauge.nodes.connectivity import connectivity
from fabricgauge.nodes.discover.interface import discover_head
from fabricgauge.nodes.discover.likeness import classify_nodes
from fabricgauge.nodes.discover.trials import run_trials

#: Receives the name of each stage.
Stage = Callable[[str], None]

#: Trials that nodes may not have made, by the words of ``Preflight.untried``.
UNTRIED = ("ping", "mtu", "names", "clocks", "counters", "connect")

#: Progress is reported after this many trials.
TRIALS_PER_REPORT = 250


class DoctorRequest(msgspec.Struct, frozen=True):
    """Say what a preflight looks at: ``networks`` by name or subnet, all if empty.

    ``head`` is the name of the machine that starts ``mpiexec``, if it is to be checked as well. It
    need not be like any node.
    """

    access: HostAccess
    declared: tuple[DeclaredNetwork, ...]
    networks: tuple[str, ...]
    checks: tuple[str, ...]
    seconds: float
    head: str = ""


def diagnose(request: DoctorRequest, stage: Stage) -> Diagnosis:
    """Survey the nodes, let them try each other, and return all findings.

    Raises:
        CannotRun: no node answered, or no network has one of the names.
    """
    access = _with_head(request.access, request.head)
    stage(f"asking {len(access.nodes):,} nodes for their hardware and settings")
    inventories, fabric = survey_nodes(access, request.declared)
    if not fabric.nodes and not fabric.unreached:
        raise CannotRun("no nodes; name nodes with -w")
    fabric = _with_named_networks(fabric, request.networks)
    trials = {trial for check in load_checks(request.checks) for trial in check.trials}
    stage("nodes try each other")
    counted = _count_trials(len(fabric.nodes), stage)
    networks = fabric.ip_networks
    preflight = run_trials(access, fabric, networks, request.seconds, keep=counted, selected=trials)
    if "addresses" in request.checks and not request.head:
        head = discover_head(request.access, head_name(request.access), fabric, lambda *_: None)
        preflight = msgspec.structs.replace(preflight, head=head)
    if "connect" in trials:
        preflight = _connected(preflight, request.access, stage)
    return run_checks(_with_inventories(preflight, inventories, request.head), request.checks)


def find_wrong_names(
    access: HostAccess, declared: tuple[DeclaredNetwork, ...]
) -> tuple[Finding, ...]:
    """Return findings on names that nodes and the head resolve wrongly."""
    head = head_name(access)
    request = DoctorRequest(
        access, declared, (), ("names",), 0.0, "" if head in access.nodes else head
    )
    return diagnose(request, lambda _: None).findings


def _connected(preflight: Preflight, access: HostAccess, stage: Stage) -> Preflight:
    stage("nodes connect to each other")
    connectivities = connectivity(access, preflight.fabric.ip_networks, lambda _node, _raw: None)
    if isinstance(connectivities, Skipped):
        untried = {**preflight.untried, "connect": connectivities.reason}
        return msgspec.structs.replace(preflight, untried=untried)
    return msgspec.structs.replace(preflight, connectivity=connectivities)


def _with_head(access: HostAccess, head: str) -> HostAccess:
    """Add the head as a host, unless it is among the nodes."""
    if not head or any(access.head_prefix == host.prefix for host in access.hosts):
        return access
    return msgspec.structs.replace(access, hosts=(*access.hosts, Host(head, access.head_prefix)))


def _count_trials(count: int, stage: Stage) -> Callable[[str, str], None]:
    """Return a callback that counts trials and reports to ``stage``."""
    trials_done = 0

    def counted(_node: str, _raw: str) -> None:
        nonlocal trials_done
        trials_done += 1
        if trials_done % TRIALS_PER_REPORT == 0:
            stage(f"{trials_done:,} trials done; each of {count:,} nodes makes one or two")

    return counted


def diagnose_bundle(
    path: Path,
    declared: tuple[DeclaredNetwork, ...],
    networks: tuple[str, ...],
    checks: tuple[str, ...],
) -> Diagnosis:
    """Run the checks on a bundle; nothing is tried on nodes.

    Raises:
        StoreError: the bundle cannot be read.
        CannotRun: no network has one of the names.
    """
    content = read_bundle(path, declared)
    fabric = _with_named_networks(content.fabric, networks)
    untried = dict.fromkeys(UNTRIED, "a bundle was read; nothing was tried")
    preflight = Preflight(fabric, (), untried=untried, subnet=content.subnet)
    return run_checks(_with_inventories(preflight, content.inventories), checks, content.unread)


def _with_inventories(
    preflight: Preflight, inventories: tuple[Inventory, ...], head: str = ""
) -> Preflight:
    node_classes = classify_nodes(
        [inventory for inventory in inventories if inventory.name != head]
    )
    classes_of_nodes = tuple(node_class.nodes for node_class in node_classes)
    return msgspec.structs.replace(preflight, inventories=inventories, alike=classes_of_nodes)


def run_checks(
    preflight: Preflight, checks: Sequence[str] | None = None, unread: tuple[str, ...] = ()
) -> Diagnosis:
    """Run the checks on a preflight from any source.

    ``unread`` are files of a bundle that no reader understands.
    """
    fabric = preflight.fabric
    lost = {node.name for node in fabric.unreached}
    return Diagnosis(
        checked=examine(preflight, checks),
        nodes=tuple(node.name for node in Cluster(preflight).nodes),
        networks=tuple(network.name for network in fabric.ip_networks),
        seconds=preflight.seconds if fabric.nodes else 0.0,
        untried=preflight.untried,
        virtual=fabric.virtual,
        unread=unread,
        troubles={
            inventory.name: inventory.troubles
            for inventory in preflight.inventories
            if inventory.troubles and inventory.name not in lost
        },
    )


def _with_named_networks(fabric: Fabric, names: Sequence[str]) -> Fabric:
    """Keep the named networks and those of ports on the same wires; all networks without names."""
    if not names:
        return fabric
    matching = tuple(
        network for network in fabric.ip_networks if {network.name, network.subnet} & set(names)
    )
    missing = [
        w for w in names if not any(w in (network.name, network.subnet) for network in matching)
    ]
    if missing:
        available = ", ".join(network.name for network in fabric.ip_networks) or "none"
        raise CannotRun(f"no network {missing[0]!r} joins these nodes; available: {available}")
    wires = {network.wire for network in matching}
    ports = tuple(
        network for network in fabric.networks if network.has_rdma_ports and network.wire in wires
    )
    return msgspec.structs.replace(fabric, networks=(*matching, *ports))
