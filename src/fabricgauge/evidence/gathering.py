"""A run's records → its evidence, computed once and read by the rules and every report."""

from collections.abc import Sequence

from fabricgauge.evidence import connections
from fabricgauge.evidence.gpu import copy_rates
from fabricgauge.evidence.placement import placed
from fabricgauge.evidence.traffic import moved, traffic, troubles
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchEvidence, NetworkEvidence, RunEvidence
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.run import Launch, Run


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
        copies=copy_rates(launches),
    )
