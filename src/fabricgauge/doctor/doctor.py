"""The preflight: ask the nodes, let them try each other, run the checks."""

from collections.abc import Callable, Sequence
from itertools import count
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


def diagnose(
    access: HostAccess, declared: tuple[DeclaredNetwork, ...], checks: tuple[str, ...],
    stage: Stage, *, networks: tuple[str, ...] = (), seconds: float = 0.0, head: str = "",
) -> Diagnosis:  # fmt: skip
    """Survey the nodes, let them try each other, and return all findings.

    ``networks`` are names or subnets, all if empty. Counters are watched for ``seconds``. ``head``
    is the name of the machine that starts ``mpiexec``, if it is to be checked as well. It need not
    be like any node.

    Raises:
        CannotRun: no node answered, or no network has one of the names.
    """
    hosts, trials_done = access.hosts, count(1)
    if head and all(access.head_prefix != host.prefix for host in hosts):
        hosts = (*hosts, Host(head, access.head_prefix))
    with_head = msgspec.structs.replace(access, hosts=hosts)
    stage(f"asking {len(hosts):,} nodes for their hardware and settings")
    inventories, fabric = survey_nodes(with_head, declared)
    if not fabric.nodes and not fabric.unreached:
        raise CannotRun("no nodes; name nodes with -w")
    fabric = _with_named_networks(fabric, networks)
    trials = {trial for check in load_checks(checks) for trial in check.trials}
    stage("nodes try each other")

    def keep(_node: str, _raw: str) -> None:
        number, nodes = next(trials_done), len(fabric.nodes)
        if number % TRIALS_PER_REPORT == 0:
            stage(f"{number:,} trials done; each of {nodes:,} nodes makes one or two")

    preflight = run_trials(
        with_head, fabric, fabric.ip_networks, seconds, keep=keep, selected=trials
    )
    if "addresses" in checks and not head:
        found_head = discover_head(access, head_name(access), fabric, lambda *_: None)
        preflight = msgspec.structs.replace(preflight, head=found_head)
    if "connect" in trials:
        preflight = _connected(preflight, access, stage)
    return run_checks(_with_inventories(preflight, inventories, head), checks)


def find_wrong_names(
    access: HostAccess, declared: tuple[DeclaredNetwork, ...]
) -> tuple[Finding, ...]:
    """Return findings on names that nodes and the head resolve wrongly."""
    head = head_name(access)
    head = "" if head in access.nodes else head
    return diagnose(access, declared, ("names",), lambda _: None, head=head).findings


def _connected(preflight: Preflight, access: HostAccess, stage: Stage) -> Preflight:
    stage("nodes connect to each other")
    connectivities = connectivity(access, preflight.fabric.ip_networks, lambda _node, _raw: None)
    if isinstance(connectivities, Skipped):
        untried = {**preflight.untried, "connect": connectivities.reason}
        return msgspec.structs.replace(preflight, untried=untried)
    return msgspec.structs.replace(preflight, connectivity=connectivities)


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
    classes = classify_nodes([inventory for inventory in inventories if inventory.name != head])
    like_nodes = tuple(node_class.nodes for node_class in classes)
    return msgspec.structs.replace(preflight, inventories=inventories, alike=like_nodes)


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
    for name in names:
        if not any(name in (network.name, network.subnet) for network in matching):
            available = ", ".join(network.name for network in fabric.ip_networks) or "none"
            raise CannotRun(f"no network {name!r} joins these nodes; available: {available}")
    wires = {network.wire for network in matching}
    ports = tuple(
        network for network in fabric.networks if network.has_rdma_ports and network.wire in wires
    )
    return msgspec.structs.replace(fabric, networks=(*matching, *ports))
