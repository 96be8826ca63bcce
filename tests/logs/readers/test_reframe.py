"""ReFrame's performance logs: tests of OSU's programs, by OSU's own units."""

import pytest
from tests.logs.readers.reading import curves_of, found, raw, values

SUITE = "reframe"


def test_each_run_of_a_test_is_a_curve_by_the_programs_own_unit() -> None:
    whole, low = curves_of(SUITE, "4.5--osu-bw")
    assert values(whole) == [(None, pytest.approx(12301.15e6))]
    assert values(low) == [(None, pytest.approx(6120.4e6))]
    assert (low.benchmark, low.pattern, low.settings["result"]) == ("osu_bw", "bandwidth", "fail")
    assert low.settings["job_nodelist"] == "c1,c2"


def test_a_latency_of_an_unknown_size_has_no_pattern() -> None:
    (curve,) = curves_of(SUITE, "4.5--osu-latency-commas")
    assert values(curve) == [(None, pytest.approx(1.29e-6))]
    assert (curve.benchmark, curve.pattern, curve.what) == ("osu_latency", None, "half round trip")


def test_a_test_of_another_program_is_not_read_since_nobody_says_what_its_mb_is() -> None:
    text = raw(SUITE, "4.5--osu-bw").replace(b"osu_bw", b"stream").replace(b"osu_run", b"run")
    curves, strange = found(text.replace(b"bw_", b"copy_bw_"))
    assert curves == []
    assert [line.count for line in strange] == [2]


@pytest.mark.parametrize("unit", [b"MiB/s", b"Gb/s", b"furlongs", b""])
def test_a_unit_that_osu_does_not_print_gives_no_figure(unit: bytes) -> None:
    curves, strange = found(raw(SUITE, "4.5--osu-bw").replace(b"|MB/s|", b"|" + unit + b"|"))
    assert (curves, bool(strange)) == ([], True)
