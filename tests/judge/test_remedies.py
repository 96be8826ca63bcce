"""A remedy follows from what was found: no advice that cannot help."""

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many
from tests.judge.test_consequences import judged

from fabricgauge.doctor.reachability import find_connection_faults
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.preflight import Connectivity, FailedConnection, How
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.sentences import doctor, folded, resume
from fabricgauge.report.content.conclusion import next_steps


def small(run: Run) -> Run:
    """Messages of 8 bytes alone, few of them."""
    sample = planted.Sample("bandwidth", 8, 0, planted.median_s("bandwidth", 8))
    launch = planted.launch([planted.measurement(sample, samples_count=100)])
    return msgspec.structs.replace(run, launches=(launch,), plan=planted.plan_of((launch,)))


def test_too_little_payload_asks_for_more_and_for_no_pinning() -> None:
    path = planted.the(planted.verdicts(small(planted.run())), "path", Outcome.INCONCLUSIVE)
    assert "too little payload" in path.summary
    assert "--sizes" in path.remedy
    assert "pin" not in path.remedy


def test_a_missing_pattern_asks_for_that_pattern_and_for_no_more_launches() -> None:
    low = planted.the(planted.verdicts(small(planted.run())), "fraction", Outcome.INCONCLUSIVE)
    assert "--patterns bandwidth" in low.remedy
    assert "--profile" not in low.remedy


def test_a_resumption_names_the_run() -> None:
    run = planted.run()
    assert resume(run) == "fabricgauge check --resume r1"
    submitted = msgspec.structs.replace(run, command=("fabricgauge", "submit"))
    assert resume(submitted) == "fabricgauge submit --resume r1"


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("check", "--lab", "demo", "--ppn", "2"), " --lab demo"),
        (("check", "--lab", "-N", "3", "--mpi=openmpi"), " --lab --mpi openmpi"),
        (("check", "-q", "--lab"), " --lab"),
        (("submit", "-w", "c[1-2]", "-p", "fast"), " -w 'c[1-2]' -p fast"),
        (("submit", "--carry", "-w", "c2", "--exclusive"), " -w c2 --exclusive --carry"),
    ],
)
def test_a_resumption_repeats_nodes_and_programs(words: tuple[str, ...], place: str) -> None:
    run = msgspec.structs.replace(planted.run(), command=("fabricgauge", *words))
    assert resume(run) == f"fabricgauge {words[0]} --resume r1{place}"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([f"c{number}" for number in range(1, 65)], "c[1-64]"),
        (["c1"], "c1"),
        (["c1", "c2", "c4"], "c[1-2,4]"),
        (["n01", "n02", "n10"], "n01,n02,n10"),
        (["head", "c2", "c1"], "head,c1,c2"),
        (["a", "b"], "a,b"),
    ],
)
def test_names_are_folded(names: list[str], text: str) -> None:
    assert folded(names) == text


def test_the_command_that_looks_for_causes_names_sets_of_nodes() -> None:
    run = many.run(many.launch(8, many.rounds(8)))
    assert doctor(run).endswith("-w 'c[1-8]'")


def test_slow_pairs_are_not_said_to_be_at_their_ceiling() -> None:
    found = judged(many.run(many.launch(6, many.rounds(6, many.slow(2, share=0.3)))))
    reason = planted.the(found.verdicts, "host-limited", Outcome.SKIPPED).summary
    assert "median of all pairs" in reason


def slower_reverse(one: Measurement) -> Measurement:
    """A stream from c2 to c1 that takes eight times as long."""
    if one.origin != 1 or one.pattern != "bandwidth" or one.times is None:
        return one
    sample = planted.Sample("bandwidth", one.message_bytes, 1, 8 * one.times.median_s)
    return msgspec.structs.replace(one, times=planted.times(sample))


def test_of_one_low_direction_one_remedy_stands() -> None:
    slow = planted.changed(planted.sound_launches(), slower_reverse)
    found = judged(planted.run(slow))
    asymmetry = planted.by_rule(found.verdicts, "asymmetry")
    assert {one.outcome for one in asymmetry} == {Outcome.FAIL}
    assert {found.follows[one.id].partition("/")[0] for one in asymmetry} == {"fraction"}
    assert "asymmetry" not in {one.rule for one in next_steps(found)}


@pytest.mark.parametrize(
    ("how", "words"), [("no data", "TCP connects"), ("no answer", "no TCP connection works")]
)
def test_a_connection_that_opens_is_not_said_not_to_work(how: How, words: str) -> None:
    def failed(one: str, other: str) -> FailedConnection:
        return FailedConnection(one, other, f"ip {one}", f"ip {other}", how)

    both = [failed("c3", other) for other in ("c1", "c2", "c4")]
    both += [failed(other, "c3") for other in ("c1", "c2", "c4")]
    (found,) = find_connection_faults(
        Connectivity("net1", {f"c{n}": 3 for n in (1, 2, 3, 4)}, tuple(both))
    )
    assert found.nodes == ("c3",)
    assert found.summary.startswith(words)
