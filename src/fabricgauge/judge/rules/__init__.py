"""The rules, one row each, those nearest to a cause first.

A node or link that is gone explains all that follows: missing cases, a path that was not proved,
figures that are low. So the first verdict of the worst outcome is the headline.
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

#: Without a pass (or warning) of each of these nothing was shown, whatever the others give.
DECIDING: tuple[str, ...] = (placement.ID, path.ID, fraction.ID)

#: A simulator carries no bytes that could be counted.
DECIDING_SIMULATED: tuple[str, ...] = (placement.ID, fraction.ID)

#: Emulated processors show the path and the data, and no speed.
DECIDING_EMULATED: tuple[str, ...] = (placement.ID, path.ID)

#: The same for others' logs, which prove neither: there the figures must speak, between
#: the floor and the ceiling of the network that was stated for them.
DECIDING_IMPORTED: tuple[str, ...] = (fraction.ID,)
