"""A run's records → its evidence, computed once and read by the rules and every report."""

from collections.abc import Sequence

from fabricgauge.evidence import connections
from fabricgauge.evidence.placement import placed
from fabricgauge.evidence.traffic import moved, traffic, troubles
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchEvidence, NetworkEvidence, RunEvidence
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.memory import CopyRates
from fabricgauge.model.run import Launch, Run
from fabricgauge.stats.series import node_of


def evidence(run: Run) -> RunEvidence:
    """What the run's own launches show, and that others' logs show nothing of the kind."""
    networks = dict.fromkeys(one.network for one in run.launches)
    return RunEvidence(
        tuple(
            _of_network(run.fabric, name, [one for one in run.launches if one.network == name])
            for name in networks
        )
    )


def _of_network(fabric: Fabric, name: str | None, launches: Sequence[Launch]) -> NetworkEvidence:
    unknown = Skipped("MPI was not pinned to a network that discovery knows")
    network = next((one for one in fabric.networks if one.name == name), unknown)
    ours = None if isinstance(network, Skipped) else {member.ip for member in network.members}
    each = tuple(
        LaunchEvidence(
            one.number, bool(one.completed or one.figures), moved(one, fabric), placed(one, fabric)
        )
        for one in launches
    )
    carried, risen = [node for one in each for node in one.moved], troubles(launches)
    own = any(not one.imported for one in launches)
    return NetworkEvidence(
        network=name,
        launches=each,
        traffic=traffic(fabric, name, launches, carried, risen) if own else None,
        troubles=risen,
        lost=connections.retransmissions(launches, ours),
        sent_again=connections.sent_again(launches, ours),
        largest_segments=connections.largest_segments(launches, network),
        counted=any(one.all_counters for one in launches),
        over_tcp=connections.over_tcp(launches),
        copies=_copy_rates(launches),
    )


def _copy_rates(launches: Sequence[Launch]) -> dict[str, dict[int, CopyRates]]:
    """By node, then by size in bytes, of the best launch; nodes without copies are left out."""
    found: dict[str, dict[int, CopyRates]] = {}
    for launch in launches:
        for placement in launch.placements:
            for one in placement.copies:
                if min(one.to_device_s, one.to_host_s) <= 0:
                    continue
                sizes = found.setdefault(node_of(launch, placement.rank), {})
                rates = (one.bytes / one.to_device_s, one.bytes / one.to_host_s)
                known = sizes.get(one.bytes, CopyRates(0.0, 0.0))
                best = map(max, rates, (known.to_device, known.to_host))
                sizes[one.bytes] = CopyRates(*best)
    return found
