"""The checks, one row each, from the basic to what builds on it; a module is loaded when used.

A check is a value ``Check``; ``make_finding`` makes its findings.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import msgspec

from fabricgauge.doctor.places import Cluster, KnownNode, Place, Port
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Checked, Command, Finding, Severity
from fabricgauge.model.preflight import Trial


class Check(msgspec.Struct, frozen=True):
    """One check; ``id`` is the heading of its section in the docs.

    ``title`` states what holds on a sound cluster, ``why`` what a fault does to the figures.
    ``places`` returns the places to examine; if it returns none, ``no_places`` is the reason.
    ``examine`` yields one finding for each faulty place; findings with the same sentence are merged
    later. ``remedy`` is for findings without a remedy of their own. ``shared`` is the reason why
    the nodes of a lab are not checked: what they share on one machine. ``trials`` are the trials
    that the check reads.
    """

    id: str
    title: str
    why: str
    places: Callable[[Cluster], Any]
    no_places: str | Callable[[Cluster], str]
    examine: Callable[[Cluster, Any], Iterable[Finding]]
    remedy: str = ""
    shared: str = ""
    trials: tuple[Trial, ...] = ()

    def run(self, cluster: Cluster) -> Checked:
        """Return the findings, or the reason why nothing was checked."""
        if self.shared and cluster.preflight.fabric.virtual:
            return Checked(self.id, self.title, (), Skipped(self.shared))
        places = self.places(cluster)
        if not places:
            reason = self.no_places if isinstance(self.no_places, str) else self.no_places(cluster)
            return Checked(self.id, self.title, (), Skipped(reason))
        findings = []
        for finding in self.examine(cluster, places):
            texts = {"why": finding.why or self.why, "remedy": finding.remedy or self.remedy}
            findings.append(msgspec.structs.replace(finding, check=self.id, **texts))
        return Checked(self.id, self.title, tuple(findings))


def examine_separately(
    examine: Callable[[Any], Iterable[Finding]],
) -> Callable[..., Iterator[Finding]]:
    """Return an ``examine`` for a check that looks at each place alone."""
    return lambda cluster, places: (finding for place in places for finding in examine(place))


def explain_untried(trial: str, default: str) -> Callable[[Cluster], str]:
    """Return a ``no_places`` that gives the reason why the nodes did not try ``trial``."""
    return lambda cluster: cluster.preflight.untried.get(trial, default)


def explain_no_answer(cluster: Cluster) -> str:
    """Return why no node can be checked that must answer for itself."""
    return "only printouts of tools are available" if cluster.nodes else "no node answered"


def make_finding(
    severity: Severity,
    place: KnownNode | Place | Port | str,
    summary: str,
    *evidence: str,
    remedy: str = "",
    why: str = "",
    nodes: Sequence[str] = (),
    network: str = "",
    mends: Iterable[Command] = (),
    affects: Iterable[str] = (),
) -> Finding:
    """Return a finding of the check that runs; it takes node and network from ``place``.

    ``why`` and ``remedy`` replace those of the check.
    """
    if isinstance(place, KnownNode):
        nodes, place = (place.name,), place.name
    elif not isinstance(place, str):
        nodes, network, place = (place.node.name,), network or place.network_name, place.label
    return Finding(
        "", severity, place, summary, evidence, why, remedy, tuple(nodes), network, tuple(mends),
        tuple(affects),
    )  # fmt: skip


#: By id, the module of this folder and the name of its ``Check``.
CHECKS: dict[str, str] = {
    "reach": "hosts.REACH",
    "adapters": "hardware.ADAPTERS",
    "driver": "hardware.DRIVER",
    "link": "links.LINK",
    "port": "links.PORT",
    "rate": "rates.RATE",
    "rdma-rate": "rates.RDMA_RATE",
    "subnet-links": "subnet.SUBNET_LINKS",
    "gid": "gids.GIDS",
    "priority": "priority.PRIORITY",
    "pcie": "hardware.PCIE",
    "ipoib": "links.IPOIB",
    "mtu": "echoes.MTU",
    "addresses": "addresses.ADDRESSES",
    "members": "subnets.MEMBERS",
    "subnets": "subnets.SUBNETS",
    "arp": "routes.ARP",
    "reverse-path": "routes.REVERSE_PATH",
    "firewall": "firewall.FIREWALL",
    "names": "names.NAMES",
    "ping": "echoes.PING",
    "connect": "connect.CONNECT",
    "carried": "carried.CARRIED",
    "counters": "counters.COUNTERS",
    "port-errors": "subnet.PORT_ERRORS",
    "clocks": "likeness.CLOCKS",
    "limits": "hosts.LIMITS",
    "governor": "hosts.GOVERNOR",
    "idle": "hosts.IDLE",
    "thp": "hosts.THP",
    "iommu": "hosts.IOMMU",
    "acs": "hardware.ACS",
    "gpu": "gpus.GPU",
    "numa": "hardware.NUMA",
    "irqs": "hosts.IRQS",
    "likeness": "likeness.LIKENESS",
}

#: Checks that the quick probe and the connections suffice for. The other checks find nothing
#: without a survey of the nodes or a trial.
QUICK = (
    "reach", "link", "rate", "priority", "ipoib", "mtu", "addresses", "subnets", "connect",
    "limits", "governor", "thp", "likeness",
)  # fmt: skip


def load_checks(check_ids: Collection[str] | None = None) -> tuple[Check, ...]:
    """Return the checks with ``check_ids``, or all checks, in the order of the rows."""
    ids = [check_id for check_id in CHECKS if check_ids is None or check_id in check_ids]
    places = (CHECKS[check_id].partition(".") for check_id in ids)
    return tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, _, name in places)
