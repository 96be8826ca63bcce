"""Networks and requests that tests of plans for many nodes share."""

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.pattern import CROWD_PATTERNS, TOURNAMENT_PATTERNS
from fabricgauge.model.plan import Plan
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.plan.plan import Targets, plan
from fabricgauge.plan.profiles import PROFILES

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
    return (*TOURNAMENT_PATTERNS, *CROWD_PATTERNS, *own.collectives, *own.reference_pair)


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
        options.setdefault("patterns", of_many(profile))
    nodes = tuple(f"c{number}" for number in range(ranks))
    return plan(asked(profile, **options), nodes, targets, virtual=virtual)
