from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.nccl.facts import renamed
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "nccl-tests"
NEWEST = "2.19.6--all-reduce-two-nodes"
BROKEN = "2.19.6--wrong-elements-noise-cut-off"


def raw(name: str) -> bytes:
    return (FIXTURES / f"{name}.out").read_bytes()


def found(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def curves(name: str) -> list[SuiteCurve]:
    return found(raw(name))[0]


def by_kind(all_curves: list[SuiteCurve]) -> dict[tuple[str, str], SuiteCurve]:
    return {(one.settings["placement"], one.quantity): one for one in all_curves}


def at(curve: SuiteCurve, message_bytes: int) -> float:
    return next(p.estimate.value for p in curve.points if p.message_bytes == message_bytes)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.out")), ids=lambda path: path.stem)
def test_every_line_of_every_version_is_understood(path: Path) -> None:
    all_curves, strange = found(path.read_bytes())
    assert len(all_curves) >= 3
    assert strange == []


def test_time_algorithm_and_bus_bandwidth_of_both_placements_are_curves_in_si() -> None:
    kinds = by_kind(curves(NEWEST))
    assert set(kinds) == {
        (placement, quantity)
        for placement in ("out-of-place", "in-place")
        for quantity in ("time", "bandwidth", "bus_bandwidth")
    }
    assert at(kinds["out-of-place", "time"], 16 << 20) == pytest.approx(286.24e-6)
    assert at(kinds["out-of-place", "bandwidth"], 16 << 20) == pytest.approx(58.61e9)
    assert at(kinds["in-place", "bus_bandwidth"], 16 << 20) == pytest.approx(103.85e9)


def test_a_log_whose_headings_lost_their_sign_tells_its_hosts_and_both_placements() -> None:
    all_curves = curves("2.13--hash-eaten")
    kinds = by_kind(all_curves)
    assert {one.hosts for one in all_curves} == {("nodea", "nodeb")}
    assert {(one.benchmark, one.ranks) for one in all_curves} == {("all_reduce_perf", 16)}
    assert at(kinds["out-of-place", "bus_bandwidth"], 8 << 30) == pytest.approx(338.82e9)
    assert at(kinds["in-place", "time"], 1 << 30) == pytest.approx(6737.4e-6)


def test_the_head_gives_version_benchmark_hosts_ranks_and_iterations() -> None:
    curve = curves(NEWEST)[0]
    assert (curve.suite, curve.version) == ("nccl-tests", "2.19.6")
    assert (curve.benchmark, curve.what) == ("all_reduce_perf", "all_reduce")
    assert (curve.hosts, curve.ranks) == (("gpu-1", "gpu-2"), 8)
    assert curve.points[0].estimate.samples == 20
    assert curve.settings["nccl"] == "2.28.9"
    assert curve.cut_off == ""


def test_no_curve_claims_one_of_our_patterns() -> None:
    assert {one.pattern for one in curves(NEWEST)} == {None}


def test_a_rate_that_two_decimals_cannot_show_is_neither_a_point_nor_a_failure() -> None:
    kinds = by_kind(curves(NEWEST))
    assert at(kinds["in-place", "time"], 8) == pytest.approx(23.4e-6)
    assert min(p.message_bytes or 0 for p in kinds["in-place", "bandwidth"].points) == 128
    assert not any(one.failures for one in kinds.values())


def test_a_zero_that_is_no_rounding_is_a_failure() -> None:
    text = raw(NEWEST).replace(b"  286.24   58.61  102.57", b"  286.24    0.00    0.00")
    curve = by_kind(found(text)[0])["out-of-place", "bandwidth"]
    assert [one.trouble for one in curve.failures] == ["not a number"]


def test_the_average_bus_bandwidth_is_a_setting_that_says_what_it_averages() -> None:
    assert "mean over all sizes" in curves(NEWEST)[0].settings["average bus bandwidth"]


def test_wrong_elements_make_a_row_corrupt() -> None:
    kinds = by_kind(curves(BROKEN))
    failures = kinds["out-of-place", "time"].failures
    assert [(one.message_bytes, one.trouble) for one in failures] == [(4096, "corrupt")]
    assert 4096 not in [p.message_bytes for p in kinds["out-of-place", "bus_bandwidth"].points]
    assert at(kinds["in-place", "time"], 4096) == pytest.approx(23.46e-6)


def test_out_of_bounds_values_make_the_whole_table_corrupt() -> None:
    curve = curves("rccl-ae3e635--wrong-elements-in-place-only")[0]
    assert (curve.suite, curve.settings["placement"]) == ("rccl-tests", "in-place")
    assert [(one.message_bytes, one.trouble) for one in curve.failures] == [
        (2 << 20, "corrupt"),
        (None, "corrupt"),
    ]


def test_a_row_that_the_library_interrupts_is_put_together() -> None:
    curve = by_kind(curves(BROKEN))["out-of-place", "time"]
    assert at(curve, 1024) == pytest.approx(24.12e-6)


def test_the_transport_is_that_of_the_channels() -> None:
    assert curves(BROKEN)[0].transport == "rdma"
    assert found(raw(BROKEN).replace(b"NET/IB/0", b"NET/Socket/0"))[0][0].transport == "tcp"
    assert curves(NEWEST)[0].transport == ""


def test_an_output_that_breaks_off_in_a_row_says_so() -> None:
    kinds = by_kind(curves(BROKEN))
    assert "ends at 2097152 bytes, of up to 16777216" in kinds["in-place", "time"].cut_off
    assert at(kinds["out-of-place", "time"], 2 << 20) == pytest.approx(56.87e-6)
    assert [one.trouble for one in kinds["in-place", "time"].failures] == ["cut off"]


def test_an_output_without_a_row_is_told_of() -> None:
    all_curves, _ = found(b"\n".join(raw(NEWEST).splitlines()[:14]))
    assert [(len(one.points), one.cut_off) for one in all_curves] == [
        (0, "ends before the first row")
    ]


def test_a_failed_call_of_the_library_ends_the_output() -> None:
    lines = raw(NEWEST).splitlines()[:20]
    lines.append(b"gpu-1: Test NCCL failure common.cu:1051 'unhandled system error'")
    lines.append(b" .. gpu-1 pid 22140: Test failure common.cu:950")
    all_curves, strange = found(b"\n".join(lines))
    (cut_off,) = {one.cut_off for one in all_curves}
    assert cut_off.startswith(
        "the program stopped: gpu-1: Test NCCL failure common.cu:1051 'unhandled system error'; "
    )
    assert "NCCL_DEBUG=INFO names it" in cut_off
    assert strange == []


def test_a_timeout_is_a_failure_of_its_own_kind() -> None:
    text = b"\n".join([*raw(NEWEST).splitlines()[:20], b"gpu-1: Test timeout (20s) common.cu:523"])
    assert found(text)[0][0].failures[-1].trouble == "timeout"


def test_the_columns_of_version_2_13_have_a_root_and_unchecked_rows() -> None:
    kinds = by_kind(curves("2.13.10--alltoall"))
    assert kinds["in-place", "time"].benchmark == "alltoall_perf"
    assert at(kinds["in-place", "bandwidth"], 1 << 20) == pytest.approx(24.76e9)


def test_the_columns_before_2_13_have_a_deviation_that_is_no_failure() -> None:
    kinds = by_kind(curves("2.9.0--all-reduce"))
    assert at(kinds["out-of-place", "bus_bandwidth"], 128 << 20) == pytest.approx(130.33e9)
    assert not kinds["out-of-place", "time"].failures


def test_a_starred_deviation_is_a_failure() -> None:
    text = raw("2.9.0--all-reduce").replace(b"2e-07", b"2e+01*", 1)
    failures = by_kind(found(text)[0])["out-of-place", "time"].failures
    assert [one.trouble for one in failures] == ["corrupt"]


def test_the_first_version_counts_milliseconds() -> None:
    kinds = by_kind(curves("1.0.0--all-reduce"))
    assert at(kinds["out-of-place", "time"], 32 << 20) == pytest.approx(1.864e-3)
    assert kinds["out-of-place", "time"].unit_rule == "ms"


def test_the_extremes_of_single_iterations_stay_with_the_time() -> None:
    text = (
        b"# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 20\n"
        b"#  size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% "
        b"time algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
        b"1048576 262144 float sum -1 40 26.2 26.2 0 38 55 54.9 3.1 41 25.6 25.6 0 39 60 58 4 "
        b"2026-01-01 12:00:00\n# Avg bus bandwidth : 25.9\n"
    )
    curve = by_kind(found(text)[0])["in-place", "time"]
    assert curve.points[0].besides == pytest.approx(
        {"minimum": 39e-6, "maximum": 60e-6, "p99": 58e-6}
    )


def test_datatypes_and_cycles_are_tables_of_their_own() -> None:
    head = b"# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) iters: 20\n"
    rows = [
        b"%d %d %s sum -1 20 0.5 0.5 0 20 0.5 0.5 0\n" % (size, size, kind)
        for kind in (b"float", b"float", b"half")
        for size in (8192, 16384)
    ]
    all_curves, _ = found(head + b"".join(rows) + b"# Avg bus bandwidth : 0.5\n")
    times = [one.settings for one in all_curves if one.quantity == "time"]
    assert [(one["datatype"], one.get("cycle")) for one in times[::2]] == [
        ("float", None),
        ("float", "2"),
        ("half", None),
    ]


def test_a_second_output_does_not_inherit_from_the_first() -> None:
    all_curves, strange = found(raw(NEWEST) + raw("2.13.10--alltoall"))
    assert [one.benchmark for one in all_curves[::6]] == ["all_reduce_perf", "alltoall_perf"]
    assert (all_curves[6].version, all_curves[6].hosts) == ("", ("gpu-1",))
    assert strange == []


def test_an_output_behind_a_broken_one_closes_that() -> None:
    all_curves, _ = found(raw(BROKEN) + b"\n" + raw(NEWEST))
    assert [bool(one.cut_off) for one in all_curves[::6]] == [True, False]


def test_launcher_warnings_in_the_table_are_reported_and_end_nothing() -> None:
    lines = raw(NEWEST).splitlines()
    lines.insert(25, b"srun: warning: something odd")
    all_curves, strange = found(b"\n".join(lines))
    assert all_curves[0].points == curves(NEWEST)[0].points[:7] + tuple(all_curves[0].points[7:])
    assert len(all_curves[0].points) == 22
    assert [(one.line, one.text) for one in strange] == [(26, "srun: warning: something odd")]


def test_labels_of_a_launcher_are_taken_off() -> None:
    labelled = b"\n".join(b"[1,0]<stdout>:" + line for line in raw(NEWEST).splitlines())
    assert [one.points for one in found(labelled)[0]] == [one.points for one in curves(NEWEST)]


LINES = st.sampled_from(
    [
        line
        for path in sorted(FIXTURES.glob("[12r]*.out"))
        for line in path.read_bytes().split(b"\n")
    ]
)
ODD = st.binary(max_size=60)


@given(st.lists(st.one_of(LINES, LINES, LINES, ODD), max_size=60), st.integers(0, 200))
def test_no_mixture_of_lines_makes_it_raise(lines: list[bytes], cut: int) -> None:
    text = b"\n".join(lines)
    for curve in found(text[: max(0, len(text) - cut)])[0]:
        assert all(point.estimate.value > 0 for point in curve.points)


def test_a_blank_operation_shifts_no_column() -> None:
    blank, named = curves("2.13.10--alltoall-blank-redop"), curves("2.13.10--alltoall")
    assert [one.points for one in blank] == [one.points for one in named]
    assert blank[0].settings == named[0].settings


def test_a_row_without_heading_and_without_operation_is_refused() -> None:
    text = b"# Using devices\n1024 32 float 31.01 0.03 0.03 0 30.71 0.03 0.03 0\n"
    assert not any(one.points for one in found(text)[0])
    assert [one.line for one in found(text)[1]] == [2]


def test_hosts_of_all_ranks_and_checks_are_evidence() -> None:
    evidence = curves(NEWEST)[0].evidence
    assert len(evidence.rank_hosts) == curves(NEWEST)[0].ranks
    assert set(evidence.rank_hosts) == set(curves(NEWEST)[0].hosts)
    assert evidence.data_checked


def test_two_ranks_are_renamed_to_the_program_that_was_started() -> None:
    """Two ranks reduce as fast as they send: rates alone name the wrong program."""
    head = b"# nThread 1 nGpus 1 minBytes 4096 maxBytes 1048576\n"
    hosts = b"".join(
        b"#  Rank %2d Group  0 Pid %d on c%d device  0 [0x0f] H100\n" % (rank, 100 + rank, rank + 1)
        for rank in (0, 1)
    )
    columns = b"  time  algbw  busbw  #wrong"
    title = b"#  size  count  type  redop  root" + columns + columns + b"\n"
    row = b"1048576 262144 float sum -1 374.5 2.80 2.80 0 374.5 2.80 2.80 0\n"
    named = found(head + hosts + title + row)[0]
    assert {curve.benchmark for curve in named} == {"all_reduce_perf"}
    started = [renamed(curve, "sendrecv_perf") for curve in named]
    assert {curve.benchmark for curve in started} == {"sendrecv_perf"}
    assert all(curve.what.startswith("sendrecv") for curve in started)
