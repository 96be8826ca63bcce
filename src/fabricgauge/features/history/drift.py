"""Raise an alarm if the recent runs of a series are worse than its reference.

The reference is a pinned baseline, or the series' first runs. The last 3, 4, 6, … runs are compared
with it by their ranks. ``false_alarms`` is the expected number of false alarms in 365 runs over all
series and windows together; each test gets its equal part of it. The count is exact for noise that
does not last from run to run, whatever its distribution.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.history.ranks import (
    Shift,
    chance_of_lower,
    estimate_shift,
    least_chance,
)
from fabricgauge.features.history.series import split_common
from fabricgauge.features.history.values import Group, SeriesKey

#: Runs of a reference, without a baseline. More of them allow an alarm after fewer runs.
REFERENCE_RUNS = 40
#: Fewest runs of a reference: below that no window can be unlikely enough.
FEWEST_REFERENCE = 8
#: Numbers of recent runs that are compared. A large drift shows in the small ones.
WINDOWS = (3, 4, 6, 9, 14, 24)
#: Days of daily runs in a year.
RUNS_OF_A_YEAR = 365


class Policy(msgspec.Struct, frozen=True):
    """When to raise an alarm. ``least`` is the smallest drift of interest, as a share."""

    false_alarms: float = 1.0
    least: float = 0.02
    reference_runs: int = REFERENCE_RUNS


class Alarm(msgspec.Struct, frozen=True):
    """A series that became worse. ``since`` is the first run of the window, by its position.

    ``shift`` is the change of the level: below 0 for a bandwidth, above for a latency. ``chance``
    is that of such ranks without a change, ``allowed`` the chance that each test may have.
    With ``relative`` a place's figures are shares of the level of all places of the same run.
    """

    key: SeriesKey
    place: tuple[str, ...]
    shift: Shift
    level: float
    reference_level: float
    since: int
    last: int
    window: int
    reference: int
    chance: float
    allowed: float
    relative: bool


class Watched(msgspec.Struct, frozen=True):
    """The outcome of a watch: alarms, and how many series were or could not be compared."""

    alarms: tuple[Alarm, ...]
    series: int
    short: int
    allowed: float


class Reference(msgspec.Struct, frozen=True):
    """The reference of a series: pinned runs, or its first runs from ``from_run`` on.

    Runs are positions in ``History.runs``.
    """

    pinned: frozenset[int] = frozenset()
    from_run: int = 0


#: Returns the reference of a series.
ChooseReference = Callable[[SeriesKey, tuple[str, ...]], Reference]


def choose_first_runs(_key: SeriesKey, _place: tuple[str, ...]) -> Reference:
    """Return the reference of a series without a baseline."""
    return Reference()


class Watch(msgspec.Struct, frozen=True, eq=False):
    """One table to watch: figures for which less is worse, and the columns' places."""

    key: SeriesKey
    places: tuple[tuple[str, ...], ...]
    runs: tuple[int, ...]
    values: NDArray[np.float64]
    relative: bool


def watch_groups(groups: Sequence[Group]) -> Iterator[Watch]:
    """Yield the tables to watch: the level of all places, and each place's share of it.

    Ways and pairs of more than two nodes are watched by their nodes alone.
    """
    by_node = {
        msgspec.structs.replace(group.key, part="way" if group.key.part == "sender" else "pair")
        for group in groups if group.key.part in ("sender", "node")
    }  # fmt: skip
    for group in groups:
        if group.key.part in ("way", "pair") and group.key in by_node:
            continue
        split = split_common(group)
        if split is None:
            yield _watch(group)
        else:
            yield _watch(split[0])
            yield _watch(split[1], relative=True)


def _watch(group: Group, *, relative: bool = False) -> Watch:
    values = group.values.astype(np.float64)
    return Watch(group.key, group.places, group.runs, values, relative)


def find_drift(
    groups: Sequence[Group], policy: Policy, choose: ChooseReference = choose_first_runs
) -> Watched:
    """Return the alarms of all series at their last run."""
    watches = tuple(watch_groups(groups))
    total = sum(len(watch.places) for watch in watches)
    allowed = policy.false_alarms / RUNS_OF_A_YEAR / max(1, total) / len(WINDOWS)
    alarms, short = [], 0
    for watch in watches:
        for column in range(len(watch.places)):
            judged = _judge_column(watch, column, policy, allowed, choose)
            if isinstance(judged, Alarm):
                alarms.append(judged)
            elif judged is None:
                short += 1
    return Watched(tuple(alarms), total, short, allowed)


def _judge_column(
    watch: Watch, column: int, policy: Policy, allowed: float, choose: ChooseReference
) -> Alarm | bool | None:
    """Return an alarm, True for a sound series, None for one that is too short to decide."""
    figures, place = watch.values[:, column], watch.places[column]
    measured = np.flatnonzero(np.isfinite(figures))
    reference = choose(watch.key, place)
    positions = np.array(watch.runs)[measured]
    if reference.pinned:
        is_pinned = np.isin(positions, list(reference.pinned))
        pinned = measured[is_pinned]
        recent = measured[positions > positions[is_pinned].max()] if len(pinned) else pinned
    else:
        rows = measured[positions >= reference.from_run]
        # A short past serves as well: all but the runs of the smallest window.
        cut = max(0, min(policy.reference_runs, len(rows) - WINDOWS[0]))
        pinned, recent = rows[:cut], rows[cut:]
    if len(pinned) < FEWEST_REFERENCE or len(recent) < WINDOWS[0]:
        return None
    return judge_windows(watch, place, figures, pinned, recent, policy, allowed)


def judge_windows(
    watch: Watch, place: tuple[str, ...], figures: NDArray[np.float64], pinned: NDArray[np.int64],
    recent_rows: NDArray[np.int64], policy: Policy, allowed: float,
) -> Alarm | bool | None:  # fmt: skip
    """Compare each window of recent runs with the reference; return the first that is unlikely."""
    worse = -1.0 if watch.key.is_latency else 1.0
    reference, decided = figures[pinned], False
    for window in WINDOWS:
        if window > len(recent_rows):
            break
        if least_chance(window, len(reference)) > allowed:
            continue
        decided = True
        rows = recent_rows[-window:]
        recent = figures[rows]
        chance = chance_of_lower(worse * recent, worse * reference)
        if chance > allowed:
            continue
        shift = estimate_shift(recent, reference)
        if abs(shift.share) < policy.least:
            continue
        return Alarm(
            watch.key, place, shift, float(np.median(recent)), float(np.median(reference)),
            watch.runs[rows[0]], watch.runs[rows[-1]], window, len(reference), chance, allowed,
            watch.relative,
        )  # fmt: skip
    return True if decided else None
