from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.perftest import DIALECT
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "perftest"
MIB = 2**20


def raw(name: str) -> str:
    return (FIXTURES / f"{name}.out").read_text()


def found(text: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.encode().splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def curve(name: str, quantity: str = "time") -> SuiteCurve:
    return next(one for one in found(raw(name))[0] if one.quantity == quantity)


def at(one: SuiteCurve, message_bytes: int) -> float:
    return next(p.estimate.value for p in one.points if p.message_bytes == message_bytes)


#: Fixture, benchmark, quantity, size, figure, pattern, directions, failures.
FIGURES = [
    ("4.5--send-lat-client", "ib_send_lat", "time", 8, 565.38e-6, "latency", 1, 0),
    ("4.5--send-lat-server", "ib_send_lat", "time", 8, 577.16e-6, "latency", 1, 0),
    ("4.5--send-lat-unsorted", "ib_send_lat", "time", 8, 3988.51e-6, "latency", 1, 0),
    ("4.5--send-lat-inf-rows", "ib_send_lat", "time", 8388608, 399004.58e-6, "latency", 1, 2),
    ("4.5--write-lat-all-sizes", "ib_write_lat", "time", 8388608, 183997.74e-6, "latency", 1, 1),
    ("4.5--write-lat-no-deviation", "ib_write_lat", "time", 8, 1675.83e-6, "latency", 1, 0),
    ("4.5--read-lat-client", "ib_read_lat", "time", 8, 409.10e-6, None, 1, 0),
    ("4.5--atomic-lat-client", "ib_atomic_lat", "time", 8, 7947.88e-6, None, 1, 0),
    ("4.5--write-bw-all-sizes", "ib_write_bw", "bandwidth", 1048576, 15.03 * MIB,
     "put_bandwidth", 1, 0),
    ("4.5--write-bw-gbits", "ib_write_bw", "bandwidth", 65536, 0.21e9 / 8, "put_bandwidth", 1, 0),
    ("4.5--write-bw-bidirectional", "ib_write_bw", "bandwidth", 65536, 11.85 * MIB,
     "bidirectional_bandwidth", 2, 0),
    ("4.5--write-bw-duration", "ib_write_bw", "bandwidth", 4096, 13.47 * MIB,
     "put_bandwidth", 1, 0),
    ("4.5--send-bw-client", "ib_send_bw", "bandwidth", 4096, 1.66 * MIB, "bandwidth", 1, 0),
    ("4.5--read-bw-all-sizes", "ib_read_bw", "bandwidth", 8388608, 27.94 * MIB, None, 1, 1),
    ("26.04--mebibytes-cpu-util", "ib_write_bw", "bandwidth", 65536, 11727.95 * MIB,
     "put_bandwidth", 1, 0),
    ("26.04--lat-duration", "ib_send_lat", "time", 2, 0.96e-6, "latency", 1, 0),
    ("26.04--raw-ethernet-bw", "raw_ethernet_bw", "bandwidth", 1024, 10990 * MIB,
     "bandwidth", 1, 0),
    ("2.0--lat-three-columns", "ib_write_lat", "time", 2, 0.98e-6, "latency", 1, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "benchmark", "quantity", "size", "figure", "pattern", "directions", "failures"),
    FIGURES,
)
def test_a_table_gives_its_figures_in_si_units(
    name: str, benchmark: str, quantity: str, size: int, figure: float,
    pattern: str | None, directions: int, failures: int,
) -> None:  # fmt: skip
    one = curve(name, quantity)
    assert (one.suite, one.benchmark) == ("perftest", benchmark)
    assert at(one, size) == pytest.approx(figure)
    assert (one.pattern, one.directions, len(one.failures)) == (pattern, directions, failures)
    assert one.cut_off == ""


@pytest.mark.parametrize("name", sorted({row[0] for row in FIGURES}))
def test_every_line_of_a_sound_output_is_understood(name: str) -> None:
    assert found(raw(name))[1] == []


def test_a_latency_row_says_more_than_its_median() -> None:
    point = curve("4.5--send-lat-client").points[0]
    assert point.estimate.samples == 100
    assert point.besides == pytest.approx(
        {
            "minimum": 184.61e-6, "maximum": 8236.18e-6, "mean": 960.50e-6,
            "deviation": 1105.38e-6, "p99": 8236.18e-6, "p99.9": 8236.18e-6,
        }
    )  # fmt: skip


def test_a_deviation_of_nan_spoils_nothing_else() -> None:
    besides = curve("4.5--write-lat-no-deviation").points[0].besides
    assert "deviation" not in besides
    assert besides["p99"] == pytest.approx(0.62258317)


def test_rows_of_inf_are_failures_at_their_sizes() -> None:
    one = curve("4.5--send-lat-inf-rows")
    assert [failure.message_bytes for failure in one.failures] == [128, 65536]
    assert {failure.trouble for failure in one.failures} == {"not a number"}
    assert len(one.points) == 21


@pytest.mark.parametrize(
    "name",
    ["4.5--write-bw-four-qps-zero", "4.5--write-bw-rdma-cm-server-zero", "4.5--atomic-bw-zero"],
)
def test_a_table_of_zeros_gives_a_curve_without_points(name: str) -> None:
    curves, strange = found(raw(name))
    assert [(len(one.points), len(one.failures)) for one in curves] == [(0, 1)]
    assert strange == []


def test_a_peak_that_was_not_looked_for_is_no_figure() -> None:
    assert "peak" not in curve("4.5--write-bw-duration", "bandwidth").points[0].besides
    peak = curve("4.5--write-bw-bidirectional", "bandwidth").points[0].besides["peak"]
    assert peak == pytest.approx(12.33 * MIB)


def test_a_bandwidth_rounded_to_zero_is_told_by_its_message_rate_only() -> None:
    bandwidth = curve("4.5--write-bw-all-sizes", "bandwidth")
    rate = curve("4.5--write-bw-all-sizes", "message_rate")
    assert [point.message_bytes for point in bandwidth.points][:2] == [16, 32]
    assert at(rate, 2) == pytest.approx(623)
    assert bandwidth.failures == ()


def test_the_settings_of_the_heading_stay_with_the_curve() -> None:
    one = curve("4.5--write-bw-duration", "bandwidth")
    assert one.title == "RDMA_Write BW Test"
    assert one.settings.items() >= {
        ("device", "rxea"), ("mtu", "4096"), ("link type", "Ethernet"), ("number of qps", "1"),
        ("transport type", "IB"), ("connection type", "RC"), ("max inline data", "0"),
        ("gid index", "1"), ("rdma cm qps", "OFF"), ("tx depth", "128"),
    }  # fmt: skip
    assert (one.transport, one.settings.get("side")) == ("rdma", None)
    assert curve("4.5--send-lat-server").settings["side"] == "server"
    assert curve("4.5--send-lat-iwarp").settings["transport type"] == "IW"


def test_raw_ethernet_is_no_rdma() -> None:
    assert curve("26.04--raw-ethernet-bw", "bandwidth").transport == ""


def test_a_receivers_own_timing_is_not_taken_for_the_streams() -> None:
    one = curve("4.5--send-bw-events-server", "bandwidth")
    assert one.points[0].estimate.value == pytest.approx(357.47 * MIB)
    assert one.pattern is None
    assert "timed by the receiver" in one.what


def test_a_reads_bytes_come_from_the_server() -> None:
    one = curve("4.5--read-bw-all-sizes", "bandwidth")
    assert (one.origin, one.target) == (1, 0)
    assert "whole round trip" in curve("4.5--read-lat-client").what


def test_the_shares_of_both_directions_are_one_way_each() -> None:
    curves = [one for one in found(raw("26.04--both-directions"))[0] if one.quantity != "time"]
    both, local, remote = (one for one in curves if one.quantity == "bandwidth")
    assert (both.directions, both.pattern) == (2, "bidirectional_bandwidth")
    assert both.points[0].estimate.value == pytest.approx(23380 * MIB)
    assert [(one.directions, one.pattern) for one in (local, remote)] == [(1, None)] * 2
    assert [(one.origin, one.target) for one in (local, remote)] == [(0, 1), (1, 0)]


def test_each_port_has_its_share() -> None:
    curves, strange = found(raw("26.04--per-port"))
    figures = [one.points[0].estimate.value / MIB for one in curves if one.quantity == "bandwidth"]
    assert figures == pytest.approx([23380, 11700, 11680])
    assert strange == []


def test_cycles_are_no_microseconds_when_the_listing_says_so() -> None:
    text = raw("4.5--send-lat-unsorted").replace("#, usec", "#, cycles")
    curves, strange = found(text)
    assert [(len(one.points), one.failures[0].trouble) for one in curves] == [(0, "other")]
    assert "CPU cycles" in strange[0].reason


def test_cycles_are_no_microseconds_when_the_command_says_so() -> None:
    text = "$ ib_send_lat -C -d rxea node2\n" + raw("4.5--send-lat-cycles-unsaid")
    curves, strange = found(text)
    assert [len(one.points) for one in curves] == [0]
    assert "CPU cycles" in strange[0].reason


def test_a_title_without_a_table_is_told_of() -> None:
    curves, strange = found(raw("4.5--read-lat-server"))
    assert curves == []
    assert [(one.line, one.text) for one in strange] == [(7, "RDMA_Read Latency Test")]


def test_a_server_that_no_client_reached_is_told_of() -> None:
    waiting = "".join(raw("4.5--send-lat-server").splitlines(keepends=True)[:4])
    curves, strange = found(waiting)
    assert curves == []
    assert [(one.line, "no client" in one.reason) for one in strange] == [(3, True)]


def test_a_table_cut_off_before_its_ruler_says_so() -> None:
    lines = raw("4.5--write-bw-all-sizes").splitlines()
    one = next(iter(found("\n".join(lines[:-3]))[0]))
    assert "no ruler after the last row (2097152 bytes)" in one.cut_off


def test_a_row_cut_in_its_midst_is_a_failure() -> None:
    text = raw("4.5--write-bw-all-sizes")
    text = text[: text.index("6.80   ")]
    one = found(text)[0][0]
    assert [(f.message_bytes, f.trouble) for f in one.failures] == [(16384, "cut off")]


def test_a_table_cut_off_before_its_first_row_is_told_of() -> None:
    lines = raw("4.5--send-lat-client").splitlines()
    one = found("\n".join(lines[:-2]))[0][0]
    assert (one.points, one.benchmark) == ((), "ib_send_lat")
    assert "before its first row" in one.cut_off


def test_warnings_in_mid_table_do_not_end_it() -> None:
    lines = raw("4.5--write-bw-all-sizes").splitlines(keepends=True)
    lines.insert(
        -4, "Conflicting CPU frequency values detected: 1 != 2. CPU Frequency is not max.\n"
    )
    lines.insert(-9, "WARNING: there is something that the launcher did not like\n")
    curves, strange = found("".join(lines))
    assert [len(one.points) for one in curves] == [20, 23]
    assert {one.cut_off for one in curves} == {""}
    assert "a row of 5 columns" in strange[0].reason
    assert "clock" in strange[1].reason


def test_errors_alone_are_strange_lines_with_their_meaning() -> None:
    assert "clock" in found(raw("4.5--errors-clock"))[1][0].reason
    curves, strange = found(raw("4.5--errors-no-connection"))
    assert curves == []
    assert strange[0].text == "Unable to set up my IB connection parameters"
    assert "failure" in strange[0].reason


def test_a_bare_figure_is_not_guessed_at() -> None:
    curves, strange = found(raw("4.5--write-bw-one-figure"))
    assert (curves, [one.text for one in strange]) == ([], ["21.878099"])


def test_outputs_after_each_other_keep_their_own_settings() -> None:
    text = raw("4.5--send-lat-server") + raw("4.5--write-bw-duration")
    curves, strange = found(text)
    assert [one.benchmark for one in curves] == ["ib_send_lat", "ib_write_bw", "ib_write_bw"]
    assert "side" not in curves[1].settings
    assert strange == []


def test_labels_and_carriage_returns_change_nothing() -> None:
    text = raw("4.5--send-bw-client")
    labelled = "".join(f"0: {line}\r\n" for line in text.splitlines())
    assert [one.points for one in found(labelled)[0]] == [one.points for one in found(text)[0]]
    assert found(labelled)[1] == []


def test_a_bare_table_is_read_but_not_named() -> None:
    lines = raw("4.5--send-lat-client").splitlines(keepends=True)
    one = found("".join(lines[-3:]))[0][0]
    assert (one.benchmark, one.pattern) == ("perftest (lat)", None)
    assert at(one, 8) == pytest.approx(565.38e-6)


def test_unknown_columns_are_told_of() -> None:
    text = raw("4.5--send-bw-client").replace("MsgRate[Mpps]", "MsgRate[Mpps]   Mood[%]")
    strange = found(text)[1]
    assert "Mood[%]" in strange[0].reason


EVERY_LINE = sorted(
    {line for path in FIXTURES.glob("*.out") for line in path.read_text().splitlines()}
)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(EVERY_LINE),
            st.text(alphabet="0123456789.-+|#:[]{}, infa\tMB/sec", max_size=80),
            st.builds(lambda line, n: line[:n], st.sampled_from(EVERY_LINE), st.integers(0, 90)),
        ),
        max_size=30,
    )
)
def test_the_reader_survives_any_lines(lines: list[str]) -> None:
    told: list[int] = []
    reader = DIALECT.reader(lambda line, _: told.append(line.number))
    curves = [one for n, text in enumerate(lines, 1) for one in reader.line(LogLine(n, text))]
    curves += reader.end()
    for one in curves:
        assert 1 <= one.first_line <= one.last_line <= len(lines)
        assert all(point.estimate.value > 0 for point in one.points)
    assert all(1 <= number <= len(lines) for number in told)


def test_figures_that_run_into_each_other_are_told_apart_by_their_digits() -> None:
    glued, strange = found(raw("4.5--write-bw-glued"))
    assert strange == []
    plain = found(raw("4.5--write-bw-all-sizes"))[0]
    assert [one.points for one in glued] == [one.points for one in plain]
    assert [one.failures for one in glued] == [one.failures for one in plain]


@pytest.mark.parametrize("row", [
    " 65536 100011744.8811743.610.187898", " 2 1000 1.2345671.2345670.123456",
])  # fmt: skip
def test_figures_that_cannot_be_told_apart_are_a_failure(row: str) -> None:
    lines = raw("4.5--write-bw-glued").splitlines()
    heading = next(i for i, line in enumerate(lines) if "#bytes" in line)
    curves, _ = found("\n".join([*lines[: heading + 1], row, "-" * 87]))
    assert curves[0].points == ()
    assert "run into each other" in curves[0].failures[0].text


def test_ends_link_and_mtu_are_evidence() -> None:
    evidence = curve("4.5--send-bw-client", "bandwidth").evidence
    local, remote = evidence.verbs_ends
    assert (local.lid, remote.lid) == (0, 0)
    assert local.gid.endswith(":255:255:10:08:00:01")
    assert remote.gid.endswith(":255:255:10:08:00:02")
    assert (evidence.link_type, evidence.mtu_bytes, evidence.devices) == (
        "Ethernet",
        256,
        ("rxea",),
    )


def test_lids_are_hexadecimal() -> None:
    text = raw("4.5--send-bw-client").replace("LID 0000", "LID 0x1a")
    assert [end.lid for end in found(text)[0][0].evidence.verbs_ends] == [26, 26]


def test_json_says_link_and_mtu_alike() -> None:
    evidence = curve("24.01--json-write-bw", "bandwidth").evidence
    assert (evidence.link_type, evidence.mtu_bytes, evidence.verbs_ends) == ("IB", 4096, ())
