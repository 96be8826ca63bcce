"""The rules, one row each, in the order in which their verdicts are given."""

from fabricgauge.judge.interface import Rule
from fabricgauge.judge.rules import (
    above_ceiling,
    asymmetry,
    cache_shape,
    completeness,
    connect,
    coverage,
    data,
    dips,
    errors,
    floor,
    fraction,
    host_limited,
    link,
    mtu,
    outliers,
    path,
    placement,
    stability,
)

RULES: tuple[Rule, ...] = (
    connect,
    placement,
    path,
    floor,
    above_ceiling,
    cache_shape,
    data,
    link,
    completeness,
    coverage,
    fraction,
    outliers,
    host_limited,
    mtu,
    asymmetry,
    stability,
    dips,
    errors,
)

#: Without a pass (or warning) of each of these nothing was shown, whatever the others say.
DECIDING: tuple[str, ...] = (placement.ID, path.ID, fraction.ID)

#: A simulator carries no bytes that could be counted.
DECIDING_SIMULATED: tuple[str, ...] = (placement.ID, fraction.ID)

#: The same for others' logs, which prove neither: there the figures must speak, between
#: the floor and the ceiling of the network that they are said to be of.
DECIDING_IMPORTED: tuple[str, ...] = (fraction.ID,)
