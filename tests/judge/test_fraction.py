"""How much of the ceiling is reached, and whose fault it is if it is little."""

from collections.abc import Callable, Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted

from fabricgauge.judge.judging import overall
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Shaper
from fabricgauge.model.measurement import Measurement, ProcessorUse
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict, exit_status

Change = Callable[[Measurement], Measurement]


def at(fraction: float, change: Change | None = None) -> Run:
    launches = list(planted.sound_launches(fraction))
    return planted.run(planted.changed(launches, change) if change else launches)


def processors(**fields: float) -> Change:
    def change(measurement: Measurement) -> Measurement:
        uses: tuple[ProcessorUse, ...] = tuple(
            msgspec.structs.replace(one, **fields) for one in measurement.processors
        )
        return msgspec.structs.replace(measurement, processors=uses)

    return change


def sockets(**fields: float) -> Change:
    def change(measurement: Measurement) -> Measurement:
        connections = tuple(
            tuple(msgspec.structs.replace(one, **fields) for one in measurement.sockets_of(rank))
            for rank in range(len(measurement.sockets))
        )
        return msgspec.structs.replace(measurement, sockets=connections)

    return change


def unsteady(change: Change, scatter: float = 0.04) -> Change:
    """Wide intervals, and some sizes slower by ``scatter``.

    Beside two busy loops on two processors, sizes of one stream carried 80 to 100 MB/s.
    """

    def both(measurement: Measurement) -> Measurement:
        times = measurement.times
        assert times is not None
        median_s = times.median_s * (
            1.0 + scatter * (measurement.message_bytes.bit_length() // 2 % 2)
        )
        wide = msgspec.structs.replace(
            times, median_s=median_s, low_s=median_s * 0.95, high_s=median_s * 1.05
        )
        return change(msgspec.structs.replace(measurement, times=wide))

    return both


def test_fraction_fails_at_a_tenth_and_names_the_lower_rate() -> None:
    given_verdicts = planted.verdicts(at(0.0995))
    verdict = planted.the(given_verdicts, "fraction", Outcome.FAIL)
    assert "100 Mb/s instead of 1 Gb/s" in verdict.cause
    assert "tc qdisc show" in verdict.remedy
    assert overall(given_verdicts) is Outcome.FAIL
    assert exit_status(overall(given_verdicts)) == 1


def test_fraction_stays_a_failure_when_polling_ranks_keep_the_processors_busy() -> None:
    busy = processors(node_idle_share=0.0, user_s=0.3, system_s=0.2, run_delay_s=0.02)
    given_verdicts = planted.verdicts(at(0.0995, busy))
    assert overall(given_verdicts) is Outcome.FAIL
    assert Outcome.INCONCLUSIVE not in planted.outcomes(given_verdicts, "host-limited")


def test_fraction_stays_a_failure_when_waiting_for_a_processor_is_too_little_to_explain() -> None:
    given_verdicts = planted.verdicts(at(0.0995, processors(run_delay_s=0.2)))
    assert overall(given_verdicts) is Outcome.FAIL


@pytest.mark.parametrize(
    "change",
    [
        processors(busiest_softirq_share=0.95),
        unsteady(processors(node_idle_share=0.01, node_softirq_share=0.4)),
        unsteady(processors(run_delay_s=0.2)),
        unsteady(processors(node_steal_share=0.4)),
        sockets(busy_s=0.2),
    ],
)
def test_fraction_is_inconclusive_when_a_host_sets_the_pace(change: Change) -> None:
    given_verdicts = planted.verdicts(at(0.55, change))
    assert Outcome.FAIL not in planted.outcomes(given_verdicts, "fraction")
    verdict = planted.the(given_verdicts, "host-limited", Outcome.INCONCLUSIVE)
    assert verdict.evidence
    assert exit_status(overall(given_verdicts)) == 3


def test_a_rate_that_all_sizes_share_is_a_wire_s_although_each_interval_is_wide() -> None:
    # As a lab node looked that sent at half its rate: all seven sizes within 1.5 %.
    busy = processors(node_idle_share=0.0, node_softirq_share=0.41)
    alike = planted.verdicts(at(0.497, unsteady(busy, scatter=0.015)))
    assert Outcome.FAIL in planted.outcomes(alike, "fraction")
    scattered = planted.verdicts(at(0.497, unsteady(busy)))
    assert Outcome.FAIL not in planted.outcomes(scattered, "fraction")


def test_packets_on_busy_processors_do_not_excuse_a_figure_as_steady_as_a_wire() -> None:
    # As a lab node looked whose link carried half its rate: 58.72 MB/s within 0.1 %.
    busy = processors(node_idle_share=0.0, node_softirq_share=0.22)
    given = planted.verdicts(at(0.499, busy))
    assert Outcome.FAIL in planted.outcomes(given, "fraction")


def test_ranks_that_wait_do_not_excuse_a_figure_as_steady_as_a_wire() -> None:
    given_verdicts = planted.verdicts(at(0.55, processors(run_delay_s=0.3)))
    assert overall(given_verdicts) is Outcome.FAIL


@pytest.mark.parametrize(
    "change", [processors(run_delay_s=0.49), processors(busiest_softirq_share=1)]
)
def test_link_at_a_lower_standard_rate_fails_whatever_the_hosts_do(change: Change) -> None:
    given_verdicts = planted.verdicts(at(0.0995, change))
    assert overall(given_verdicts) is Outcome.FAIL
    verdict = planted.by_rule(given_verdicts, "host-limited")[0]
    assert "100 Mb/s link" in verdict.evidence[0]


def test_fraction_warns_in_the_soft_band() -> None:
    given_verdicts = planted.verdicts(at(0.93))
    assert one_way_outcomes(given_verdicts) == {Outcome.WARN}
    assert exit_status(overall(given_verdicts)) == 0


def one_way_outcomes(given_verdicts: Iterable[Verdict]) -> set[Outcome]:
    return {one.outcome for one in fractions(given_verdicts) if "both" not in one.summary}


def both_ways(given_verdicts: Iterable[Verdict]) -> Verdict:
    (found,) = [one for one in fractions(given_verdicts) if "both directions" in one.summary]
    return found


def fractions(given_verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    return planted.by_rule(given_verdicts, "fraction")


@pytest.mark.parametrize(
    ("fraction", "outcome"),
    [
        (0.93, Outcome.PASS),
        (0.86, Outcome.PASS),
        (0.80, Outcome.WARN),
        (0.50, Outcome.WARN),  # half duplex: one-way streams decide, these never pass
    ],
)
def test_streams_in_both_directions_have_thresholds_of_their_own(
    fraction: float, outcome: Outcome
) -> None:
    both = [one for one in planted.samples(fraction) if one.pattern == "bidirectional_bandwidth"]
    rest = [one for one in planted.samples() if one.pattern != "bidirectional_bandwidth"]
    run = planted.run([planted.launch(map(planted.measurement, [*rest, *both]))])
    given_verdicts = planted.verdicts(run)
    assert both_ways(given_verdicts).outcome is outcome
    assert one_way_outcomes(given_verdicts) == {Outcome.PASS}


def test_a_wide_interval_of_both_directions_warns_and_leaves_the_decision_to_one_way() -> None:
    wide = [
        msgspec.structs.replace(one, width=0.2)
        for one in planted.samples(0.73)
        if one.pattern == "bidirectional_bandwidth"
    ]
    rest = [one for one in planted.samples() if one.pattern != "bidirectional_bandwidth"]
    run = planted.run([planted.launch(map(planted.measurement, [*rest, *wide]))])
    assert both_ways(planted.verdicts(run)).outcome is Outcome.WARN


def test_acknowledgements_of_the_other_direction_lower_the_ceiling_of_both() -> None:
    counted = sockets(data_segments=1000, acknowledgements=500)
    verdict = both_ways(planted.verdicts(at(0.96, counted)))
    assert "114.34 MB/s" in verdict.summary  # 117.69 × 1538 ÷ (1538 + 0.5 × 90)
    assert any("(1538 + 0.50 × 90)" in line for line in verdict.evidence)
    for one_way in fractions(planted.verdicts(at(0.96, counted))):
        assert "both" in one_way.summary or "117.69 MB/s" in one_way.summary


def test_fraction_is_inconclusive_when_its_interval_reaches_the_soft_band() -> None:
    samples = [msgspec.structs.replace(one, width=0.06) for one in planted.samples(0.88)]
    run = planted.run([planted.launch(map(planted.measurement, samples))])
    assert Outcome.INCONCLUSIVE in planted.outcomes(planted.verdicts(run), "fraction")
    assert Outcome.FAIL not in planted.outcomes(planted.verdicts(run), "fraction")


def test_fraction_warns_when_one_launch_is_below_the_threshold() -> None:
    slow = planted.launch(map(planted.measurement, planted.samples(0.92)), 4)
    run = planted.run([*planted.sound_launches(), slow])
    assert one_way_outcomes(planted.verdicts(run)) == {Outcome.WARN}


def test_slow_one_sided_streams_only_warn_when_plain_messages_fill_the_link() -> None:
    def slow_put(measurement: Measurement) -> Measurement:
        if measurement.pattern != "put_bandwidth" or measurement.times is None:
            return measurement
        longer = msgspec.structs.replace(
            measurement.times,
            median_s=measurement.times.median_s * 2,
            low_s=measurement.times.low_s * 2,
            high_s=measurement.times.high_s * 2,
        )
        return msgspec.structs.replace(measurement, times=longer)

    given_verdicts = planted.verdicts(at(0.995, slow_put))
    assert planted.outcomes(given_verdicts, "fraction") == {Outcome.PASS, Outcome.WARN}


def test_fraction_names_the_token_bucket_that_is_below_the_nominal_rate() -> None:
    bare = planted.fabric()
    shaped = tuple(
        msgspec.structs.replace(
            node,
            interfaces=tuple(
                msgspec.structs.replace(one, shaper=Shaper(98.44e6, 32768))
                if (node.name, one.name) == ("c1", "eth0")
                else one
                for one in node.interfaces
            ),
        )
        for node in bare.nodes
    )
    run = planted.run(
        planted.sound_launches(0.0995), of=msgspec.structs.replace(bare, nodes=shaped)
    )
    verdict = planted.the(planted.verdicts(run), "fraction", Outcome.FAIL)
    assert "c1:eth0 limits the stream to 100 Mb/s of 1 Gb/s" in verdict.cause


def test_run_without_a_ceiling_is_never_a_pass() -> None:
    given_verdicts = planted.verdicts(planted.run(), Skipped("no rate is known"))
    assert planted.outcomes(given_verdicts, "fraction") == {Outcome.SKIPPED}
    assert overall(given_verdicts) is Outcome.INCONCLUSIVE


def test_run_without_large_messages_is_never_a_pass() -> None:
    small = [one for one in planted.samples() if one.message_bytes < 65536]
    run = planted.run([planted.launch(map(planted.measurement, small))])
    assert overall(planted.verdicts(run)) is Outcome.INCONCLUSIVE


@given(st.floats(0.02, 0.999), st.floats(0.02, 0.999))
def test_lower_bandwidth_is_never_judged_better(one: float, other: float) -> None:
    order = list(Outcome)
    lower, higher = sorted((one, other))
    worse = overall(planted.verdicts(at(lower)))
    better = overall(planted.verdicts(at(higher)))
    assert order.index(worse) <= order.index(better)
