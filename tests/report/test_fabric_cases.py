import msgspec
import pytest
from tests.report import fabric_sample

from fabricgauge.model.run import Run
from fabricgauge.report.content.cases import (
    concurrent_cases,
    find_idle,
    is_biased,
    ratio,
    select_patterns,
)
from fabricgauge.report.interface import ConcurrentCase

NODES = fabric_sample.names(4)


def run(*launches: int) -> Run:
    base = fabric_sample.judged(NODES).run
    made = (msgspec.structs.replace(base.launches[0], number=one) for one in launches or (1,))
    return msgspec.structs.replace(base, launches=tuple(made))


def one(cases: tuple[ConcurrentCase, ...], pattern: str, **wanted: object) -> ConcurrentCase:
    found = [
        case for case in select_patterns(cases, pattern)
        if all(getattr(case, name) == value for name, value in wanted.items())
    ]  # fmt: skip
    assert len(found) == 1
    return found[0]


def test_launches_that_measured_alike_make_one_case() -> None:
    cases = concurrent_cases(run(1, 2, 3))
    assert len(cases) == len(concurrent_cases(run(1)))
    assert {case.launches for case in cases} == {3}
    assert cases[0].samples == 3 * 1200


def test_the_median_is_that_of_the_launches_and_the_tail_that_of_the_worst() -> None:
    made = run(1, 2, 3)
    slow = made.launches[2]
    slower = tuple(
        msgspec.structs.replace(
            case, times=msgspec.structs.replace(case.times, median_s=1.0, p99_s=2.0, high_s=1.5)
        )
        for case in slow.measurements
        if case.times
    )
    launches = (*made.launches[:2], msgspec.structs.replace(slow, measurements=slower))
    before = concurrent_cases(made)[0]
    after = concurrent_cases(msgspec.structs.replace(made, launches=launches))[0]
    assert after.median_s == before.median_s
    assert (after.p99_s, after.high_s) == (2.0, 1.5)


def test_a_percentile_of_too_few_samples_is_absent() -> None:
    made = run()
    few = tuple(
        msgspec.structs.replace(case, samples=999) for case in made.launches[0].measurements
    )
    launch = msgspec.structs.replace(made.launches[0], measurements=few)
    case = concurrent_cases(msgspec.structs.replace(made, launches=(launch,)))[0]
    assert case.p99_s is not None
    assert case.p999_s is None


def test_a_case_that_failed_is_left_out() -> None:
    made = run()
    bad = tuple(
        msgspec.structs.replace(case, status="failed") for case in made.launches[0].measurements
    )
    launch = msgspec.structs.replace(made.launches[0], measurements=bad)
    assert concurrent_cases(msgspec.structs.replace(made, launches=(launch,))) == ()


def test_load_is_held_against_the_same_victims_without_it() -> None:
    cases = concurrent_cases(run())
    loaded = one(cases, "loaded_latency", load="incast")
    still = find_idle(cases, loaded)
    assert still is not None
    assert still.load == "none"
    assert ratio(loaded.median_s, still.median_s) == pytest.approx(3.4)
    assert ratio(loaded.median_s, None) is None


def test_one_launch_with_a_barrier_biases_them_all() -> None:
    made = run(1, 2)
    together = fabric_sample.together(2, clock="barrier")
    biased = msgspec.structs.replace(made.launches[0].measurements[0], together=together)
    launch = msgspec.structs.replace(made.launches[0], measurements=(biased,))
    cases = concurrent_cases(msgspec.structs.replace(made, launches=(launch, made.launches[1])))
    assert is_biased(one(cases, "barrier", ranks=2))
    assert not is_biased(one(cases, "barrier", ranks=4))


def test_a_launch_that_consists_of_waits_counts_only_if_all_do() -> None:
    made = run(1, 2)
    waited = tuple(
        msgspec.structs.replace(case, waiting=case.pattern == "barrier")
        for case in made.launches[0].measurements
    )
    first, second = (
        msgspec.structs.replace(launch, measurements=waited) for launch in made.launches
    )
    one_waits = msgspec.structs.replace(made, launches=(first, made.launches[1]))
    barriers = select_patterns(concurrent_cases(one_waits), "barrier")
    assert {(case.waiting, case.launches, case.confidence > 0) for case in barriers} == {
        (False, 1, True)
    }
    both_wait = concurrent_cases(msgspec.structs.replace(made, launches=(first, second)))
    for case in both_wait:
        assert case.waiting == (case.pattern == "barrier")
        assert (case.launches, case.confidence > 0) == (2, not case.waiting)
