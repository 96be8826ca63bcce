"""Every recorded output of the suite is read, with the right unit, and its end is judged."""

import pytest
from tests.logs.readers.osu.reading import FIXTURES, curves_and_strange, curves_of, fixture, values

ALL = sorted(path.stem for path in FIXTURES.glob("*.out"))
WITHOUT_CURVES = {"7.4--hello", "7.4--neighbor-allgather"}


@pytest.mark.parametrize("name", ALL)
def test_each_fixture_says_where_it_is_from(name: str) -> None:
    assert (FIXTURES / f"{name}.meta").read_text().startswith("tool: osu_")


@pytest.mark.parametrize("name", sorted(set(ALL) - WITHOUT_CURVES))
def test_each_output_gives_curves_of_its_program(name: str) -> None:
    program = (FIXTURES / f"{name}.meta").read_text().split()[1]
    curves, _ = curves_and_strange(fixture(name))
    assert curves
    assert {program} == {curve.benchmark.split(" or ")[0] for curve in curves}
    for curve in curves:
        assert (curve.suite, curve.version) == ("osu", name.partition("--")[0])
        assert curve.points or curve.failures or curve.cut_off


#: First and last message size and value in SI units, as one reads them off the file.
FIRST_AND_LAST = {
    "3.1.1--one-sided-put-bw": (65536, 1200e6, 4194304, 1210e6),
    "3.1.1--one-sided-put-bibw": (1, 0.71e6, 4194304, 2318.90e6),
    "4.2--one-sided-get-latency": (0, 1.98e-6, 4194304, 1107.65e-6),
    "4.2--one-sided-put-latency": (0, 1.98e-6, 4194304, 1107.65e-6),
    "4.2--one-sided-accumulate-latency": (0, 1.98e-6, 4194304, 1107.65e-6),
    "4.2--one-sided-put-passive-bw": (1, 0.93e6, 4194304, 3188.01e6),
    "7.3--hash-eaten": (65536, 11950.10e6, 4194304, 12301.15e6),
    "7.3--tag-indented": (65536, 11950.10e6, 4194304, 12301.15e6),
    "7.3--rank-indented": (65536, 11950.10e6, 4194304, 12301.15e6),
    "7.3--host-indented": (65536, 11950.10e6, 4194304, 12301.15e6),
    "5.8--put-bw-1gbe": (1, 0.2e6, 4194304, 116.96e6),
    "5.6.3--latency-mp-written": (0, 0.24e-6, 4194304, 839.11e-6),
    "5.6.3--ibarrier-written": (None, 9.12e-6, None, 9.12e-6),
    "7.4--latency-default": (1, 1.77e-6, 65536, 88.89e-6),
    "7.4--latency-percentiles": (1, 0.45e-6, 4096, 58.42e-6),
    "7.4--latency-validate-types": (1, 0.67e-6, 1024, 17.22e-6),
    "7.4--latency-cut-off": (1, 822.09e-6, 128, 296.42e-6),
    "7.4--bw-default": (1, 7.0e6, 65536, 300.61e6),
    "7.4--bibw-default": (1, 7.64e6, 65536, 409.06e6),
    "7.4--mbw-mr-2pairs": (1, 2.08e6, 4096, 870.05e6),
    "7.4--multi-lat-4": (1, 2.86e-6, 1024, 6.68e-6),
    "7.4--put-bw-flush": (1, 33.54e6, 65536, 690.08e6),
    "7.4--get-latency-fence": (1, 0.45e-6, 4096, 10.26e-6),
    "7.4--fop-latency": (1, 0.12e-6, 1, 0.12e-6),
    "7.4--allreduce-full": (1, 0.72e-6, 4096, 4.98e-6),
    "7.4--allreduce-percentiles": (1, 0.74e-6, 1024, 2.24e-6),
    "7.4--alltoallv-tag-output": (1, 0.63e-6, 512, 1.70e-6),
    "7.4--iallreduce": (1, 4.25e-6, 1024, 4.47e-6),
    "7.4--barrier": (None, 0.57e-6, None, 0.57e-6),
    "7.4--init": (None, 0.275, None, 0.275),
}


@pytest.mark.parametrize("name", sorted(FIRST_AND_LAST))
def test_sizes_and_units_are_right(name: str) -> None:
    first_bytes, first, last_bytes, last = FIRST_AND_LAST[name]
    points = curves_of(name)[0].points
    assert (points[0].message_bytes, points[-1].message_bytes) == (first_bytes, last_bytes)
    assert points[0].estimate.value == pytest.approx(first)
    assert points[-1].estimate.value == pytest.approx(last)


def test_a_row_with_a_note_behind_it_is_read() -> None:
    curves, strange = curves_and_strange(fixture("7.3--note"))
    assert strange == []
    assert values(curves[0]) == {
        65536: pytest.approx(11950.10e6),
        1048576: pytest.approx(12280.40e6),
        4194304: pytest.approx(12301.15e6),
    }


@pytest.mark.parametrize("behind", ["  7.25", "  inf", " Fail", " Pass"])
def test_a_row_with_one_more_figure_or_word_of_the_suite_is_none(behind: str) -> None:
    text = fixture("7.3--note").replace(b"  <- peak", behind.encode())
    curves, strange = curves_and_strange(text)
    assert [line.line for line in strange] == [4]
    assert [*values(curves[0])] == [65536, 4194304]


PATTERNS = {
    "3.1.1--one-sided-put-bw": ("put_bandwidth", 1),
    "3.1.1--one-sided-put-bibw": (None, 2),
    "4.2--one-sided-put-passive-bw": ("put_bandwidth", 1),
    "4.2--one-sided-put-latency": ("put_latency", 1),
    "4.2--one-sided-get-latency": (None, 1),

    "5.8--put-bw-1gbe": ("put_bandwidth", 1), "7.4--latency-default": ("latency", 1),
    "7.4--bw-default": ("bandwidth", 1), "7.4--bibw-default": ("bidirectional_bandwidth", 2),
    "7.4--put-bibw": (None, 2), "7.4--get-latency-fence": (None, 1),
    "7.4--allreduce-full": (None, 1), "7.4--iallreduce": (None, 1),
    "7.4--mbw-mr-2pairs": ("bandwidth", 1), "7.4--bw-fan-in": (None, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_only_the_first_column_has_the_pattern_that_moves_bytes_likewise(name: str) -> None:
    curves = curves_of(name)
    assert (curves[0].pattern, curves[0].directions) == PATTERNS[name]
    assert {one.pattern for one in curves[1:] if one.quantity != "message_rate"} <= {None}


def test_a_stream_s_message_rate_is_that_stream_s() -> None:
    rate = next(one for one in curves_of("7.4--mbw-mr-2pairs") if one.quantity == "message_rate")
    assert rate.pattern == "bandwidth"


def test_a_table_that_reaches_the_suites_default_is_not_cut_off() -> None:
    assert curves_of("5.8--put-bw-1gbe")[0].cut_off == ""


@pytest.mark.parametrize("name", ["7.4--latency-cut-off", "7.4--latency-validate-types-cut-off"])
def test_a_cut_off_table_is_told_of_with_both_explanations(name: str) -> None:
    sign = curves_of(name)[0].cut_off
    assert "4194304" in sign
    assert "smaller maximum" in sign


def test_a_launchers_line_in_mid_table_ends_nothing_and_is_reported() -> None:
    curves, strange = curves_and_strange(fixture("7.4--latency-validate-types-cut-off"))
    assert list(values(curves[0])) == [1, 2]
    assert [(each.line, each.text) for each in strange] == [
        (6, "mpirun.openmpi: Forwarding signal 18 to job")
    ]


def test_the_facts_of_the_heading_stay_with_the_figure() -> None:
    curve = curves_of("7.4--put-bw-flush")[0]
    assert curve.settings == {
        "window creation": "MPI_Win_allocate", "synchronization": "MPI_Win_flush",
        "datatype": "MPI_CHAR",
    }  # fmt: skip
    pairs = curves_of("7.4--mbw-mr-2pairs")
    assert [(each.quantity, each.pairs, each.settings["window"]) for each in pairs] == [
        ("bandwidth", 2, "8"), ("message_rate", 2, "8"),
    ]  # fmt: skip


def test_a_window_matrix_is_a_curve_per_window_and_quantity() -> None:
    curves = curves_of("7.4--mbw-mr-window-matrix")
    windows = ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert [each.settings["window"] for each in curves] == windows * 2
    assert [each.quantity for each in curves] == ["bandwidth"] * 8 + ["message_rate"] * 8
    assert values(curves[7])[1024] == pytest.approx(5739.36e6)
    assert values(curves[15])[1024] == pytest.approx(5604846.09)
    assert {each.cut_off for each in curves} == {""}


def test_minimum_maximum_and_percentiles_stay_with_their_figure() -> None:
    full = curves_of("7.4--allreduce-full")[0].points[0]
    assert full.besides == {
        "minimum": pytest.approx(0.68e-6), "maximum": pytest.approx(0.76e-6),
    }  # fmt: skip
    assert full.estimate.samples == 200
    tail = curves_of("7.4--latency-percentiles")[0].points[-1].besides
    assert tail == {
        "p50": pytest.approx(4.15e-6), "p90": pytest.approx(4.79e-6), "p99": pytest.approx(47.73e-6)
    }  # fmt: skip


def test_overlap_is_a_share_and_the_parts_of_the_time_are_told_apart() -> None:
    overall, compute, pure, overlap = curves_of("7.4--iallreduce")
    assert values(overlap)[1] == pytest.approx(0.4917)
    assert values(overlap)[2] == 0
    assert values(compute)[1] == pytest.approx(3.05e-6)
    assert values(pure)[1] == pytest.approx(2.36e-6)
    assert len({each.what for each in (overall, compute, pure, overlap)}) == 4


def test_a_part_of_no_duration_is_no_failure() -> None:
    curves = curves_of("7.4--iallreduce-full-percentiles")
    assert not any("MPI_Test" in each.what or each.failures for each in curves)
    assert "p99" in curves[0].points[0].besides
    assert set(curves[-2].points[0].besides) == {"minimum", "maximum"}


def test_each_datatype_has_its_curve_and_only_the_last_can_be_cut_off() -> None:
    curves = curves_of("7.4--bw-types")
    assert [each.settings["datatype"] for each in curves] == ["MPI_CHAR", "MPI_INT", "MPI_FLOAT"]
    assert [each.first_line for each in curves] == [2, 7, 11]
    # Nor is the last: it reaches the size of those before it.
    assert [each.cut_off for each in curves] == ["", "", ""]
    shorter = fixture("7.4--bw-types").splitlines(keepends=True)[:-1]
    cut = curves_and_strange(b"".join(shorter))[0]
    assert cut[-1].cut_off == "ends at 4 bytes, where the table before it goes on to 8"


def test_wrong_data_is_a_failure_and_no_point() -> None:
    (curve,) = curves_of("7.4--allreduce-persistent-wrong-data")
    assert curve.points == ()
    assert [(each.message_bytes, each.trouble) for each in curve.failures] == [(4, "corrupt")]
    assert "wrong data" in curve.cut_off


def test_wrong_data_without_a_column_for_it_is_a_failure_too() -> None:
    text = (
        fixture("7.4--latency-default")[:150] + b"\nDATA VALIDATION ERROR: a on message size 8.\n"
    )
    (curve,), _ = curves_and_strange(text)
    assert [(each.message_bytes, each.trouble) for each in curve.failures][-1] == (8, "corrupt")


def test_fan_in_is_told_from_bw_by_its_heading_and_read_as_bandwidth() -> None:
    (curve,) = curves_of("7.4--bw-fan-in")
    assert curve.benchmark == "osu_bw_fan_in or osu_bw_fan_out"
    assert curve.quantity == "bandwidth"
    assert values(curve)[1024] == pytest.approx(8.24e6)


def test_the_topology_tells_a_neighbourhood_collective_from_its_namesake() -> None:
    (curve,) = curves_of("7.4--neighbor-alltoallw")
    assert curve.benchmark == "osu_neighbor_alltoallw"
    assert curve.settings["dimensions"] == "3"


def test_what_stands_above_a_title_belongs_to_it() -> None:
    (curve,) = curves_of("7.4--latency-mt")
    assert (curve.settings["sender threads"], curve.settings["receiver threads"]) == ("2", "2")
    (forked,) = curves_of("7.4--latency-mp")
    assert forked.settings["receiver processes"] == "2"


def test_a_program_that_gave_up_is_told_of() -> None:
    curves, strange = curves_and_strange(fixture("7.4--neighbor-allgather"))
    assert curves == []
    assert strange[0].text.startswith("ERROR: the given neighborhood radius")


def test_a_title_alone_is_told_of() -> None:
    (curve,) = curves_of("7.4--latency-version")
    assert (curve.points, curve.cut_off) == ((), "no result follows the title")


def test_a_derived_datatype_counts_what_was_transmitted() -> None:
    (curve,) = curves_of("7.4--latency-derived-type")
    assert curve.points[-1].message_bytes == 32


def test_devices_and_their_buffers_are_settings() -> None:
    (curve,) = curves_of("5.7--mpi-cuda-latency-written")
    assert curve.settings == {
        "device": "CUDA", "send buffer": "DEVICE (D)", "receive buffer": "HOST (H)",
    }  # fmt: skip
    assert (curve.benchmark, curve.pattern) == ("osu_latency", "latency")


def test_atomics_are_a_curve_per_operation_and_inf_is_none() -> None:
    curves = curves_of("7.4--oshm-atomics-written")
    assert [each.settings["operation"] for each in curves] == [
        "shmem_int_fadd", "shmem_int_fadd", "shmem_int_finc", "shmem_int_finc",
        "shmem_longlong_swap",
    ]  # fmt: skip
    assert values(curves[0])[None] == pytest.approx(1.25e6)
    assert curves[-1].points == ()
    assert curves[-1].failures[0].trouble == "not a number"


def test_processes_below_the_title_belong_to_the_table() -> None:
    (curve,) = curves_of("5.6.3--latency-mp-written")
    assert curve.settings["sender processes"] == "2"
    assert curve.cut_off == ""


def test_a_heading_without_its_sign_has_all_its_columns() -> None:
    curves = curves_of("5.6.3--ibarrier-written")
    assert [curve.quantity for curve in curves] == ["time", "time", "time", "overlap"]
    assert values(curves[-1]) == {None: pytest.approx(0.0929)}


def test_a_validation_column_is_evidence_of_checked_data() -> None:
    checked = {n: curves_of(n)[0].evidence.data_checked for n in ("7.4--latency-default",
               "7.4--latency-validate-types")}  # fmt: skip
    assert list(checked.values()) == [False, True]
