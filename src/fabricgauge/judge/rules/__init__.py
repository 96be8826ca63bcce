"""The rules, one row each, those nearest to a cause first.

A lost node or link explains later verdicts: missing cases, an unproven path, low figures. So the
first verdict of the worst outcome is the headline.
"""

from fabricgauge.judge.interface import Rule
from fabricgauge.judge.rules import (
    above_ceiling,
    asymmetry,
    cache_shape,
    completeness,
    concurrent,
    connect,
    coverage,
    data,
    dips,
    errors,
    floor,
    foreign_traffic,
    fraction,
    host_limited,
    latency,
    launch,
    link,
    lossy,
    mtu,
    outliers,
    pairs,
    path,
    placement,
    stability,
)

RULES: tuple[Rule, ...] = (
    connect,
    link,
    launch,
    coverage,
    completeness,
    placement,
    path,
    floor,
    above_ceiling,
    cache_shape,
    data,
    mtu,
    foreign_traffic,
    lossy,
    outliers,
    pairs,
    fraction,
    host_limited,
    latency,
    asymmetry,
    stability,
    dips,
    concurrent,
    errors,
)

#: Rules on times and rates that the nodes reach: not applied to emulated processors.
RULES_OF_SPEED: tuple[str, ...] = tuple(
    rule.ID
    for rule in (
        floor, above_ceiling, cache_shape, outliers, pairs, lossy, fraction, host_limited, latency,
        asymmetry, stability, dips, concurrent,
    )
)  # fmt: skip

#: Without a pass (or warning) of each of these rules, a run proves nothing.
DECIDING: tuple[str, ...] = (placement.ID, path.ID, fraction.ID)

#: A simulator carries no bytes to count.
DECIDING_SIMULATED: tuple[str, ...] = (placement.ID, fraction.ID)

#: Emulated processors prove the path and the data, but no speed.
DECIDING_EMULATED: tuple[str, ...] = (placement.ID, path.ID)

#: Imported logs prove neither path nor placement: there the figures decide, between the floor and
#: the ceiling of the stated network.
DECIDING_IMPORTED: tuple[str, ...] = (fraction.ID,)
