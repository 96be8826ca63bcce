"""Drift: the stated rate of false alarms, and what is found."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fabricgauge.features.history.drift import (
    WINDOWS,
    Coverage,
    Policy,
    Reference,
    Watched,
    find_drift,
    watch_groups,
)
from fabricgauge.features.history.values import Group, Part, RunRow, SeriesKey
from fabricgauge.model.verdict import Outcome

STREAM = SeriesKey("", "ib", "sender", "all_pairs_bandwidth", "", "", "mpich", 1 << 20)


def make_group(values: NDArray[np.float64], part: Part = "sender", pattern: str = "") -> Group:
    """Return a group of nodes n0, n1, …, a row for each run."""
    key = SeriesKey("", "ib", part, pattern or STREAM.pattern, "", "", "mpich", 1 << 20)
    places = tuple((f"n{column}",) for column in range(values.shape[1]))
    figures = values.astype(np.float32)
    return Group(key, places, tuple(range(len(values))), figures, np.full_like(figures, np.nan))


def sound_runs(seed: int, runs: int, nodes: int, noise: float = 0.01) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    day = np.exp(random.normal(0, 0.02, runs))[:, None]
    figures: NDArray[np.float64] = 12e9 * day * np.exp(random.normal(0, noise, (runs, nodes)))
    return figures


def drift_of(values: NDArray[np.float64], policy: Policy | None = None) -> Watched:
    return find_drift([make_group(values)], policy or Policy())


def test_a_node_that_loses_5_percent_is_named_after_six_runs() -> None:
    values = sound_runs(1, 60, 32)
    values[-6:, 9] *= 0.95
    (alarm,) = drift_of(values).alarms
    assert alarm.place == ("n9",)
    assert alarm.shift.low < -0.05 < alarm.shift.high
    assert alarm.window in WINDOWS
    assert (alarm.since, alarm.last) == (54, 59)


def test_an_alarm_states_when_the_level_changed_not_when_its_window_begins() -> None:
    values = sound_runs(1, 90, 32)
    values[-30:, 9] *= 0.9
    (alarm,) = drift_of(values).alarms
    assert alarm.window < 30
    assert (alarm.since, alarm.last) == (60, 89)


def test_a_sound_network_raises_none() -> None:
    watched = drift_of(sound_runs(2, 60, 32))
    assert watched.alarms == ()
    assert watched.coverage.series == 33  # 32 nodes and the level of all
    assert watched.coverage.short == 0


def test_a_change_of_all_nodes_is_one_alarm() -> None:
    values = sound_runs(3, 60, 32)
    values[-14:] *= 0.9
    (alarm,) = drift_of(values).alarms
    assert alarm.place == ()
    assert alarm.key.part == "all"
    assert alarm.shift.share == pytest.approx(-0.1, abs=0.02)


def test_a_latency_that_grows_is_worse_and_a_rate_that_grows_is_not() -> None:
    values = sound_runs(4, 60, 4)
    values[-6:, 1] *= 1.2
    assert drift_of(values).alarms == ()
    (alarm,) = find_drift([make_group(values, "node", "all_pairs_latency")], Policy()).alarms
    assert alarm.place == ("n1",)
    assert alarm.shift.share == pytest.approx(0.2, abs=0.03)


def test_a_drift_below_the_least_of_interest_is_no_alarm() -> None:
    values = sound_runs(5, 60, 4, noise=0.001)
    values[-14:, 1] *= 0.985
    assert drift_of(values, Policy(least=0.02)).alarms == ()
    assert drift_of(values, Policy(least=0.01)).alarms != ()


def test_few_runs_decide_nothing() -> None:
    watched = drift_of(sound_runs(6, 9, 4))
    assert (watched.coverage.short, watched.alarms) == (watched.coverage.series, ())


def test_a_pinned_baseline_replaces_the_first_runs() -> None:
    values = sound_runs(7, 80, 4)
    values[45:, 2] *= 0.9  # a known change: the baseline is after it
    pinned = frozenset(range(45, 70))
    assert [alarm.place for alarm in drift_of(values).alarms] == [("n2",)]
    watched = find_drift([make_group(values)], Policy(), lambda _key, _place: Reference(pinned))
    assert watched.alarms == ()


def test_runs_before_a_new_past_are_no_reference() -> None:
    values = sound_runs(8, 80, 4)
    values[20:, 2] *= 0.9
    watched = find_drift(
        [make_group(values)], Policy(), lambda _key, _place: Reference(from_run=20)
    )
    assert (watched.alarms, watched.coverage.short) == ((), 0)


def test_ways_of_many_nodes_are_watched_by_their_nodes() -> None:
    values = sound_runs(9, 50, 3)
    ways = make_group(values, "way", "bandwidth")
    senders = make_group(values, "sender", "bandwidth")
    assert [watch.key.part for watch in watch_groups([ways, senders])] == ["sender"]
    assert [watch.key.part for watch in watch_groups([ways])] == ["way"]


@pytest.mark.parametrize("noise", ["normal", "with outliers"])
def test_the_stated_rate_of_false_alarms_holds(noise: str) -> None:
    """400 sound histories, each judged at one run, at 36.5 false alarms in 365 runs: 40 expected.

    More than 65 would have a chance below 1e-4.
    """
    random = np.random.default_rng(11)
    policy = Policy(false_alarms=36.5, least=0.0)
    alarmed = 0
    for _ in range(400):
        figures = np.exp(random.normal(0, 0.01, (64, 2)))
        if noise != "normal":
            figures *= 1 - 0.3 * (random.random(figures.shape) < 0.1)
        alarmed += bool(drift_of(figures, policy).alarms)
    assert alarmed <= 65


def lasting_runs(random: np.random.Generator, runs: int, nodes: int) -> NDArray[np.float64]:
    """Return figures of 2 % noise of which half lasts to the next run."""
    logs = random.normal(0, 0.02, (runs, nodes))
    for run in range(1, runs):
        logs[run] = 0.5 * logs[run - 1] + np.sqrt(0.75) * logs[run]
    return np.asarray(np.exp(logs))


def test_noise_that_lasts_raises_few_alarms() -> None:
    """As above with 16 nodes. Without a step between compared runs 152 histories have an alarm."""
    random = np.random.default_rng(12)
    policy = Policy(false_alarms=36.5, least=0.0)
    alarmed = sum(bool(drift_of(lasting_runs(random, 90, 16), policy).alarms) for _ in range(200))
    assert alarmed <= 40


def test_a_drift_beside_noise_that_lasts_is_found_later() -> None:
    values = lasting_runs(np.random.default_rng(13), 90, 16)
    values[-30:, 9] *= 0.9
    (alarm,) = drift_of(values).alarms
    assert alarm.place == ("n9",)
    assert alarm.last - alarm.since + 1 > alarm.window
    assert alarm.last == 89


@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_a_loss_in_equal_or_rounded_figures_is_found(noise: float) -> None:
    """Figures of 40 runs, and of 20 that are a third lower, with two decimals in GB/s."""
    figures = np.random.default_rng(15).normal(11.9, noise, (60, 1))
    figures[40:] *= 8.0 / 11.9
    watched = drift_of(np.round(figures, 2))
    assert watched.coverage.short == 0
    (alarm,) = watched.alarms
    assert alarm.shift.share == pytest.approx(-0.33, abs=0.01)


def run_rows(count: int, nodes: int, mpi: str = "mpich") -> list[RunRow]:
    members = tuple(f"n{number}" for number in range(nodes))
    row = RunRow("r", 0.0, True, "PASS", "", "", members, ("ib",), mpi, 0, 0, "")
    return [row] * count


def test_a_node_without_figures_in_its_latest_runs_is_silent() -> None:
    values = sound_runs(14, 60, 8)
    values[-3:, 2] = np.nan
    values[-2:, 5] = np.nan  # the third last run has one
    watched = find_drift([make_group(values)], Policy(), runs=run_rows(60, 8))
    assert [place for _, place in watched.silent] == [("n2",)]
    assert watched.by_node["n2"].silent == 1
    assert not watched.by_node["n3"].silent
    assert watched.coverage.judge(0) is Outcome.INCONCLUSIVE


def test_runs_of_another_mpi_or_without_the_node_silence_nothing() -> None:
    values = sound_runs(14, 60, 8)
    values[-3:, 2] = np.nan
    without = [RunRow("r", 0.0, True, "PASS", "", "", ("n0", "n1"), ("ib",), "mpich", 0, 0, "")]
    runs = [*run_rows(57, 8), *without * 3, *run_rows(9, 8, mpi="openmpi")]
    assert find_drift([make_group(values)], Policy(), runs=runs).silent == ()


@pytest.mark.parametrize(
    ("coverage", "outcome"),
    [(Coverage(10, 0, 0), "PASS"), (Coverage(10, 5, 0), "PASS"), (Coverage(10, 6, 0),
     "INCONCLUSIVE"), (Coverage(10, 0, 1), "INCONCLUSIVE"), (Coverage(), "INCONCLUSIVE")],
)  # fmt: skip
def test_a_pass_needs_evidence(coverage: Coverage, outcome: str) -> None:
    assert coverage.judge(0).value == outcome
    assert coverage.judge(1) is Outcome.FAIL
