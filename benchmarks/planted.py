"""Fabrics with planted faults: what every pair would have, without the model that is tested.

Bandwidth is the least of what the elements on a pair's way give; latency is the sum of what they
take. The analysis sees only the matrices.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.stats.series import Point, Series
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.pairs import Ends, Meeting, PairMatrix, Quantity

F64 = NDArray[np.float64]

#: A ``direction`` is the way from the first node to the second.
Element = Literal["node", "sender", "receiver", "pair", "direction", "group"]

#: A 100 Gb/s network with 98.5 Gb/s of payload and 0.93 µs, as the Omni-Path evaluation's.
LINK_BYTES_S, LATENCY_S = 98.5e9 / 8, 0.93e-6
#: What one more switch on the way takes.
HOP_S = 0.11e-6
#: Ports of a leaf switch that nodes hang on.
LEAF = 16
#: A link of a healthy node differs from the next one's by this standard deviation.
SAMENESS = 0.002


class Fault(msgspec.Struct, frozen=True):
    """What is planted: an element by its nodes' (or group's) numbers and the effect's size.

    ``effect`` is the share of bandwidth that is lost, or of the typical latency that is added.
    """

    element: Element
    at: tuple[int, ...]
    effect: float


class Scenario(msgspec.Struct, frozen=True):
    """A fabric to be measured in ``passes`` passes, each with relative noise ``noise``.

    ``oversubscribed`` is by how much leaves' uplinks fall short when all cross at once, 1 for none;
    ``collided`` is the share of crossing pairs whose routes share a link, so that each has half.
    """

    seed: int
    nodes: int
    quantity: Quantity
    noise: float
    passes: int
    faults: tuple[Fault, ...]
    oversubscribed: float = 1.0
    collided: float = 0.0


def names(count: int) -> tuple[str, ...]:
    return tuple(f"n{i:05d}" for i in range(count))


def leaves(count: int) -> Topology:
    """``LEAF`` nodes to a leaf, one spine above."""
    all_names = names(count)
    groups = tuple(
        Group(f"leaf{first // LEAF}", all_names[first : first + LEAF], "spine")
        for first in range(0, count, LEAF)
    )
    return Topology(groups, "planted")


def truth(scenario: Scenario) -> F64:
    """What every pair would have without noise, (N, N)."""
    rng = np.random.default_rng([scenario.seed, 0])
    sameness = 1.0 + SAMENESS * rng.standard_normal((2, scenario.nodes))
    if scenario.quantity == "latency":
        return _delays(scenario, sameness)
    return _bottlenecks(scenario, sameness)


def measured(scenario: Scenario) -> PairMatrix:
    """All pairs in ``scenario.passes`` passes: truth times noise with heavy tails."""
    exact = truth(scenario)
    rng = np.random.default_rng([scenario.seed, 1])
    passes = np.stack(
        [_noisy(exact, scenario.noise, rng, scenario.quantity) for _ in range(scenario.passes)]
    )
    return matrix_of(scenario, passes)


def measured_again(
    scenario: Scenario, meetings: Iterable[Meeting], passes: int
) -> tuple[Series, ...]:
    """The pairs that meet, each for as long as ``passes`` passes take; a stream both ways."""
    exact = truth(scenario)
    rng = np.random.default_rng([scenario.seed, 2])
    index = {name: i for i, name in enumerate(names(scenario.nodes))}
    found = []
    for one in meetings:
        if one.quantity != scenario.quantity:
            continue
        both = ((one.one, one.other), (one.other, one.one))
        for ends in both if one.quantity == "bandwidth" else both[:1]:
            truly = exact[index[ends[0]], index[ends[1]]]
            values = _noisy(np.full(passes, truly), scenario.noise, rng, "bandwidth")
            found.append(_series(one, ends, float(np.median(values))))
    return tuple(found)


def every_pair_again(scenario: Scenario, passes: int) -> F64:
    """What each pair has alone, for as long as ``passes`` passes take, (N, N)."""
    exact, rng = truth(scenario), np.random.default_rng([scenario.seed, 2])
    values = [_noisy(exact, scenario.noise, rng, scenario.quantity) for _ in range(passes)]
    again: F64 = np.median(np.stack(values), axis=0)
    return again


def _series(meeting: Meeting, ends: Ends, value: float) -> Series:
    estimate = Estimate(value, value, value, 0.95, 1, 1)
    point = Point(meeting.message_bytes, estimate, estimate, ())
    return Series(meeting.quantity, *ends, (point,))


def matrix_of(scenario: Scenario, passes: F64) -> PairMatrix:
    """The matrix of all passes, with a spread of the noise's own size."""
    count = scenario.nodes
    passes[:, np.arange(count), np.arange(count)] = np.nan
    values = np.full((count, count), np.nan)
    apart = ~np.eye(count, dtype=bool)
    values[apart] = np.nanmedian(passes[:, apart], axis=0)
    spread = np.where(apart, 1.35 * scenario.noise, np.nan)
    message_bytes = 8 if scenario.quantity == "latency" else 1 << 20
    return PairMatrix("net", scenario.quantity, message_bytes, names(count), values, spread, passes)


def _bottlenecks(scenario: Scenario, sameness: F64) -> F64:
    sending, receiving = LINK_BYTES_S * sameness
    leaf = np.arange(scenario.nodes) // LEAF
    count = int(leaf.max()) + 1
    uplink = LINK_BYTES_S / scenario.oversubscribed
    outward, inward = np.full(count, uplink), np.full(count, uplink)
    for fault in scenario.faults:
        left = 1.0 - fault.effect
        if fault.element in ("node", "sender"):
            sending[fault.at[0]] *= left
        if fault.element in ("node", "receiver"):
            receiving[fault.at[0]] *= left
        if fault.element == "group":
            outward[fault.at[0]] *= left
            inward[fault.at[0]] *= left
    exact = np.minimum(sending[:, None], receiving[None, :])
    crossing = np.minimum(outward[leaf][:, None], inward[leaf][None, :])
    exact = np.where(leaf[:, None] != leaf[None, :], np.minimum(exact, crossing), exact)
    rng = np.random.default_rng([scenario.seed, 3])
    collided = rng.random(exact.shape) < scenario.collided
    exact = np.where((leaf[:, None] != leaf[None, :]) & collided, 0.5 * exact, exact)
    for fault in scenario.faults:
        if fault.element in ("pair", "direction"):
            one, other = fault.at
            exact[one, other] *= 1.0 - fault.effect
            if fault.element == "pair":
                exact[other, one] *= 1.0 - fault.effect
    whole: F64 = exact
    return whole


def _delays(scenario: Scenario, sameness: F64) -> F64:
    leaf = np.arange(scenario.nodes) // LEAF
    exact = LATENCY_S + HOP_S * 2 * (leaf[:, None] != leaf[None, :])
    own = LATENCY_S * (sameness[0] - 1.0)
    typical = float(np.median(exact[~np.eye(scenario.nodes, dtype=bool)]))
    for fault in scenario.faults:
        if fault.element == "pair":
            one, other = fault.at
            exact[one, other] += fault.effect * typical
            exact[other, one] += fault.effect * typical
        else:
            own[fault.at[0]] += fault.effect * typical
    whole: F64 = exact + own[:, None] + own[None, :]
    return whole


def _noisy(exact: F64, noise: float, rng: np.random.Generator, quantity: Quantity) -> F64:
    """One pass. The mixture's standard deviation is ``noise``; a latency is one per pair."""
    wide = np.where(rng.random(exact.shape) < 0.1, 4.0, 1.0) / np.sqrt(0.9 + 0.1 * 16.0)
    factor = np.exp(noise * wide * rng.standard_normal(exact.shape))
    if quantity == "latency":
        upper = np.triu(factor, 1)
        factor = upper + upper.T
    measured: F64 = exact * factor
    return measured
