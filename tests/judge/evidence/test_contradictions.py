"""A record whose figures contradict each other proves nothing; no engine writes such a record."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.evidence.contradictions import void_contradictions
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

RUNS = Path(__file__).parents[2] / "fixtures" / "runs"
STORED = sorted(path.parent for path in RUNS.glob("*/*/run.json"))
Change = Callable[[Measurement], Measurement]


def stored(name: str) -> Run:
    (directory,) = (RUNS / name).iterdir()
    return run_files.load(RunDirectory(directory))


def changed(change: Change) -> Run:
    """The healthy run with each of its streams changed."""
    run = stored("0.1.0--healthy")
    return replace(
        run,
        launches=tuple(
            replace(
                launch,
                measurements=tuple(
                    change(case) if case.pattern == "bandwidth" and case.times else case
                    for case in launch.measurements
                ),
            )
            for launch in run.launches
        ),
    )


def timed(change: Callable[[Times], Times]) -> Change:
    return lambda case: case if case.times is None else replace(case, times=change(case.times))


def read_for(seconds: float, case: Measurement) -> Measurement:
    """Return the case with its nodes' counters read that many seconds apart."""
    counters = tuple(replace(node, read_utc_s=(1e9, 1e9 + seconds)) for node in case.counters)
    return replace(case, counters=counters)


CHANGES: Mapping[str, Change] = {
    "median below all blocks": timed(
        lambda times: replace(
            times, minimum_s=times.minimum_s / 3, median_s=times.median_s / 3,
            low_s=times.low_s / 3, high_s=times.high_s / 3,
        )
    ),
    "blocks slower than the median": lambda case: replace(
        case, block_medians_s=tuple(3 * block_s for block_s in case.block_medians_s)
    ),
    "histogram slower than the extremes": lambda case: replace(
        case, histogram_ps=tuple((3 * low_ps, count) for low_ps, count in case.histogram_ps)
    ),
    "histogram of fewer samples": lambda case: replace(case, samples=case.samples + 7),
    "minimum above the median": timed(
        lambda times: replace(times, minimum_s=3 * times.median_s)
    ),
    "maximum below the median": timed(
        lambda times: replace(times, maximum_s=times.median_s / 3)
    ),
    "less payload than the samples have": lambda case: replace(
        case, payload_sent_bytes=tuple(sent // 10 for sent in case.payload_sent_bytes)
    ),
    "samples of more bytes than their messages": lambda case: replace(
        case, sample_payload_bytes=2 * case.sample_payload_bytes
    ),
    "shorter than its samples": lambda case: replace(case, wall_s=case.wall_s / 50),
    "longer than between its readings": lambda case: read_for(0.1 * case.wall_s, case),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_contradiction_voids_its_case(name: str) -> None:
    run = changed(CHANGES[name])
    voided = [
        case
        for launch in void_contradictions(run).launches
        for case in launch.measurements
        if case.status == "failed"
    ]
    assert voided
    assert {case.pattern for case in voided} == {"bandwidth"}
    assert all(case.reason and case.times is None for case in voided)
    assert conclude(run, DEFAULTS).overall is not Outcome.PASS


def test_a_clock_that_was_set_back_on_a_node_voids_nothing() -> None:
    def set_back(case: Measurement) -> Measurement:
        first, *others = read_for(1.05 * case.wall_s, case).counters
        return replace(case, counters=(replace(first, read_utc_s=(1e9, 1e9 - 3600)), *others))

    run = changed(set_back)
    assert void_contradictions(run) is run


def test_cases_longer_than_their_launch_void_it_unless_it_was_simulated() -> None:
    run = changed(lambda case: replace(case, wall_s=10 * case.wall_s))
    voided = void_contradictions(run).launches[0]
    assert {case.status for case in voided.measurements} == {"failed"}
    simulated = replace(run, fabric=replace(run.fabric, simulated=True))
    assert void_contradictions(simulated) is simulated


@pytest.mark.parametrize(("blocks", "is_voided"), [(255, True), (256, False), (512, False)])
def test_merged_blocks_bound_no_median(blocks: int, is_voided: bool) -> None:
    """From 512 blocks on the engine merges neighbours by their mean: 1 and 3 become 2."""

    def merge(case: Measurement) -> Measurement:
        assert case.times is not None
        return replace(case, block_medians_s=(2 * case.times.median_s,) * blocks)

    statuses = {
        case.status
        for launch in void_contradictions(changed(merge)).launches
        for case in launch.measurements
    }
    assert ("failed" in statuses) == is_voided


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.parent.name)
def test_no_stored_run_contradicts_itself(path: Path) -> None:
    run = run_files.load(RunDirectory(path))
    assert void_contradictions(run) is run


def test_the_healthy_run_passes() -> None:
    assert conclude(stored("0.1.0--healthy"), DEFAULTS).overall is Outcome.PASS
