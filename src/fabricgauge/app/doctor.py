"""The preflight: ask the nodes, let them try each other, and let the checks look."""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from fabricgauge.app.connectivity import connectivity
from fabricgauge.app.survey import read_bundle, surveyed
from fabricgauge.discover.likeness.classes import classify_nodes
from fabricgauge.discover.trials import run_trials
from fabricgauge.doctor.checks import CHECKS
from fabricgauge.doctor.checks.names import NAMES
from fabricgauge.doctor.examining import examine
from fabricgauge.doctor.places import Cluster
from fabricgauge.lab.spec import HEAD
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.finding import Diagnosis, Finding
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.preflight import Preflight

#: Told what is being done now.
Stage = Callable[[str], None]

#: What nodes may not have tried, by the words of ``Preflight.untried``.
UNTRIED = ("ping", "mtu", "names", "clocks", "counters", "connect")

#: Progress is told after this many trials.
MANY = 250


class DoctorRequest(msgspec.Struct, frozen=True):
    """What a preflight is to look at: ``networks`` by name or subnet, all without any.

    ``head`` is the name of the machine where ``mpiexec`` is started, if it is to be looked at
    as well: it should be like no node.
    """

    access: HostAccess
    declared: tuple[DeclaredNetwork, ...]
    networks: tuple[str, ...]
    checks: tuple[str, ...]
    seconds: float
    head: str = ""


def diagnose(asked: DoctorRequest, stage: Stage) -> Diagnosis:
    """All that the checks find.

    Raises:
        CannotRun: no node answered, or no network has one of the names.
    """
    access = _with_head(asked.access, asked.head)
    stage(f"asking {len(access.nodes):,} nodes what they are")
    inventories, fabric = surveyed(access, asked.declared)
    if not fabric.nodes and not fabric.unreached:
        raise CannotRun("there is no node to look at; name nodes with -w")
    fabric = _chosen(fabric, asked.networks)
    wanted = {trial for check in CHECKS if check.id in asked.checks for trial in check.trials}
    stage("letting them try each other")
    counted = _counted(len(fabric.nodes), stage)
    networks = fabric.ip_networks
    preflight = run_trials(access, fabric, networks, asked.seconds, keep=counted, selected=wanted)
    if "connect" in wanted:
        preflight = _connected(preflight, asked.access, stage)
    return diagnosis(_with(preflight, inventories, asked.head), asked.checks)


def head_of(access: HostAccess) -> str:
    """The name of the machine where ``mpiexec`` is started."""
    return HEAD if access.launcher == "lab" else platform.node()


def wrong_names(access: HostAccess, declared: tuple[DeclaredNetwork, ...]) -> tuple[Finding, ...]:
    """What nodes and the head take each other's names for, where it is wrong."""
    head = head_of(access)
    asked = DoctorRequest(
        access, declared, (), (NAMES.id,), 0.0, "" if head in access.nodes else head
    )
    return diagnose(asked, lambda _: None).findings


def _connected(preflight: Preflight, access: HostAccess, stage: Stage) -> Preflight:
    """With the connectivity round."""
    stage("letting them connect to each other")
    made = connectivity(access, preflight.fabric.ip_networks, lambda _node, _raw: None)
    if isinstance(made, Skipped):
        untried = {**preflight.untried, "connect": made.reason}
        return msgspec.structs.replace(preflight, untried=untried)
    return msgspec.structs.replace(preflight, connectivity=made)


def _with_head(access: HostAccess, head: str) -> HostAccess:
    """The same with the head as a host, unless it is among the nodes."""
    if not head or any(access.head_prefix == one.prefix for one in access.hosts):
        return access
    return msgspec.structs.replace(access, hosts=(*access.hosts, Host(head, access.head_prefix)))


def _counted(count: int, stage: Stage) -> Callable[[str, str], None]:
    """A callback that counts trials and tells ``stage`` after every ``MANY`` of them."""
    done = 0

    def counted(_node: str, _raw: str) -> None:
        nonlocal done
        done += 1
        if done % MANY == 0:
            stage(f"{done:,} trials done; {count:,} nodes try one to two times")

    return counted


def diagnose_bundle(
    path: Path,
    declared: tuple[DeclaredNetwork, ...],
    networks: tuple[str, ...],
    checks: tuple[str, ...],
) -> Diagnosis:
    """What the checks find in what was gathered before: nothing is tried.

    Raises:
        StoreError: the bundle cannot be read.
        CannotRun: no network has one of the names.
    """
    content = read_bundle(path, declared)
    fabric = _chosen(content.fabric, networks)
    untried = dict.fromkeys(UNTRIED, "a bundle was read; nothing was tried")
    preflight = Preflight(fabric, (), untried=untried, subnet=content.subnet)
    return diagnosis(_with(preflight, content.inventories), checks, content.unread)


def _with(preflight: Preflight, inventories: tuple[Inventory, ...], head: str = "") -> Preflight:
    alike = tuple(
        one.nodes for one in classify_nodes([one for one in inventories if one.name != head])
    )
    return msgspec.structs.replace(preflight, inventories=inventories, alike=alike)


def diagnosis(
    preflight: Preflight, checks: Sequence[str] | None = None, unread: tuple[str, ...] = ()
) -> Diagnosis:
    """What the checks find in a preflight, however it came to be.

    ``unread`` are files of a bundle that nothing reads.
    """
    fabric = preflight.fabric
    lost = {one.name for one in fabric.unreached}
    return Diagnosis(
        checked=examine(preflight, checks),
        nodes=tuple(node.name for node in Cluster(preflight).nodes),
        networks=tuple(network.name for network in fabric.ip_networks),
        seconds=preflight.seconds if fabric.nodes else 0.0,
        untried=preflight.untried,
        virtual=fabric.virtual,
        unread=unread,
        troubles={
            one.name: one.troubles
            for one in preflight.inventories
            if one.troubles and one.name not in lost
        },
    )


def _chosen(fabric: Fabric, wanted: Sequence[str]) -> Fabric:
    """With the networks that were named and those of ports on the same wires, or with all."""
    if not wanted:
        return fabric
    found = tuple(one for one in fabric.ip_networks if {one.name, one.subnet} & set(wanted))
    missing = [w for w in wanted if not any(w in (one.name, one.subnet) for one in found)]
    if missing:
        there = ", ".join(network.name for network in fabric.ip_networks) or "none"
        raise CannotRun(f"no network {missing[0]!r} joins these nodes; there is {there}")
    wires = {one.wire for one in found}
    ports = tuple(one for one in fabric.networks if one.of_ports and one.wire in wires)
    return msgspec.structs.replace(fabric, networks=(*found, *ports))
