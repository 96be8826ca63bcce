"""Networks and requests that tests of plans for many nodes share."""

import msgspec

from fabricgauge.check.plan.outlook import rounds_to_make
from fabricgauge.check.plan.plan import Targets, plan
from fabricgauge.check.plan.profiles import PROFILES
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.pattern import CROWD_PATTERNS, ROUND_ROBIN_PATTERNS
from fabricgauge.model.plan import CLOSING, Plan, rounds
from fabricgauge.model.request import MeasurementRequest

GBE_BYTES_PER_S = 117.69e6
FAST_BYTES_PER_S = 12.3e9


def network(name: str, ranks: int = 2) -> Network:
    members = tuple(Member(f"c{i}", "eth0", f"10.0.0.{i + 1}", 1500) for i in range(min(ranks, 8)))
    return Network(name, f"{name}-subnet", "ethernet", 1e9, "declared", members)


def target(rate: float = FAST_BYTES_PER_S, name: str = "net1") -> Targets:
    return ((network(name), Ceiling(name, rate, 1448, 1538, 0, "the link", ())),)


def of_many(profile: str) -> tuple[str, ...]:
    """What many ranks measure unless other patterns are asked for."""
    own = PROFILES[profile]
    return (*ROUND_ROBIN_PATTERNS, *CROWD_PATTERNS, *own.collectives, *own.reference_pair)


def asked(profile: str = "quick", **options: object) -> MeasurementRequest:
    return MeasurementRequest(profile=profile, **options)  # type: ignore[arg-type]


def planned(
    ranks: int,
    targets: Targets,
    profile: str = "quick",
    *,
    virtual: bool = False,
    **options: object,
) -> Plan:
    """The plan of as many ranks; of two what many ranks do, unless patterns are named."""
    if ranks == 2:
        enough_for_two = (word for word in of_many(profile) if word != "loaded_latency")
        options.setdefault("patterns", tuple(enough_for_two))
    nodes = tuple(f"c{number}" for number in range(ranks))
    return plan(asked(profile, **options), nodes, targets, virtual=virtual)


class Coverage(msgspec.Struct, frozen=True):
    """How much of one round robin on one network is planned, by all launches together."""

    network: str | None
    case: str
    ranks: int
    rounds: int

    @property
    def share(self) -> float:
        """Share of all pairs that meet, 0 to 1."""
        return self.rounds / rounds(self.ranks)

    @property
    def partners(self) -> int:
        """How many others each rank meets at least; of an odd number one has a bye in a round."""
        return self.rounds - self.ranks % 2


def coverage(of: Plan) -> tuple[Coverage, ...]:
    """What share of the pairs each round robin of the plan covers."""
    made: dict[tuple[str | None, str, int], set[int]] = {}
    for launch in of.launches:
        for case in launch.cases:
            if case.pattern in ROUND_ROBIN_PATTERNS and not case.name.endswith(CLOSING):
                members = case.ranks or len(launch.nodes)
                made.setdefault((launch.network, case.name, members), set()).update(
                    rounds_to_make(case, len(launch.nodes))
                )
    return tuple(Coverage(*key, len(chosen)) for key, chosen in made.items())
