import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import FIXTURES, curves_of, found, raw, values

from fabricgauge.logs.readers.netpipe import console_row, rule_of
from fabricgauge.logs.readers.table import MOST_ROWS

FILES = sorted(path.stem for path in (FIXTURES / "netpipe").glob("*.out"))


@pytest.mark.parametrize("name", [one for one in FILES if "integrity" not in one])
def test_every_line_is_understood(name: str) -> None:
    assert curves_of("netpipe", name)


def test_time_is_half_a_round_trip_and_mbps_are_binary_in_version_3() -> None:
    time, bandwidth = curves_of("netpipe", "3.7.2--mpich-quick")
    assert (time.what, time.pattern, time.statistic) == ("half round trip", "latency", "minimum")
    assert values(time)[0] == (1, pytest.approx(0.23e-6))
    assert values(bandwidth)[-1] == (4096, pytest.approx(10482.03 * 2**20 / 8))
    assert bandwidth.pattern is None
    assert bandwidth.unit_rule.startswith("Mbps = 2^20 bit/s (NetPIPE 3; size / time agrees in 24")
    assert time.points[0].estimate.samples == 107
    assert time.hosts == ("c1", "c1")


def test_bandwidth_agrees_with_size_over_time() -> None:
    time, bandwidth = curves_of("netpipe", "3.7.2--mpich-quick-file")
    for (size, seconds), (_, rate) in zip(values(time), values(bandwidth), strict=True):
        assert size is not None
        assert rate == pytest.approx(size / seconds, rel=0.025)


def test_mbps_are_decimal_in_version_5() -> None:
    time, bandwidth = curves_of("netpipe", "5.x--mpich-quick")
    assert values(bandwidth)[-1] == (4096, pytest.approx(3.399e9 / 8))
    assert bandwidth.unit_rule.startswith("Mbps = 10^6 bit/s (NetPIPE 5; size / time agrees in 24")
    assert values(time)[19] == (1024, pytest.approx(21.647e-6))
    assert (time.statistic, time.cut_off) == ("mean", "")


def test_version_5_without_its_last_line_is_cut_off() -> None:
    text = raw("netpipe", "5.x--mpich-quick").partition(b"Completed")[0]
    assert "without the line 'Completed with'" in found(text)[0][0].cut_off


def test_the_console_and_the_file_of_a_run_agree() -> None:
    console, file = (curves_of("netpipe", f"3.7.2--mpich-quick{one}")[0] for one in ("", "-file"))
    assert values(console) == [(size, pytest.approx(value)) for size, value in values(file)]


def test_tcp_is_known_by_its_socket_buffers() -> None:
    time, _ = curves_of("netpipe", "3.7.2--tcp-quick")
    assert (time.benchmark, time.transport) == ("NPtcp", "tcp")
    assert time.settings["socket buffers"] == "16384 and 131072 bytes"


@pytest.mark.parametrize("name", ["mpich-both-ways", "mpich-both-ways-file"])
def test_both_directions_at_once_are_no_latency_of_ours(name: str) -> None:
    time, bandwidth = curves_of("netpipe", f"3.7.2--{name}")
    assert (time.pattern, bandwidth.pattern) == (None, None)
    assert bandwidth.directions == 2
    assert values(time)[-1] == (1024, pytest.approx(1.46e-6))
    assert values(bandwidth)[-1][1] == pytest.approx(2 * 1024 / 1.46e-6, rel=0.01)


def test_a_bandwidth_rounded_to_zero_leaves_the_time() -> None:
    time, bandwidth = curves_of("netpipe", "3.7.2--mpich-both-ways")
    assert values(time)[0] == (1, pytest.approx(4691.99e-6))
    assert values(bandwidth)[0][0] == 2
    assert time.failures == ()


def test_a_stream_is_no_ping_pong() -> None:
    time, bandwidth = curves_of("netpipe", "3.7.2--mpich-stream")
    assert (time.pattern, bandwidth.pattern) == (None, None)
    assert "one-way stream" in bandwidth.what


def test_settings_of_the_heading_stay_with_the_figures() -> None:
    time, _ = curves_of("netpipe", "3.7.2--mpich-options")
    assert time.settings["send offset"] == "1"
    assert time.settings["sends"] == "synchronous sends"


def test_a_row_that_stops_in_the_middle_is_told_of() -> None:
    time, _ = curves_of("netpipe", "3.7.2--openmpi-cut-off")
    assert time.cut_off == "the row of 1539 bytes stops in the middle"
    assert [(one.message_bytes, one.trouble) for one in time.failures] == [(1539, "cut off")]


def test_an_end_that_may_be_a_cut_is_told_as_uncertain() -> None:
    time, _ = curves_of("netpipe", "3.7.2--mpich-shared-memory")
    assert time.cut_off.startswith("ends at 4194304 bytes")
    assert "or run with a smaller maximum" in time.cut_off


def test_a_run_that_went_on_to_a_second_is_complete() -> None:
    row = b"  0: 1048576 bytes      3 times -->      8.00 Mbps in 1000000.00 usec\n"
    assert [one.cut_off for one in found(row)[0]] == ["", ""]


def test_an_integrity_check_has_no_figures_and_says_so() -> None:
    curves, strange = found(raw("netpipe", "3.7.2--mpich-integrity"))
    assert curves == []
    assert "integrity check" in strange[0].reason


def test_a_heading_alone_is_told_of_and_one_behind_the_rows_is_not() -> None:
    heading = b"Sending output to np.out\n"
    (alone,) = found(heading)[0]
    assert alone.cut_off == "no row: the output ends before the first one"
    assert len(found(raw("netpipe", "3.7.2--mpich-quick") + heading)[0]) == 2


def test_rows_beyond_the_limit_make_the_table_incomplete() -> None:
    rows = "".join(
        f"{number:3}: {8 * number + 8:7} bytes  3 times -->  8.00 Mbps in {1 + number} usec\n"
        for number in range(MOST_ROWS + 7)
    )
    time, _ = found(rows.encode())[0]
    assert time.cut_off == "7 rows beyond the first 10,000 are left out"
    assert len(time.points) == MOST_ROWS


def test_two_runs_in_a_row_are_two_tables() -> None:
    curves, _ = found(raw("netpipe", "3.7.2--tcp-quick") * 2)
    assert len(curves) == 4


@pytest.mark.parametrize("bad", ["inf", "-nan", "0.00"])
def test_times_that_are_none_become_failures(bad: str) -> None:
    row = f"  0:       8 bytes      3 times -->      8.00 Mbps in {bad} usec\n"
    time = found(row.encode())[0][0]
    assert [one.trouble for one in time.failures] == ["not a number"]


@pytest.mark.parametrize(("printed", "meant"), [("1.049 MB", 2**20), ("1.573 MB", 3 << 19)])
def test_rounded_sizes_mean_the_power_of_two(printed: str, meant: int) -> None:
    row = console_row(f" 40: {printed}       12 times -->    3.399 Gbps  in    2.468 msecs")
    assert row is not None
    assert row.message_bytes == meant


def test_rows_of_other_suites_are_not_taken_for_files_of_netpipe() -> None:
    for line in (b"1 0.20\n", b"1 1000 0.44 4.80\n", b"8 1.00 2.00 3.00\n", b"0.1 0.2 0.3\n"):
        assert found(line)[0] == []


@given(st.integers(1, 1 << 24), st.floats(5e-6, 1.0), st.sampled_from([10**6, 2**20]))
def test_the_rule_is_found_from_one_exact_row(size: int, seconds: float, bits: int) -> None:
    usec = round(seconds * 1e6, 2)
    rate = size * 8 / (usec * 1e-6) / bits
    row = console_row(f"  0: {size} bytes 5 times --> {rate:.2f} Mbps in {usec:.2f} usec")
    assert row is not None
    found_bits, told = rule_of([row], 1, "3")
    assert found_bits == bits or rate < 1 or "no row" in told


@given(st.lists(st.sampled_from(raw("netpipe", "3.7.2--mpich-quick").splitlines(True))))
def test_lines_in_any_order_never_raise(lines: list[bytes]) -> None:
    for curve in found(b"".join(lines))[0]:
        assert all(point.estimate.value > 0 for point in curve.points)


def test_hosts_of_both_ranks_are_evidence() -> None:
    evidence = {one.evidence for one in curves_of("netpipe", "3.7.2--mpich-quick")}
    assert [one.rank_hosts for one in evidence] == [("c1", "c1")]


def test_under_labels_the_other_rank_s_host_is_no_table() -> None:
    head = "Sending output to np.out\n0: c1\n", "Sending output to np.out\n1: c2\n"
    row = "Now starting the main loop\n  0: 1 bytes 20000 times --> 4.10 Mbps in 1.86 usec\n"
    each = zip((*head, row), (0, 1, 0), strict=True)
    log = "".join(f"{rank}: {line}\n" for text, rank in each for line in text.splitlines())
    curves, _ = found(log.encode())
    assert {(one.first_line, one.ranks) for one in curves} == {(1, None)}


def test_a_file_whose_beginning_lacks_does_not_say_whether_its_sizes_are_doubled() -> None:
    text = raw("netpipe", "3.7.2--mpich-both-ways-file")
    (whole, _), (excerpt, _) = found(text)[0], found(text.partition(b"\n")[2])[0]
    assert (whole.what, whole.pattern) == ("message each way at once", None)
    assert excerpt.pattern is None
    assert excerpt.what.startswith("half round trip, or half of the size each way")
