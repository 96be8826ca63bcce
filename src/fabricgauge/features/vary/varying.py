"""Compute the effects of a design's factors from the runs of its arms."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.vary.layers import LAYERED, differing_wires, layers
from fabricgauge.features.vary.permuted import FEWEST_BLOCKS, Effects, effects_of
from fabricgauge.judge.stats.curves import SUITE, suite_curves
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.run import Run
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity, SuiteCurve
from fabricgauge.model.varied import (
    NUMBER_FACTORS,
    CurveEffect,
    Design,
    Effect,
    Factor,
    Figure,
    Influence,
    LevelFigure,
    Varied,
)
from fabricgauge.model.varied import Column as Column
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import size
from fabricgauge.model.words.sentences import counted, listed

#: Chance of error of a whole comparison, shared among its factors: a stack compared with itself
#: differs in 2 % of comparisons.
FAMILY_ERROR = 0.02
#: End of the description of iperf's rate of one connection.
PER_CONNECTION = "mean per connection"
#: A wider interval of a whole curve's effect decides nothing.
WIDEST = 0.10

#: The outcome of a run for each finding; the exit status follows from it.
AS_OF_A_RUN: dict[Influence, Outcome] = {
    "worse": Outcome.FAIL,
    "different": Outcome.WARN,
    "no difference": Outcome.PASS,
    "undecided": Outcome.INCONCLUSIVE,
}

Floats = NDArray[np.float64]


def least_blocks(factors: Sequence[Factor]) -> int:
    """Return the fewest blocks with which chance rarely reaches the clearest outcome.

    Levels share the allowed chance of error, so more levels need more exchanges.
    """
    arms = math.prod(len(factor.levels) for factor in factors)
    needed = [FEWEST_BLOCKS]
    for factor in factors:
        exchanges = len(factors) * (len(factor.levels) - 1) / FAMILY_ERROR
        needed.append(math.ceil((1 + math.log2(exchanges)) / (arms // len(factor.levels))))
    return max(needed)


def compare_arms(
    design: Design,
    runs: Sequence[Run],
    tolerance: float,
    notes: Sequence[str] = (),
    *,
    believed: bool = True,
) -> Varied:
    """Compute the effects of each factor; ``runs`` are those of the arms, in their order.

    ``believed``: all arms are complete and none is INVALID. Otherwise the finding is undecided,
    unless it is worse.
    """
    columns, logs, parts = figures(design, runs)
    result = from_figures(design, columns, logs, tolerance, notes)
    levels = tuple(level_figures(design, columns, logs, parts))
    result = msgspec.structs.replace(result, levels=levels)
    if result.layers and (why := differing_wires(design, runs, by_name=not _has_one_network(runs))):
        result = msgspec.structs.replace(result, layers=(), notes=(*result.notes, why))
    if believed or result.finding == "worse":
        return result
    return msgspec.structs.replace(result, finding="undecided")


def from_figures(
    design: Design,
    columns: Sequence[Column],
    logs: Floats,
    tolerance: float,
    notes: Sequence[str] = (),
) -> Varied:
    """Compute the effects from logarithms of figures, (arms, blocks, columns).

    A layer adds time to the one below it: that is worse only if a tolerance was stated.
    """
    confidence = 1.0 - FAMILY_ERROR / len(design.factors)
    effects = tuple(
        effect
        for place, factor in enumerate(design.factors)
        for effect in _curve_effects(design, place, factor, columns, logs, confidence)
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
        notes=(*notes, *_note_unsettled_sizes(effects)),
        layers=ledger,
    )


def figures(design: Design, runs: Sequence[Run]) -> tuple[tuple[Column, ...], Floats, Floats]:
    """Return the logarithms of all figures, (arms, blocks, columns), NaN for a missing one.

    The last value has the parts of each figure in the same shape.
    """
    # Layers use a network by its addresses or by its ports, which have two names.
    by_name = not (
        _has_one_network(runs) and any(factor.name in LAYERED for factor in design.factors)
    )
    by_count = any(factor.name in NUMBER_FACTORS for factor in design.factors)
    by_arm = [
        [
            _block_figures(run, block, design.blocks, by_name, by_count)
            for block in range(design.blocks)
        ]
        for run in runs
    ]
    columns = tuple(dict.fromkeys(column for arm in by_arm for block in arm for column in block))
    logs = np.full((len(runs), design.blocks, len(columns)), np.nan)
    parts = np.ones_like(logs)
    missing = Figure(np.nan)
    for arm, blocks in enumerate(by_arm):
        for block, figures in enumerate(blocks):
            row = [figures.get(column, missing) for column in columns]
            logs[arm, block] = [np.log(figure.value) for figure in row]
            parts[arm, block] = [figure.parts for figure in row]
    return columns, logs, parts


def level_figures(
    design: Design, columns: Sequence[Column], logs: Floats, parts: Floats
) -> Iterator[LevelFigure]:
    """Yield the figures of factors whose levels are numbers, over all arms with the level."""
    for place, factor in enumerate(design.factors):
        if factor.name not in NUMBER_FACTORS:
            continue
        figures = np.exp(_by_level(design, place, logs))
        counts = _by_level(design, place, parts)
        for index, column in enumerate(columns):
            for number, level in enumerate(factor.levels):
                values = figures[number, ..., index].ravel()
                known = values[np.isfinite(values)]
                if not known.size:
                    continue
                ends = (float(np.median(known)), float(known.min()), float(known.max()))
                estimate = Estimate(*ends, 0.0, int(known.size), int(known.size))
                most = int(counts[number, ..., index].max())
                yield LevelFigure(
                    column.title, column.quantity, column.message_bytes, level, estimate,
                    factor.name, most,
                )  # fmt: skip


def _has_one_network(runs: Sequence[Run]) -> bool:
    return all(len({launch.network for launch in run.plan.launches}) == 1 for run in runs)


def _block_figures(
    run: Run, block: int, blocks: int, by_name: bool, by_count: bool
) -> Mapping[Column, Figure]:
    """Return the figures of one block. ``by_count``: the arms differ in ranks or connections.

    Then each curve is that of the most ranks and pairs, its name has no numbers of them, and a
    rate is their sum.
    """
    per_block = len(run.plan.launches) // blocks
    planned = run.plan.launches[block * per_block : (block + 1) * per_block]
    numbers = {launch.number for launch in planned}
    launches = tuple(launch for launch in run.launches if launch.number in numbers)
    values = {}
    curves = suite_curves(msgspec.structs.replace(run, launches=launches))
    if by_count:
        curves = tuple(sorted(curves, key=lambda curve: (curve.ranks or 0, curve.pairs)))
    for curve in curves:
        network = curve.settings.get("network", "") if by_name else ""
        name, parts = curve.title, 1
        if curve.suite != SUITE:  # a test has several columns, and runs with fewer processes, too
            column_words = "" if curve.quantity == "time" else curve.quantity.replace("_", " ")
            pairs = f"{curve.pairs} pairs" if curve.pairs > 1 and not by_count else ""
            name = ", ".join(filter(None, (name, column_words, pairs, curve.processes)))
        if by_count:
            if curve.what.endswith(PER_CONNECTION):
                continue  # it follows from the sum
            load = curve.settings.get("load", "")
            name = f"{curve.what}{f', {load}' if load else ''}"
            parts = _parts_of(curve)
        title = f"{network}: {name}" if network else name
        # The engine's rate of many pairs is that of one pair.
        factor = parts if curve.suite == SUITE else 1
        for point in curve.points:
            if point.estimate.value > 0:
                column = Column(title, curve.quantity, point.message_bytes)
                values[column] = Figure(point.estimate.value * factor, parts)
    return values


def _parts_of(curve: SuiteCurve) -> int:
    """Return the number of pairs or connections behind a rate; 1 behind a time."""
    if curve.quantity == "time":
        return 1
    streams = curve.settings.get("streams", "")
    return int(streams) if streams.isdecimal() else curve.pairs


def _curve_effects(
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
    whole_curves = [_mean_over_sizes(by_level, indexes) for indexes in curves.values()]
    figures = np.concatenate([by_level, np.stack(whole_curves, axis=-1)], axis=-1)
    level_effects = effects_of(figures, confidence, design.seed)
    for number, level in enumerate(factor.levels[1:]):
        for curve, ((title, quantity), indexes) in enumerate(curves.items()):
            sizes = sorted(indexes, key=lambda index: columns[index].message_bytes or 0)
            yield CurveEffect(
                factor=factor.name,
                level=level,
                base=factor.levels[0],
                title=title,
                quantity=quantity,
                whole=_effect_at(level_effects, number, len(columns) + curve, None),
                sizes=tuple(
                    _effect_at(level_effects, number, index, columns[index].message_bytes)
                    for index in sizes
                ),
            )


def _by_level(design: Design, place: int, logs: Floats) -> Floats:
    """Return (levels, strata, blocks, columns) of one factor; levels may have equal names."""
    shape = tuple(len(factor.levels) for factor in design.factors)
    arms = logs.reshape((*shape, *logs.shape[1:]))
    first = np.moveaxis(arms, place, 0)
    return first.reshape((shape[place], -1, *logs.shape[1:]))


def _mean_over_sizes(by_level: Floats, indexes: Sequence[int]) -> Floats:
    """Return the mean over the sizes that all measured launches have, (levels, strata, blocks)."""
    curve_logs = by_level[..., list(indexes)]
    measured = np.isfinite(curve_logs)
    is_launched = measured.any(axis=-1, keepdims=True)
    complete = (measured | ~is_launched).all(axis=(0, 1, 2)) & measured.any(axis=(0, 1, 2))
    if not complete.any():
        return np.full(curve_logs.shape[:-1], np.nan)
    mean: Floats = curve_logs[..., complete].mean(axis=-1)
    return mean


def _effect_at(effects: Effects, level: int, index: int, message_bytes: int | None) -> Effect:
    effect, half = effects.effect[level, index], effects.half_width[level, index]
    return Effect(
        message_bytes=message_bytes,
        change=float(np.expm1(effect)),
        low=float(np.expm1(effect - half)),
        high=float(np.expm1(effect + half)),
        chance=float(effects.chance[level, index]),
        blocks=int(effects.blocks[level, index]),
    )


def _finding(effects: Sequence[CurveEffect], tolerance: float) -> Influence:
    if any(curve.find_worse_effects(tolerance) for curve in effects):
        return "worse"
    if any(effect.clear for curve in effects for effect in (curve.whole, *curve.sizes)):
        return "different"
    is_settled = effects and all(_is_small(curve, tolerance) for curve in effects)
    return "no difference" if is_settled else "undecided"


def _is_small(curve: CurveEffect, tolerance: float) -> bool:
    """Check that a curve clearly differs by little, and has every size at both levels.

    If a tolerance was given, a curve that is worse by more does not differ by little.
    """
    low, high = -WIDEST, WIDEST
    if tolerance and curve.quantity in LESS_IS_BETTER:
        high = min(high, tolerance)
    elif tolerance:
        low = max(low, -tolerance)
    within = low <= curve.whole.low and curve.whole.high <= high
    return within and all(_has_interval(effect) for effect in curve.sizes)


def _has_interval(effect: Effect) -> bool:
    """Check that an effect has an interval: of too few blocks it has a mean alone."""
    return math.isfinite(effect.low) and math.isfinite(effect.high)


def _note_unsettled_sizes(effects: Sequence[CurveEffect]) -> Iterator[str]:
    """Yield the sizes without an interval of curves that have one as a whole."""
    for curve in effects:
        sizes = [effect for effect in curve.sizes if not _has_interval(effect)]
        if not sizes or not _has_interval(curve.whole):
            continue
        names = listed([
            f"{size(effect.message_bytes or 0)} in {effect.blocks}" for effect in sizes
        ])  # fmt: skip
        yield (
            f"{curve.factor} {curve.level} against {curve.base}, {curve.title}:"
            f" {counted(len(sizes), 'size is', 'sizes are')} undecided, both levels measured"
            f" {names} of {curve.whole.blocks} blocks; an interval needs {FEWEST_BLOCKS}"
        )


def _ranking(design: Design, effects: Sequence[CurveEffect]) -> tuple[tuple[str, float], ...]:
    """Return each factor's largest clear effect on a whole curve, 0 without a clear one."""
    largest = dict.fromkeys((factor.name for factor in design.factors), 0.0)
    for curve in effects:
        if curve.whole.clear:
            largest[curve.factor] = max(largest[curve.factor], abs(curve.whole.change))
    return tuple(sorted(largest.items(), key=lambda pair: (-pair[1], pair[0])))
