"""Evidence from a run's records, gathered once for the rules and all reports."""

from collections.abc import Sequence

from fabricgauge.judge.evidence import connections
from fabricgauge.judge.evidence.placement import locate_ranks
from fabricgauge.judge.evidence.traffic import sum_errors, sum_octets, sum_traffic
from fabricgauge.judge.stats.series import node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchEvidence, NetworkEvidence, RunEvidence
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.memory import CopyRates
from fabricgauge.model.run import Launch, Run


def gather_evidence(run: Run) -> RunEvidence:
    """Return what the run's launches show; imported logs have no counters and placements."""
    networks = dict.fromkeys(launch.network for launch in run.launches)
    # Nodes may boot between two jobs of Slurm.
    return RunEvidence(
        tuple(
            _gather_network(
                run.fabric,
                name,
                [launch for launch in run.launches if launch.network == name],
                boots_once=not any(fact.startswith("Slurm ") for fact in run.environment),
            )
            for name in networks
        )
    )


def _gather_network(
    fabric: Fabric, name: str | None, launches: Sequence[Launch], *, boots_once: bool
) -> NetworkEvidence:
    unknown = Skipped("discovery does not know the network that MPI was pinned to")
    network = next((known for known in fabric.networks if known.name == name), unknown)
    addresses = None if isinstance(network, Skipped) else {member.ip for member in network.members}
    by_launch = tuple(
        LaunchEvidence(
            launch.number,
            bool(launch.completed or launch.figures),
            sum_octets(launch, fabric),
            locate_ranks(launch, fabric, same_boot=boots_once and launch.attempt == 1),
        )
        for launch in launches
    )
    node_traffic = [node for launch in by_launch for node in launch.moved]
    errors = sum_errors(launches)
    is_own = any(not launch.imported for launch in launches)
    return NetworkEvidence(
        network=name,
        launches=by_launch,
        traffic=sum_traffic(fabric, name, launches, node_traffic, errors) if is_own else None,
        troubles=errors,
        lost=connections.count_retransmissions(launches, addresses),
        sent_again=connections.find_retransmitted_shares(launches, addresses),
        largest_segments=connections.find_largest_segments(launches, network),
        counted=any(launch.all_counters for launch in launches),
        over_tcp=connections.carried_by_tcp(launches),
        copies=_find_copy_rates(launches),
    )


def _find_copy_rates(launches: Sequence[Launch]) -> dict[str, dict[int, CopyRates]]:
    """Return each node's best copy rates by size in bytes; nodes without copies are left out."""
    rates_by_node: dict[str, dict[int, CopyRates]] = {}
    for launch in launches:
        for placement in launch.placements:
            for copy in placement.copies:
                if min(copy.to_device_s, copy.to_host_s) <= 0:
                    continue
                sizes = rates_by_node.setdefault(node_of(launch, placement.rank), {})
                rates = (copy.bytes / copy.to_device_s, copy.bytes / copy.to_host_s)
                known = sizes.get(copy.bytes, CopyRates(0.0, 0.0))
                best = map(max, rates, (known.to_device, known.to_host))
                sizes[copy.bytes] = CopyRates(*best)
    return rates_by_node
