"""Compare figures by their ranks, find runs at which a level changed, and what else changed then.

Under the hypothesis that recent and reference figures come from the same distribution in any order,
each assignment of ranks is equally likely (Mann and Whitney, Ann. Math. Statist. 18 (1947)). The
probabilities are exact, so that a stated rate of false alarms holds without a model of the noise.
For noise that lasts from run to run, ``drift`` compares figures that are further apart.

Levels are found by optimal partitioning: the split into segments with the least squared residuals
of the logarithms plus a penalty for each segment (Jackson et al., IEEE Signal Process. Lett. 12
(2005)). Outliers are drawn in to a few deviations first, so that no single run makes a segment. A
change then counts if the ranks on both sides support it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.history.values import History


@lru_cache(maxsize=4096)
def _counts_up_to(recent: int, reference: int) -> tuple[int, ...]:
    """Return how many of all orders have at most 0, 1, 2, … inversions.

    The number with u inversions is the coefficient of q^u of the Gaussian binomial coefficient.
    """
    most = recent * reference
    counts = [1] + [0] * most
    for step in range(1, recent + 1):
        grown = reference + step
        for place in range(most, grown - 1, -1):
            counts[place] -= counts[place - grown]
        for place in range(step, most + 1):
            counts[place] += counts[place - step]
    return tuple(accumulate(counts))


def chance_of_lower(recent: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Return the chance that recent figures are as low as these against the reference, or lower.

    Ties count against a difference. It is 1 without figures.
    """
    if not len(recent) or not len(reference):
        return 1.0
    inversions = int((recent[:, None] >= reference[None, :]).sum())
    counts = _counts_up_to(len(recent), len(reference))
    return counts[min(inversions, len(counts) - 1)] / counts[-1]


def least_chance(recent: int, reference: int) -> float:
    """Return the smallest chance that so many figures can show."""
    return 1 / comb(recent + reference, recent)


def estimate_persistence(figures: NDArray[np.float64]) -> float:
    """Return the correlation of each figure's rank with the next one's, without its bias.

    Equal figures share the mean of their ranks; a constant series has correlation 0. Kendall,
    Biometrika 41 (1954): the estimate of a short series is too low.
    """
    count = len(figures)
    _, places, sizes = np.unique(figures, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return 0.0
    mean_ranks = np.cumsum(sizes) - (sizes + 1) / 2
    ranks = mean_ranks[places] - (count - 1) / 2
    share = float((ranks[1:] * ranks[:-1]).sum() / (ranks**2).sum())
    return share + (1 + 3 * share) / count


class Shift(NamedTuple):
    """Hold the change of the level as a share, with its interval at ``confidence``."""

    share: float
    low: float
    high: float
    confidence: float


def estimate_shift(
    recent: NDArray[np.float64], reference: NDArray[np.float64], confidence: float = 0.95
) -> Shift:
    """Return the median of all quotients less 1, with the interval that ranks support.

    Hodges and Lehmann, Ann. Math. Statist. 34 (1963). With few figures the interval is that of all
    quotients, at the confidence that these have.
    """
    quotients = np.sort((recent[:, None] / reference[None, :]).ravel())
    counts = _counts_up_to(len(recent), len(reference))
    tail = (1 - confidence) / 2
    below = int(np.searchsorted(np.array(counts, dtype=float) / counts[-1], tail, side="right"))
    place = max(0, below - 1)
    reached = 1 - 2 * counts[place] / counts[-1] if below else 1 - 2 / counts[-1]
    low, high = quotients[place], quotients[len(quotients) - 1 - place]
    return Shift(
        float(np.median(quotients)) - 1, float(low) - 1, float(high) - 1, max(0.0, reached)
    )


#: Fewest runs of a level.
FEWEST_RUNS = 4
#: Penalty of a segment in units of the noise's variance and log n; BIC has 2.
PENALTY = 4.0
#: Outliers beyond this number of deviations from the running median are drawn in.
MOST_DEVIATIONS = 3.0
#: Runs on either side of an entry that give the running median.
_NEIGHBOURS = 5
#: Most runs on either side of a change that are compared, and the chance below which it counts.
COMPARED_RUNS, MOST_CHANCE = 40, 1e-3
#: Most steps of a partition, whose time grows with their square.
MOST_STEPS = 400
#: Scale of the normal distribution over its median absolute deviation.
_MAD_SCALE = 1.4826


class ChangePoint(msgspec.Struct, frozen=True):
    """A change of the level before the entry ``index``; ``what`` are settings that changed then."""

    index: int
    shift: Shift
    chance: float
    what: tuple[str, ...] = ()


def estimate_noise(logs: NDArray[np.float64]) -> float:
    """Return the standard deviation of the noise, from differences of neighbours.

    A change of the level touches one difference only.
    """
    if len(logs) < 3:
        return 0.0
    return float(_MAD_SCALE * np.median(np.abs(np.diff(logs))) / np.sqrt(2))


def draw_in_outliers(logs: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return the entries with those far from their neighbours' median drawn in to that distance."""
    padded = np.pad(logs, _NEIGHBOURS, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)
    middle = np.median(windows, axis=1)
    reach = MOST_DEVIATIONS * noise
    return np.clip(logs, middle - reach, middle + reach)


def partition(entries: NDArray[np.float64], penalty: float) -> tuple[int, ...]:
    """Return the first index of each segment but the first, with the least total cost.

    The cost of a segment is the sum of its squared residuals, plus ``penalty``.
    """
    count = len(entries)
    sums = np.concatenate(([0.0], np.cumsum(entries)))
    squares = np.concatenate(([0.0], np.cumsum(entries**2)))
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    previous = np.zeros(count + 1, dtype=np.int64)
    for end in range(FEWEST_RUNS, count + 1):
        starts = np.arange(0, end - FEWEST_RUNS + 1)
        lengths = end - starts
        spans = sums[end] - sums[starts]
        costs = best[starts] + squares[end] - squares[starts] - spans**2 / lengths + penalty
        place = int(np.argmin(costs))
        best[end], previous[end] = costs[place], starts[place]
    bounds, end = [], count
    while end > 0 and previous[end] > 0:
        end = int(previous[end])
        bounds.append(end)
    return tuple(reversed(bounds))


def locate_changes(entries: NDArray[np.float64], penalty: float) -> tuple[int, ...]:
    """Return the first index of each level but the first.

    A long series is partitioned in steps; each change is then moved to its best place.
    """
    step = -(-len(entries) // MOST_STEPS)
    if step == 1:
        return partition(entries, penalty)
    whole = entries[len(entries) % step :]
    means = whole.reshape(-1, step).mean(axis=1)
    rough = [len(entries) % step + step * index for index in partition(means, penalty / step)]
    bounds = [0, *rough, len(entries)]
    return tuple(
        _best_split(entries, bounds[place - 1], bounds[place], bounds[place + 1], step)
        for place in range(1, len(bounds) - 1)
    )


def _best_split(entries: NDArray[np.float64], start: int, rough: int, end: int, reach: int) -> int:
    """Return the index near ``rough`` that splits start to end with the least squared residuals."""
    nearest = max(start + FEWEST_RUNS, rough - reach), min(end - FEWEST_RUNS, rough + reach)
    splits = range(nearest[0], nearest[1] + 1)
    return min(
        splits,
        key=lambda split: sum(
            float(((part - part.mean()) ** 2).sum())
            for part in (entries[start:split], entries[split:end])
        ),
        default=rough,
    )


def find_changes(values: NDArray[np.float64], least: float = 0.02) -> tuple[ChangePoint, ...]:
    """Return the changes of a series of positive figures without gaps, oldest first.

    ``least`` is the smallest change of interest, as a share.
    """
    if len(values) < 2 * FEWEST_RUNS:
        return ()
    logs = np.log(values)
    noise = max(estimate_noise(logs), least / 20)
    entries = draw_in_outliers(logs, noise)
    starts = [0, *locate_changes(entries, PENALTY * np.log(len(logs)) * noise**2), len(logs)]
    changes = []
    for before, start, after in zip(starts, starts[1:], starts[2:], strict=False):
        old = values[max(before, start - COMPARED_RUNS) : start]
        new = values[start : min(after, start + COMPARED_RUNS)]
        shift = estimate_shift(new, old)
        chance = 2 * min(chance_of_lower(new, old), chance_of_lower(-new, -old))
        # A complete separation of short levels counts: no smaller chance can show.
        is_short = min(len(new), len(old)) <= 2 * FEWEST_RUNS
        most = max(MOST_CHANCE, 2 * least_chance(len(new), len(old)) if is_short else 0.0)
        if abs(shift.share) >= least and chance <= most:
            changes.append(ChangePoint(start, shift, min(1.0, chance)))
    return tuple(changes)


def name_what_changed(
    history: History, before: Sequence[int], after: Sequence[int], place: Sequence[str]
) -> tuple[str, ...]:
    """Return the settings that differ between all runs before and all runs after a change.

    ``before`` and ``after`` are positions of runs; ``place`` are the nodes whose own settings
    count. Nodes that ran beside and the order of nodes count as settings too.
    """
    old = [dict(_describe(history, run, place)) for run in before]
    new = [dict(_describe(history, run, place)) for run in after]
    names = dict.fromkeys(name for settings in (*old, *new) for name in settings)
    return tuple(filter(None, (_compare(name, old, new) for name in names)))


def _compare(name: str, old: Sequence[Mapping[str, str]], new: Sequence[Mapping[str, str]]) -> str:
    old_values = dict.fromkeys(settings.get(name, "") for settings in old)
    new_values = dict.fromkeys(settings.get(name, "") for settings in new)
    if old_values.keys() & new_values.keys() or not (old_values and new_values):
        return ""
    return f"{name}: {_value(old_values)} → {_value(new_values)}"


def _value(values: Mapping[str, object]) -> str:
    texts = [value or "absent" for value in values]
    return texts[-1] if len(texts) == 1 else f"{texts[-1]} and {len(texts) - 1} more"


def _describe(history: History, run: int, place: Sequence[str]) -> Iterator[tuple[str, str]]:
    row = history.runs[run]
    yield from history.settings.get(row.setting, {}).items()
    per_node = history.node_settings.get(row.node_setting, {})
    for node in place:
        for name, value in per_node.get(node, {}).items():
            yield f"{node}: {name}", value
    if not place:
        yield from _describe_all(per_node)
    others = [node for node in row.nodes if node not in place]
    yield "other nodes of the run", ",".join(sorted(others)) or "none"
    if place and len(row.nodes) <= 64:
        yield "order of the nodes", ",".join(row.nodes)


def _describe_all(per_node: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each setting over all nodes: its values, the most frequent first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for settings in per_node.values():
        for name, value in settings.items():
            counts[name][value] += 1
    for name, by_value in counts.items():
        ordered = sorted(by_value, key=lambda value: (-by_value[value], value))
        yield name, ", ".join(ordered[:3])
