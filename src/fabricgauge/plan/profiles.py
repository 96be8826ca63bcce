"""How much to measure: named profiles, one row each."""

import msgspec

from fabricgauge.model.measurement import Pattern

KIB = 1024
MIB = 1024 * KIB

#: 0 B and every power of two to 4 MiB: the sizes that OSU and IMB print by default.
DEFAULT_SIZES: tuple[int, ...] = (0, *(2**power for power in range(23)))

#: What is measured of a pair unless other patterns are asked for.
PATTERNS: tuple[Pattern, ...] = (
    "latency",
    "bandwidth",
    "bidirectional_bandwidth",
    "put_latency",
    "put_bandwidth",
)


class Profile(msgspec.Struct, frozen=True):
    """``case_budget_s`` bounds one case; several launches show what one launch hides.

    Variation between launches of the same program is larger than within one (Hunold
    and Carpen-Amarie, arXiv:1505.07734), so figures that matter come from at least three.
    """

    name: str
    launches: int
    case_budget_s: float
    relative_half_width: float


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("quick", launches=1, case_budget_s=0.3, relative_half_width=0.01),
        Profile("standard", launches=3, case_budget_s=0.5, relative_half_width=0.01),
        Profile("full", launches=5, case_budget_s=2.0, relative_half_width=0.005),
    )
}
