"""Networks and requests that tests of plans for many nodes share."""

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Member, Network
from fabricgauge.plan.fabric_plan import FabricWanted, Targets
from fabricgauge.plan.fabric_profiles import FABRIC_PROFILES

GBE_BYTES_PER_S = 117.69e6
FAST_BYTES_PER_S = 12.3e9


def network(name: str, ranks: int = 2) -> Network:
    members = tuple(Member(f"c{i}", "eth0", f"10.0.0.{i + 1}", 1500) for i in range(min(ranks, 8)))
    return Network(name, f"{name}-subnet", "ethernet", 1e9, "declared", members)


def target(rate: float = FAST_BYTES_PER_S, name: str = "net1") -> Targets:
    return ((network(name), Ceiling(name, rate, 1448, 1538, 0, "the link", ())),)


def asked(ranks: int, profile: str = "quick", **options: object) -> FabricWanted:
    nodes = tuple(f"c{number}" for number in range(ranks))
    return FabricWanted(FABRIC_PROFILES[profile], nodes, **options)  # type: ignore[arg-type]
