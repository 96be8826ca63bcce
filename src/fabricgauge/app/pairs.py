"""From the rounds of a run to who is slow, and to launches that measure suspects again."""

from collections.abc import Iterator

import msgspec

from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.localise.localising import localise
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import FabricResult
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Run
from fabricgauge.plan.plan import ASSUMED_PAYLOAD_BYTES_PER_S
from fabricgauge.plan.recheck import recheck_launch


def fabric_result(run: Run) -> FabricResult:
    """What the matrices of all pairs say; nothing where only two nodes were measured."""
    return localise(run.launches, run.fabric.topology)


class PlannedRecheck(msgspec.Struct, frozen=True):
    """A launch that measures suspects again, or why there is none for that network."""

    network: str
    launch: PlannedLaunch | Skipped


def rechecks(run: Run, result: FabricResult) -> Iterator[PlannedRecheck]:
    """Launches for each network on which somebody is suspected."""
    number = max(launch.number for launch in run.plan.launches)
    limits = ceilings(run.fabric.networks)
    for one in result.rechecks:
        if isinstance(one.meetings, Skipped):
            yield PlannedRecheck(one.network, one.meetings)
            continue
        network = next((each for each in run.fabric.networks if each.name == one.network), None)
        limit = limits.get(one.network)
        rate = (
            ASSUMED_PAYLOAD_BYTES_PER_S
            if limit is None or isinstance(limit, Skipped)
            else limit.payload_bytes_per_s
        )
        for _ in range(one.launches):
            number += 1
            launch = recheck_launch(number, network, one.meetings, one.nodes, rate)
            yield PlannedRecheck(one.network, launch)
