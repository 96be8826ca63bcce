"""Raise an alarm if the recent runs of a series are worse than its reference.

The reference is a pinned baseline, or the series' first runs. The last 3, 4, 6, … runs are compared
with it by their ranks. ``false_alarms`` is the expected number of false alarms in 365 runs over all
series and windows together; each test gets its equal part of it. The count holds for noise of any
distribution. If the noise of the reference lasts from run to run, only every second, third, … run
is compared, so that an alarm takes longer.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.history.changes import (
    Shift,
    chance_of_lower,
    estimate_persistence,
    estimate_shift,
    find_changes,
    least_chance,
)
from fabricgauge.features.history.series import split_common
from fabricgauge.features.history.values import Group, RunRow, SeriesKey
from fabricgauge.model.verdict import Outcome

#: Runs of a reference, without a baseline. More of them allow an alarm after fewer runs.
REFERENCE_RUNS = 40
#: Fewest runs of a reference: below that no window can be unlikely enough.
FEWEST_REFERENCE = 8
#: Numbers of recent runs that are compared. A large drift shows in the small ones.
WINDOWS = (3, 4, 6, 9, 14, 24)
#: Correlation of neighbours from which noise lasts, and the one that is left between compared runs.
#: A correlation must also be above what the noise of its estimate gives in one table of 40.
LASTING, LEFT_CORRELATION = 0.2, 0.15
#: Days of daily runs in a year.
RUNS_OF_A_YEAR = 365


class Policy(msgspec.Struct, frozen=True):
    """When to raise an alarm. ``least`` is the smallest drift of interest, as a share."""

    false_alarms: float = 1.0
    least: float = 0.02
    reference_runs: int = REFERENCE_RUNS


class Alarm(msgspec.Struct, frozen=True):
    """A series that became worse. ``since`` is the run from which it was, by its position.

    If no change of level shows there, ``since`` is the first run of the window. ``shift`` is the
    change of the level: below 0 for a bandwidth, above for a latency. ``chance`` is that of such
    ranks without a change, ``allowed`` the chance that each test may have. With ``relative`` a
    place's figures are shares of the level of all places of the same run.
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


class Coverage(msgspec.Struct, frozen=True):
    """How many series were watched; ``short`` had too few runs to be compared.

    ``silent`` ones were compared, but the latest runs of their nodes have no figure of them.
    """

    series: int = 0
    short: int = 0
    silent: int = 0

    def judge(self, alarms: int) -> Outcome:
        """Return FAIL with an alarm; PASS needs that most series were compared, none is silent."""
        if alarms:
            return Outcome.FAIL
        is_most = 2 * self.short <= self.series and self.short < self.series
        return Outcome.PASS if is_most and not self.silent else Outcome.INCONCLUSIVE

    def add(self, *, short: bool, silent: bool) -> "Coverage":
        return Coverage(self.series + 1, self.short + short, self.silent + silent)


class Watched(msgspec.Struct, frozen=True):
    """The outcome of a watch: alarms, and what was or could not be compared.

    ``silent`` are the series whose figures are missing in the latest runs.
    """

    alarms: tuple[Alarm, ...]
    coverage: Coverage
    allowed: float
    silent: tuple[tuple[SeriesKey, tuple[str, ...]], ...] = ()
    by_node: dict[str, Coverage] = {}

    @property
    def outcome(self) -> Outcome:
        return self.coverage.judge(len(self.alarms))


class Reference(msgspec.Struct, frozen=True):
    """The reference of a series: pinned runs, or its first runs from ``from_run`` on.

    Runs are positions in ``History.runs``.
    """

    pinned: frozenset[int] = frozenset()
    from_run: int = 0


#: Returns the reference of a series.
ChooseReference = Callable[[SeriesKey, tuple[str, ...]], Reference]


class Watch(msgspec.Struct, frozen=True, eq=False):
    """One table to watch: figures for which less is worse, and the columns' places."""

    key: SeriesKey
    places: tuple[tuple[str, ...], ...]
    runs: NDArray[np.int64]
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
    return Watch(group.key, group.places, np.array(group.runs, dtype=np.int64), values, relative)


def find_drift(
    groups: Sequence[Group], policy: Policy,
    choose: ChooseReference = lambda _key, _place: Reference(), runs: Sequence[RunRow] = (),
) -> Watched:  # fmt: skip
    """Return the alarms of all series at their last run.

    A series is silent if it had enough runs, but none of the last ones of ``runs`` with its nodes,
    place and MPI has a figure of it.
    """
    watches = tuple(watch_groups(groups))
    total = sum(len(watch.places) for watch in watches)
    allowed = policy.false_alarms / RUNS_OF_A_YEAR / max(1, total) / len(WINDOWS)
    alarms, silent, coverage = [], [], Coverage()
    by_node: dict[str, Coverage] = {}
    latest = _LatestRuns(runs)
    for watch in watches:
        step = _choose_step(watch, policy, choose)
        for column in range(len(watch.places)):
            judged = _judge_column(watch, column, policy, allowed, choose, step)
            if isinstance(judged, Alarm):
                alarms.append(judged)
            place = watch.places[column]
            measured = watch.runs[np.isfinite(watch.values[:, column])]
            last_runs = latest.find(watch.key, place)
            is_missing = bool(last_runs) and int(measured.max(initial=-1)) < last_runs[0]
            is_silent = judged is not None and is_missing
            if is_silent:
                silent.append((watch.key, place))
            coverage = coverage.add(short=judged is None, silent=is_silent)
            for node in place:
                before = by_node.get(node, Coverage())
                by_node[node] = before.add(short=judged is None, silent=is_silent)
    return Watched(tuple(alarms), coverage, allowed, tuple(silent), by_node)


class _LatestRuns:
    """Find the latest runs of nodes at a place, with one MPI."""

    def __init__(self, runs: Sequence[RunRow]) -> None:
        # Most runs have the same nodes: only the latest of each set of nodes are kept.
        latest: dict[tuple[str, str, tuple[str, ...]], deque[int]] = {}
        for position, run in enumerate(runs):
            kept = latest.setdefault((run.place, run.mpi, run.nodes), deque(maxlen=WINDOWS[0]))
            kept.append(position)
        self._latest = tuple(latest.values())
        self._sets_of: dict[tuple[str, str, str], list[int]] = {}
        self._known: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
        for number, (place, mpi, nodes) in enumerate(latest):
            for node in ("", *nodes):  # the first stands for the runs of any nodes
                self._sets_of.setdefault((place, mpi, node), []).append(number)

    def find(self, key: SeriesKey, nodes: tuple[str, ...]) -> list[int]:
        """Return the positions of the latest runs in which all of ``nodes`` took part."""
        known = key.place, key.mpi, nodes
        if known not in self._known:
            first, *others = [
                self._sets_of.get((key.place, key.mpi, node), []) for node in nodes or ("",)
            ]
            shared = set(first).intersection(*others)
            positions = sorted(run for number in shared for run in self._latest[number])
            self._known[known] = positions[-WINDOWS[0] :]
        return self._known[known]


Rows = NDArray[np.int64]


def _choose_step(watch: Watch, policy: Policy, choose: ChooseReference) -> int:
    """Return how many runs compared figures must be apart, so that noise does not last so long."""
    references = [
        watch.values[rows, column]
        for column in range(len(watch.places))
        if len(rows := _split_rows(watch, column, policy, choose)[0]) >= FEWEST_REFERENCE
    ]
    if not references:
        return 1
    correlation = float(np.median([estimate_persistence(figures) for figures in references]))
    uncertain = 2 / np.sqrt(sum(len(figures) for figures in references))
    if correlation <= max(LASTING, uncertain):
        return 1
    return math.ceil(math.log(LEFT_CORRELATION) / math.log(min(correlation, 0.9)))


def _split_rows(
    watch: Watch, column: int, policy: Policy, choose: ChooseReference, step: int = 1
) -> tuple[Rows, Rows]:
    measured = np.flatnonzero(np.isfinite(watch.values[:, column]))
    reference = choose(watch.key, watch.places[column])
    positions = watch.runs[measured]
    if reference.pinned:
        is_pinned = np.isin(positions, list(reference.pinned))
        pinned = measured[is_pinned]
        return pinned, measured[positions > positions[is_pinned].max()] if len(pinned) else pinned
    rows = measured[positions >= reference.from_run]
    # A short past serves as well: all but the runs of the smallest window.
    cut = max(0, min(policy.reference_runs, len(rows) - step * WINDOWS[0]))
    return rows[:cut], rows[cut:]


def _judge_column(
    watch: Watch, column: int, policy: Policy, allowed: float, choose: ChooseReference, step: int
) -> Alarm | bool | None:  # fmt: skip
    """Compare each window of recent runs with the reference.

    Return the alarm of the first unlikely one, True for a sound series, None for one that is too
    short to decide.
    """
    pinned, rows_since = _split_rows(watch, column, policy, choose, step)
    # The last run is always compared; a reference keeps as many runs as it needs.
    rows_since = rows_since[::-1][::step][::-1]
    pinned = pinned[::-1][:: min(step, max(1, len(pinned) // FEWEST_REFERENCE))][::-1]
    if len(pinned) < FEWEST_REFERENCE or len(rows_since) < WINDOWS[0]:
        return None
    figures, worse = watch.values[:, column], -1.0 if watch.key.is_latency else 1.0
    reference, decided = figures[pinned], False
    for window in WINDOWS:
        if window > len(rows_since):
            break
        if least_chance(window, len(reference)) > allowed:
            continue
        decided = True
        rows = rows_since[-window:]
        recent = figures[rows]
        chance = chance_of_lower(worse * recent, worse * reference)
        if chance > allowed:
            continue
        shift = estimate_shift(recent, reference)
        if abs(shift.share) < policy.least:
            continue
        return Alarm(
            watch.key, watch.places[column], shift, float(np.median(recent)),
            float(np.median(reference)),
            int(watch.runs[_find_start(figures, pinned[-1], rows[0], shift, policy.least)]),
            int(watch.runs[rows[-1]]), window, len(reference), chance,
            allowed, watch.relative,
        )  # fmt: skip
    return True if decided else None


def _find_start(
    figures: NDArray[np.float64], after: np.int64, latest: np.int64, shift: Shift, least: float
) -> np.int64:
    """Return the row in which the level last changed as an alarm states; ``latest`` if in none."""
    measured = np.flatnonzero(np.isfinite(figures))
    changes = find_changes(figures[measured], least)
    rows = [measured[change.index] for change in changes if change.shift.share * shift.share > 0]
    return max((row for row in rows if after < row < latest), default=latest)
