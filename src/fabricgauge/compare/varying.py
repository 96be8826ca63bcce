"""Runs of a design's arms in, effects of its factors out."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.compare.layers import LAYERED, layers, not_one_wire
from fabricgauge.compare.permuted import FEWEST_BLOCKS, Effects, effects_of
from fabricgauge.model.run import Run
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity
from fabricgauge.model.varied import Column as Column
from fabricgauge.model.varied import CurveEffect, Design, Effect, Factor, Influence, Varied
from fabricgauge.model.verdict import Outcome
from fabricgauge.stats.curves import suite_curves

#: Of a whole comparison, shared among its factors: a stack against itself differs in 2 % of them.
FAMILY_ERROR = 0.02
#: A whole curve's effect that is known no better than that supports no word about it.
WIDEST = 0.10

#: What each finding is among the outcomes of a run; the exit status follows from that.
AS_OF_A_RUN: dict[Influence, Outcome] = {
    "worse": Outcome.FAIL,
    "different": Outcome.WARN,
    "no difference": Outcome.PASS,
    "undecided": Outcome.INCONCLUSIVE,
}

Floats = NDArray[np.float64]


def least_blocks(factors: Sequence[Factor]) -> int:
    """The fewest blocks with which chance rarely reaches the clearest outcome.

    Levels share the allowed chance of error, so more levels need more exchanges to be told apart.
    """
    arms = math.prod(len(one.levels) for one in factors)
    needed = [FEWEST_BLOCKS]
    for one in factors:
        exchanges = len(factors) * (len(one.levels) - 1) / FAMILY_ERROR
        needed.append(math.ceil((1 + math.log2(exchanges)) / (arms // len(one.levels))))
    return max(needed)


def varied(
    design: Design,
    runs: Sequence[Run],
    tolerance: float,
    notes: Sequence[str] = (),
    *,
    believed: bool = True,
) -> Varied:
    """The effects of each factor; ``runs`` are of the arms, in their order.

    ``believed`` is whether all arms are whole and none is INVALID: else nothing is decided, except
    that something is worse.
    """
    columns, logs = figures(design, runs)
    found = from_figures(design, columns, logs, tolerance, notes)
    if found.layers and (why := not_one_wire(design, runs, by_name=not _one_network(runs))):
        found = msgspec.structs.replace(found, layers=(), notes=(*found.notes, why))
    if believed or found.finding == "worse":
        return found
    return msgspec.structs.replace(found, finding="undecided")


def from_figures(
    design: Design,
    columns: Sequence[Column],
    logs: Floats,
    tolerance: float,
    notes: Sequence[str] = (),
) -> Varied:
    """The same from logarithms of figures, (arms, blocks, columns).

    A layer adds to the one below it: that is worse only where a tolerance was stated.
    """
    confidence = 1.0 - FAMILY_ERROR / len(design.factors)
    effects = tuple(
        effect
        for place, one in enumerate(design.factors)
        for effect in _effects(design, place, one, columns, logs, confidence)
    )
    ledger, finding = layers(design, columns, logs), _finding(effects, tolerance)
    if ledger and finding == "worse" and not tolerance:
        finding = "different"
    return Varied(
        design=design,
        confidence=confidence,
        tolerance=tolerance,
        finding=finding,
        effects=effects,
        ranking=_ranking(design, effects),
        notes=tuple(notes),
        layers=ledger,
    )


def figures(design: Design, runs: Sequence[Run]) -> tuple[tuple[Column, ...], Floats]:
    """Logarithms of all figures, (arms, blocks, columns); NaN where there is none."""
    # Layers use a network by its addresses or by its ports, which are networks of two names.
    named = not (_one_network(runs) and any(one.name in LAYERED for one in design.factors))
    found = [
        [_of_block(run, block, design.blocks, named) for block in range(design.blocks)]
        for run in runs
    ]
    columns = tuple(dict.fromkeys(column for arm in found for one in arm for column in one))
    logs = np.full((len(runs), design.blocks, len(columns)), np.nan)
    for arm, blocks in enumerate(found):
        for block, figures in enumerate(blocks):
            logs[arm, block] = [np.log(figures.get(column, np.nan)) for column in columns]
    return columns, logs


def _one_network(runs: Sequence[Run]) -> bool:
    return all(len({launch.network for launch in run.plan.launches}) == 1 for run in runs)


def _of_block(run: Run, block: int, blocks: int, named: bool) -> Mapping[Column, float]:
    each = len(run.plan.launches) // blocks
    numbers = {one.number for one in run.plan.launches[block * each : (block + 1) * each]}
    launches = tuple(one for one in run.launches if one.number in numbers)
    found = {}
    for curve in suite_curves(msgspec.structs.replace(run, launches=launches)):
        network = curve.settings.get("network", "") if named else ""
        title = f"{network}: {curve.title}" if network else curve.title
        for point in curve.points:
            if point.estimate.value > 0:
                column = Column(title, curve.quantity, point.message_bytes)
                found[column] = point.estimate.value
    return found


def _effects(
    design: Design,
    place: int,
    factor: Factor,
    columns: Sequence[Column],
    logs: Floats,
    confidence: float,
) -> Iterator[CurveEffect]:
    curves: dict[tuple[str, Quantity], list[int]] = {}
    for index, column in enumerate(columns):
        curves.setdefault((column.title, column.quantity), []).append(index)
    if not curves:
        return
    by_level = _by_level(design, place, logs)
    whole = [_whole(by_level, indexes) for indexes in curves.values()]
    figures = np.concatenate([by_level, np.stack(whole, axis=-1)], axis=-1)
    found = effects_of(figures, confidence, design.seed)
    for number, level in enumerate(factor.levels[1:]):
        for curve, ((title, quantity), indexes) in enumerate(curves.items()):
            sizes = sorted(indexes, key=lambda index: columns[index].message_bytes or 0)
            yield CurveEffect(
                factor=factor.name,
                level=level,
                base=factor.levels[0],
                title=title,
                quantity=quantity,
                whole=_effect(found, number, len(columns) + curve, None),
                sizes=tuple(
                    _effect(found, number, index, columns[index].message_bytes) for index in sizes
                ),
            )


def _by_level(design: Design, place: int, logs: Floats) -> Floats:
    """(levels, strata, blocks, columns) of one factor; its levels may be called the same."""
    shape = tuple(len(one.levels) for one in design.factors)
    arms = logs.reshape((*shape, *logs.shape[1:]))
    first = np.moveaxis(arms, place, 0)
    return first.reshape((shape[place], -1, *logs.shape[1:]))


def _whole(by_level: Floats, indexes: Sequence[int]) -> Floats:
    """The mean over those sizes that each launch has that has any, (levels, strata, blocks)."""
    own = by_level[..., list(indexes)]
    there = np.isfinite(own)
    made = there.any(axis=-1, keepdims=True)
    complete = (there | ~made).all(axis=(0, 1, 2)) & there.any(axis=(0, 1, 2))
    if not complete.any():
        return np.full(own.shape[:-1], np.nan)
    mean: Floats = own[..., complete].mean(axis=-1)
    return mean


def _effect(found: Effects, level: int, index: int, message_bytes: int | None) -> Effect:
    effect, half = found.effect[level, index], found.half_width[level, index]
    return Effect(
        message_bytes=message_bytes,
        change=float(np.expm1(effect)),
        low=float(np.expm1(effect - half)),
        high=float(np.expm1(effect + half)),
        chance=float(found.chance[level, index]),
        blocks=int(found.blocks[level, index]),
    )


def _finding(effects: Sequence[CurveEffect], tolerance: float) -> Influence:
    if any(one.surely_worse(tolerance) for one in effects):
        return "worse"
    if any(each.clear for one in effects for each in (one.whole, *one.sizes)):
        return "different"
    known = effects and all(_is_small(one, tolerance) for one in effects)
    return "no difference" if known else "undecided"


def _is_small(one: CurveEffect, tolerance: float) -> bool:
    """Whether a curve surely differs by little, and has every size at both levels.

    Where a tolerance was given, what is worse by more is not little.
    """
    low, high = -WIDEST, WIDEST
    if tolerance and one.quantity in LESS_IS_BETTER:
        high = min(high, tolerance)
    elif tolerance:
        low = max(low, -tolerance)
    within = low <= one.whole.low and one.whole.high <= high
    return within and all(math.isfinite(each.change) for each in one.sizes)


def _ranking(design: Design, effects: Sequence[CurveEffect]) -> tuple[tuple[str, float], ...]:
    """Each factor's largest clear effect on a whole curve, 0 where none is clear."""
    largest = {
        factor.name: max(
            (abs(e.whole.change) for e in effects if e.factor == factor.name and e.whole.clear),
            default=0.0,
        )
        for factor in design.factors
    }
    return tuple(sorted(largest.items(), key=lambda one: (-one[1], one[0])))
