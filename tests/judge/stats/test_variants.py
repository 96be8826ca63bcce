"""Cases of one pattern that are not alike: each has a curve of its own."""

import msgspec
from tests.judge import planted

from fabricgauge.judge.stats.curves import curves, suite_curves
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Epoch, Pattern


def measured(epoch: Epoch = "flush", threads: int = 1, median_s: float = 20e-6) -> Measurement:
    pattern: Pattern = "put_latency" if threads == 1 else "threads_latency"
    one = planted.measurement(planted.Sample(pattern, 8, 0, median_s))
    return msgspec.structs.replace(one, epoch=epoch, threads=threads)


def test_epochs_and_threads_have_curves_of_their_own() -> None:
    launches = [
        planted.launch(
            (
                measured(),
                measured("fence", median_s=30e-6),
                measured("pscw", median_s=40e-6),
                measured(threads=2, median_s=50e-6),
                measured(threads=4, median_s=60e-6),
            ),
            number,
        )
        for number in (1, 2)
    ]
    found = curves(planted.run(launches))
    assert {(one.word, one.variant): one.points[0].time.value for one in found} == {
        ("put_latency", ""): 20e-6,
        ("put_latency:fence", "fence"): 30e-6,
        ("put_latency:pscw", "pscw"): 40e-6,
        ("threads_latency:2", "2 threads"): 50e-6,
        ("threads_latency:4", "4 threads"): 60e-6,
    }
    assert all(one.points[0].time.launches == 2 for one in found)


def test_a_variant_is_not_compared_as_the_plain_pattern() -> None:
    run = planted.run([planted.launch((measured(), measured("fence")))])
    plain, fenced = suite_curves(run)
    assert (plain.pattern, fenced.pattern) == ("put_latency", None)
    assert plain.what != fenced.what and "fence" in fenced.what
    assert fenced.benchmark == "put_latency:fence"
