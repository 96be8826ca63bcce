"""Whatever a launch leaves behind is judged, never a crash, never a pass by absence."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.interface import Context, Subject, judge_networks
from fabricgauge.judge.judging import overall
from fabricgauge.judge.rules import RULES, RULES_OF_PAIRS, load_rule
from fabricgauge.judge.thresholds import BUILT_IN, thresholds_from
from fabricgauge.model.errors import UsageError
from fabricgauge.model.measurement import Measurement, NodeCounters, Placement
from fabricgauge.model.plan import Plan
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

SAMPLES = st.builds(
    planted.Sample,
    pattern=st.sampled_from(
        ("latency", "bandwidth", "bidirectional_bandwidth", "put_latency", "put_bandwidth")
    ),
    message_bytes=st.sampled_from((0, 1, 8, 65536, 1 << 22)),
    origin=st.integers(0, 1),
    median_s=st.floats(0, 10) | st.just(float("nan")) | st.just(float("inf")),
)


STATUSES: tuple[planted.Status, ...] = ("ok", "failed", "timeout", "skipped")
MAY_BE_EMPTY = ("counters", "sockets", "processors", "payload_sent_bytes")


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    status = draw(st.sampled_from(STATUSES))
    whole = planted.measurement(draw(SAMPLES), status=status)
    gone = draw(
        st.sets(st.sampled_from(("counters", "sockets", "processors", "payload_sent_bytes")))
    )
    return msgspec.structs.replace(whole, **dict.fromkeys(gone, ()))


LAUNCHES = st.builds(
    Launch,
    number=st.integers(1, 3),
    network=st.sampled_from(("net1", "net2", "unknown", None, "loopback:c1")),
    nodes=st.sampled_from((planted.NODES, ("c1",), (), ("c1", "c1"))),
    header=st.none(),
    placements=st.sampled_from(((), planted.placements(), planted.placements()[:1])),
    measurements=st.lists(measurements(), max_size=4).map(tuple),
    ended=st.just(planted.sound_launches()[0].ended),
)


@settings(max_examples=150)
@given(st.lists(LAUNCHES, max_size=4))
def test_no_rule_raises_whatever_a_launch_left(launches: list[Launch]) -> None:
    context = Context(planted.run(launches), {"net1": planted.ceiling()})
    for rule in RULES:
        verdicts = load_rule(rule).judge(context)
        assert not (verdicts and rule in RULES_OF_PAIRS)
        for verdict in verdicts:
            assert verdict.rule == rule
            assert verdict.summary
            assert "could not be applied" not in verdict.summary


@given(st.permutations(planted.samples()))
def test_order_of_measurements_does_not_change_the_verdicts(
    samples: list[planted.Sample],
) -> None:
    usual = [planted.launch(map(planted.measurement, planted.samples()))]
    shuffled = [planted.launch(map(planted.measurement, samples))]
    plan = planted.plan_of(usual)
    assert planted.verdicts(planted.run(shuffled, plan=plan)) == planted.verdicts(
        planted.run(usual, plan=plan)
    )


def test_empty_run_is_inconclusive() -> None:
    empty = Plan("quick", planted.run().plan.stopping, False, ())
    assert overall(planted.verdicts(planted.run((), plan=empty))) is Outcome.INCONCLUSIVE


def test_planned_but_never_started_is_inconclusive() -> None:
    run = planted.run((), plan=planted.plan_of(planted.sound_launches()))
    verdict = planted.the(planted.verdicts(run), "completeness", Outcome.INCONCLUSIVE)
    assert "never started" in verdict.summary
    assert overall(planted.verdicts(run)) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("rule", ["placement", "path", "fraction"])
def test_overall_is_inconclusive_when_a_deciding_rule_is_silent_or_skips(rule: str) -> None:
    given_verdicts = planted.verdicts(planted.run())
    silent = [one for one in given_verdicts if one.rule != rule]
    assert overall(silent) is Outcome.INCONCLUSIVE
    skipped = Verdict(rule=rule, outcome=Outcome.SKIPPED, subject="net2", summary="not judged")
    assert overall([*given_verdicts, skipped]) is Outcome.INCONCLUSIVE


def test_rule_that_breaks_leaves_the_others_and_never_a_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_context: Context) -> tuple[Verdict, ...]:
        raise ZeroDivisionError

    monkeypatch.setattr(load_rule(RULES[-1]), "judge", broken)
    given_verdicts = planted.judge(planted.run(), {"net1": planted.ceiling()})
    assert (
        "ZeroDivisionError" in planted.the(given_verdicts, RULES[-1], Outcome.INCONCLUSIVE).summary
    )
    assert planted.outcomes(given_verdicts, "path") == {Outcome.PASS}
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE


def test_rule_that_breaks_on_a_network_keeps_the_verdicts_of_the_others() -> None:
    def find(subject: Subject) -> Iterator[Verdict]:
        yield Verdict(Outcome.WARN, "judged before")
        if subject.name == "net1":
            raise OverflowError("too large")

    launches = [planted.launch(map(planted.measurement, planted.samples()))]
    launches.append(msgspec.structs.replace(launches[0], number=2, network="net2"))
    context = Context(planted.run(launches), {"net1": planted.ceiling()})
    given_verdicts = judge_networks("stability")(find)(context)
    outcomes = [(verdict.network, verdict.outcome) for verdict in given_verdicts]
    assert outcomes == [
        ("net1", Outcome.WARN), ("net1", Outcome.INCONCLUSIVE), ("net2", Outcome.WARN),
    ]  # fmt: skip


def test_unknown_threshold_is_refused_by_name_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"site\.toml.*'fraction\.pas'.*fraction\.pass"):
        thresholds_from({"fraction.pas": 0.9}, "site.toml")


@pytest.mark.parametrize("value", ["0.9", True, None, -1, float("nan"), [0.9]])
def test_threshold_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"fraction\.pass"):
        thresholds_from({"fraction.pass": value}, "site.toml")


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UsageError, match=r"fraction\.warn"):
        thresholds_from({"fraction.warn": 0.99}, "site.toml")


def test_every_built_in_threshold_states_its_origin() -> None:
    assert all(limit.origin.startswith("built-in: ") for limit in BUILT_IN.values())


def test_site_threshold_changes_the_outcome() -> None:
    run: Run = planted.run()
    strict = thresholds_from({"fraction.pass": 0.999, "fraction.warn": 0.998}, "site.toml")
    assert overall(planted.verdicts(run, thresholds=strict)) is Outcome.FAIL


def test_counters_of_an_interface_that_vanished_are_tolerated() -> None:
    first = planted.sound_launches()[0]

    def vanish(measurement: Measurement) -> Measurement:
        counters: tuple[NodeCounters, ...] = tuple(
            msgspec.structs.replace(
                one, after={name: c for name, c in one.after.items() if name != "eth1"}
            )
            for one in measurement.counters
        )
        return msgspec.structs.replace(measurement, counters=counters)

    run = planted.run(planted.changed([first], vanish))
    assert planted.outcomes(planted.verdicts(run), "path") == {Outcome.PASS}


def test_placement_of_an_unknown_rank_is_tolerated() -> None:
    extra = Placement(7, "c9", 1, "boot-c9", "net:[9]", "0", 0, 0, "")
    launch = msgspec.structs.replace(
        planted.sound_launches()[0], placements=(*planted.placements(), extra)
    )
    assert planted.verdicts(planted.run([launch]))
