"""Figures that the medium cannot have are invalid, however good they look."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.judge.judging import overall
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome


def of_samples(*samples: planted.Sample, split: planted.Split | None = None) -> Run:
    measured = (planted.measurement(one, split=split) for one in samples)
    return planted.run([planted.launch(measured)])


def window_s(message_bytes: int, bytes_per_s: float) -> float:
    return planted.WINDOW * message_bytes / bytes_per_s


def test_floor_is_invalid_when_latency_is_that_of_memory() -> None:
    run = of_samples(planted.Sample("latency", 8, 0, 0.44e-6))
    verdict = planted.the(planted.verdicts(run), "floor", Outcome.INVALID)
    assert "440 ns" in verdict.summary
    assert "2.00 µs" in verdict.summary
    assert "shared memory" in verdict.cause


def test_floor_does_not_ask_for_time_where_nothing_is_sent() -> None:
    empty_put = planted.Sample("put_latency", 0, 0, 0.4e-6)
    run = of_samples(empty_put, planted.Sample("latency", 0, 0, 11e-6))
    assert planted.outcomes(planted.verdicts(run), "floor") == {Outcome.PASS}
    small_put = planted.Sample("put_latency", 1, 0, 0.4e-6)
    assert planted.outcomes(planted.verdicts(of_samples(small_put)), "floor") == {Outcome.INVALID}


@pytest.mark.parametrize("network", ["net1", None])
def test_floor_of_tcp_holds_only_where_tcp_connections_carried_the_payload(
    network: str | None,
) -> None:
    measured = [planted.measurement(planted.Sample("latency", 8, 0, 0.94e-6))]
    by_tcp = [planted.launch(measured, network=network)]
    given = planted.verdicts(planted.run(by_tcp))
    assert planted.outcomes(given, "floor") == {Outcome.INVALID}
    by_rdma = planted.verdicts(planted.run(planted.without_sockets(by_tcp)))
    assert planted.outcomes(by_rdma, "floor") == {Outcome.PASS}


def test_above_ceiling_is_invalid_when_one_launch_of_three_is_too_fast() -> None:
    launches = [
        planted.launch(
            [planted.measurement(planted.Sample("bandwidth", 1 << 20, 0, window_s(1 << 20, rate)))],
            number,
        )
        for number, rate in enumerate((117e6, 117e6, 125e6), 1)
    ]
    given = planted.verdicts(planted.run(launches))
    assert planted.outcomes(given, "above-ceiling") == {Outcome.INVALID}


def test_above_ceiling_warns_when_a_median_is_above_and_its_interval_is_not() -> None:
    rate = 1.075 * planted.CEILING_BYTES_PER_S
    run = of_samples(planted.Sample("bandwidth", 1 << 20, 0, window_s(1 << 20, rate), width=0.085))
    verdict = planted.the(planted.verdicts(run), "above-ceiling", Outcome.WARN)
    assert "126.51 MB/s" in verdict.summary
    burst = planted.verdicts(run, planted.ceiling(burst_bytes=planted.WINDOW << 20))
    assert planted.outcomes(burst, "above-ceiling") == {Outcome.PASS}


def test_above_ceiling_is_invalid_when_a_stream_is_two_percent_too_fast() -> None:
    run = of_samples(planted.Sample("bandwidth", 1 << 20, 0, window_s(1 << 20, 120.2e6)))
    verdict = planted.the(planted.verdicts(run), "above-ceiling", Outcome.INVALID)
    assert "117.69 MB/s" in verdict.summary
    assert overall(planted.verdicts(run)) is Outcome.INVALID


def test_above_ceiling_is_invalid_when_a_message_crosses_faster_than_the_wire() -> None:
    run = of_samples(planted.Sample("latency", 1 << 20, 0, 5e-3))
    assert planted.outcomes(planted.verdicts(run), "above-ceiling") == {Outcome.INVALID}


def test_above_ceiling_allows_what_a_token_bucket_lets_through_at_once() -> None:
    message = planted.Sample("latency", 16384, 0, 16384 / 233e6)
    run = of_samples(message)
    assert planted.outcomes(planted.verdicts(run), "above-ceiling") == {Outcome.INVALID}
    with_burst = planted.verdicts(run, planted.ceiling(burst_bytes=32768))
    assert planted.outcomes(with_burst, "above-ceiling") == {Outcome.PASS}


def test_above_ceiling_within_tolerance_passes() -> None:
    run = of_samples(planted.Sample("bandwidth", 1 << 20, 0, window_s(1 << 20, 118.2e6)))
    assert planted.outcomes(planted.verdicts(run), "above-ceiling") == {Outcome.PASS}


def cache_like(split: planted.Split | None = None) -> Run:
    rates = {65536: 116e6, 262144: 117e6, 1048576: 80e6, 4194304: 70e6}
    samples = (
        planted.Sample("bandwidth", size, 0, window_s(size, rate)) for size, rate in rates.items()
    )
    return of_samples(*samples, split=split)


def test_cache_shape_warns_on_a_proved_path_and_is_invalid_on_an_unproved_one() -> None:
    proved = planted.the(planted.verdicts(cache_like()), "cache-shape", Outcome.WARN)
    assert "peaks at 256 KiB" in proved.summary
    unproved = planted.verdicts(cache_like({"eth0": 0.0}))
    assert planted.outcomes(unproved, "cache-shape") == {Outcome.INVALID}


def test_floor_threshold_of_a_site_is_quoted_with_its_origin() -> None:
    limits = thresholds_from({"floor.tcp": 20e-6}, "/etc/site.toml")
    given = planted.verdicts(planted.run(), thresholds=limits)
    verdict = planted.the(given, "floor", Outcome.INVALID)
    assert verdict.threshold is not None
    assert "/etc/site.toml" in verdict.threshold.origin


def corrupt(measurement: Measurement) -> Measurement:
    check = msgspec.structs.replace(
        measurement.data_check, requested=True, ok=False, first_bad_offset_bytes=4711
    )
    return msgspec.structs.replace(measurement, data_check=check)


def first_compared(measurement: Measurement) -> Measurement:
    check = msgspec.structs.replace(measurement.data_check, samples=1)
    return msgspec.structs.replace(measurement, data_check=check)


def test_data_of_the_first_samples_is_judged_without_being_asked_for() -> None:
    run = planted.run(planted.changed(planted.sound_launches(), first_compared))
    verdict = planted.the(planted.verdicts(run), "data", Outcome.PASS)
    assert "108 cases" in verdict.summary
    assert not verdict.evidence
    found = msgspec.structs.replace(planted.run().launches[0].measurements[3].data_check,
                                    samples=1, ok=False, first_bad_offset_bytes=1448)  # fmt: skip
    damaged = planted.changed(
        planted.sound_launches()[:1], lambda one: msgspec.structs.replace(one, data_check=found)
    )
    assert planted.outcomes(planted.verdicts(planted.run(damaged)), "data") == {Outcome.FAIL}


def test_data_says_which_patterns_were_not_compared() -> None:
    def but_puts(one: Measurement) -> Measurement:
        return one if one.pattern == "put_latency" else first_compared(one)

    run = planted.run(planted.changed(planted.sound_launches(), but_puts))
    verdict = planted.the(planted.verdicts(run), "data", Outcome.PASS)
    assert len(verdict.evidence) == 1
    nothing = planted.the(planted.verdicts(planted.run()), "data", Outcome.SKIPPED)
    assert "bytes were not compared" in nothing.summary


def test_data_fails_when_a_byte_arrives_changed() -> None:
    run = planted.run(planted.changed(planted.sound_launches()[:1], corrupt))
    verdict = planted.the(planted.verdicts(run), "data", Outcome.FAIL)
    assert "offset 4711 bytes" in verdict.summary
    assert "case latency/8/0>1" in verdict.summary
