import msgspec
from tests.report import sample

from fabricgauge.model.absence import Skipped
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Ended, Run
from fabricgauge.report.content.verdicts import omissions, unmeasured


def changed(**fields: object) -> Judged:
    judged = sample.judged()
    return msgspec.structs.replace(judged, run=msgspec.structs.replace(judged.run, **fields))


def whats(judged: Judged) -> list[str]:
    return [what for what, _ in unmeasured(judged)]


def test_a_complete_run_lacks_only_the_skipped_rule() -> None:
    judged = sample.judged()
    assert unmeasured(judged) == ()
    assert [what for what, _ in omissions(judged)] == ["rule host-limited on net1"]


def test_a_broken_off_run_is_named() -> None:
    assert "the rest of the run" in whats(changed(complete=False))


def test_cases_that_the_plan_leaves_out_are_named() -> None:
    plan = msgspec.structs.replace(sample.judged().run.plan, left_out=("large collectives",))
    assert unmeasured(changed(plan=plan)) == (("a part of the usual cases", "large collectives"),)


def test_a_launch_that_never_started_is_named() -> None:
    assert whats(changed(launches=sample.judged().run.launches[:2])) == ["launch 3"]


def test_cases_without_a_record_are_counted() -> None:
    launches = sample.judged().run.launches
    cut = msgspec.structs.replace(launches[0], measurements=launches[0].measurements[:-4])
    ((what, why),) = unmeasured(changed(launches=(cut, *launches[1:])))
    assert what.startswith("launch 1: bandwidth/")
    assert why == "4 of 124 planned cases left no record"


def test_a_failed_launch_keeps_its_message() -> None:
    launches = sample.judged().run.launches
    ended = Ended("lost", 1, "c2 has lost its link on eth0", (), 3.0)
    ((_, why),) = unmeasured(
        changed(launches=(*launches[:2], msgspec.structs.replace(launches[2], ended=ended)))
    )
    assert why == "c2 has lost its link on eth0"


def test_failed_cases_are_grouped_by_their_reason() -> None:
    launches = sample.judged().run.launches
    failed = [
        msgspec.structs.replace(one, status="failed", reason="no memory")
        for one in launches[0].measurements
    ]
    changed_launch = msgspec.structs.replace(launches[0], measurements=tuple(failed))
    ((what, why),) = unmeasured(changed(launches=(changed_launch, *launches[1:])))
    assert what.endswith("and 121 more")
    assert why == "failed: no memory"


def test_what_a_later_attempt_has_measured_is_not_missing() -> None:
    """After a resumption: the first attempt broke in its first case, the second made them all."""
    whole = sample.judged().run.launches
    lost = msgspec.structs.replace(whole[0].measurements[0], status="failed", reason="no memory")
    ended = Ended("broken", None, "the program that measured was ended before", (), 0.0)
    first = msgspec.structs.replace(whole[0], measurements=(lost,), ended=ended)
    assert unmeasured(changed(launches=(first, *whole))) == ()
    assert len(unmeasured(changed(launches=(first, *whole[1:])))) == 3


def test_unreached_nodes_and_unknown_ceilings_are_named() -> None:
    run: Run = sample.judged().run
    fabric = msgspec.structs.replace(run.fabric, unreached=(sample.unreached("c3"),))
    judged = msgspec.structs.replace(
        changed(fabric=fabric), ceilings={"net1": Skipped("the rate is not known")}
    )
    assert whats(judged) == ["node c3", "the ceiling of net1"]
