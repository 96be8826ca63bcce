"""The plan of a run that another suite measures: programs × networks × launches."""

from collections.abc import Sequence
from itertools import count, product

from fabricgauge.model.fabric import Network
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.plan.profiles import Profile


def tool_plan(
    tool: str,
    programs: Sequence[str],
    profile: Profile,
    networks: Sequence[Network | None],
    place: tuple[str, str],
) -> Plan:
    """Each program on each network, all of it as often as the profile has launches.

    Rounds are interleaved, so that a drift touches programs and networks alike.
    """
    numbers = count(1)
    launches = tuple(
        PlannedLaunch(
            number=next(numbers),
            network=network.name if network else None,
            subnet=network.subnet if network else None,
            nodes=place,
            cases=(),
            program=program,
        )
        for _, network, program in product(range(profile.launches), networks, programs)
    )
    return Plan(profile.name, Stopping(0.0, 0.0), False, launches, tool=tool)
