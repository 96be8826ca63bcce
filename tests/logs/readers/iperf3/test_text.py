import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import FIXTURES, curves_of, found, raw

RECORDED = sorted(path.stem for path in (FIXTURES / "iperf3").glob("*.out"))


@pytest.mark.parametrize("name", RECORDED)
def test_every_line_is_understood(name: str) -> None:
    assert curves_of("iperf3", name)


def test_the_receivers_row_counts() -> None:
    (curve,) = curves_of("iperf3", "3.12--text-megabytes")
    assert curve.points[0].estimate.value == 3358 * 2**20
    assert curve.points[0].besides["maximum"] == 3808 * 2**20
    assert "2^20" in curve.unit_rule
    assert curve.settings["retransmits"] == "5"
    assert curve.points[0].message_bytes is None


def test_bits_are_counted_in_powers_of_ten() -> None:
    (curve,) = curves_of("iperf3", "3.12--text-reverse")
    assert curve.points[0].estimate.value == pytest.approx(29.5e9 / 8)
    assert curve.settings["direction"] == "server to client"
    assert (curve.pattern, curve.transport) == ("bandwidth", "tcp")


def test_the_row_of_all_streams_is_the_aggregate() -> None:
    together, one = curves_of("iperf3", "3.12--text-four-streams")
    assert together.points[0].estimate.value == pytest.approx(25.4e9 / 8)
    assert one.points[0].estimate.value == pytest.approx(25.4e9 / 8 / 4)
    assert one.points[0].besides["minimum"] == pytest.approx(6.34e9 / 8)
    assert together.points[0].besides["minimum"] == pytest.approx(25.2e9 / 8)


def test_two_directions_are_kept_apart() -> None:
    curves = curves_of("iperf3", "3.12--text-bidir-two-streams")
    there, _, back, _ = curves
    assert there.points[0].estimate.value == pytest.approx(1.72e9 / 8)
    assert back.points[0].estimate.value == pytest.approx(2.20e9 / 8)
    assert there.settings["retransmits"] == "11"
    assert back.settings["retransmits"] == "9"


def test_omitted_intervals_do_not_count() -> None:
    (curve,) = curves_of("iperf3", "3.12--text-omit")
    assert curve.points[0].besides["maximum"] == pytest.approx(6.42e9 / 8)
    assert curve.points[0].estimate.samples == 2


def test_udp_losses_are_told() -> None:
    (curve,) = curves_of("iperf3", "3.12--text-udp")
    assert curve.points[0].estimate.value == pytest.approx(176e6 / 8)
    assert curve.settings["lost"] == "82 % (6282 of 7627 datagrams)"
    assert (curve.pattern, curve.transport) == (None, "")


def test_a_title_in_front_of_each_line_changes_nothing() -> None:
    (curve,) = curves_of("iperf3", "3.x--title")
    assert curve.points[0].estimate.value == pytest.approx(9.38e9 / 8)
    assert (curve.hosts, curve.pattern) == (("10.9.0.1", "10.9.0.2"), "bandwidth")


def test_time_stamps_and_words_of_verbose_runs_do_not_matter() -> None:
    (stamped,) = curves_of("iperf3", "3.12--text-timestamps")
    (verbose,) = curves_of("iperf3", "3.12--text-verbose")
    assert stamped.points[0].estimate.value == pytest.approx(14.5e9 / 8)
    assert (verbose.version, verbose.settings["congestion control"]) == ("3.12", "bbr")


def test_the_servers_view_of_the_same_test_is_no_second_test() -> None:
    assert len(curves_of("iperf3", "3.12--text-get-server-output")) == 1


def test_an_error_before_the_test_that_it_ended_belongs_to_that_test() -> None:
    (curve,) = curves_of("iperf3", "3.12--text-interrupted")
    assert curve.cut_off == "iperf3 stopped: interrupt - the client has terminated"
    assert curve.settings["counted by"] == "sender"
    assert curve.points[0].estimate.value == pytest.approx(15.5e9 / 8)


def test_a_refused_connection_before_a_good_test_is_told_by_itself() -> None:
    text = raw("iperf3", "3.12--text-refused") + raw("iperf3", "3.12--text")
    (refused, good), strange = found(text)
    assert refused.failures[0].text == "unable to connect to server: Connection refused"
    assert (good.cut_off, good.failures, strange) == ("", (), [])


def test_a_server_tells_of_one_test_after_the_other() -> None:
    curves = curves_of("iperf3", "3.12--text-server")
    assert [bool(one.points) for one in curves] == [False, True, True]
    assert {one.settings.get("log of") for one in curves[1:]} == {"server"}


def test_a_test_without_its_summary_is_cut_off() -> None:
    text = b"".join(raw("iperf3", "3.12--text-four-streams").splitlines(keepends=True)[:12])
    together, one = found(text)[0]
    assert "no summary" in together.cut_off
    assert together.points[0].estimate.value == pytest.approx(25.6e9 / 8)
    assert one.settings["streams"] == "4"


@pytest.mark.parametrize("rate", ["-nan", "inf", "0.00"])
def test_rates_that_are_none_become_failures(rate: str) -> None:
    head = "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate\n"
    row = f"[  5]   0.00-2.00   sec  0.00 Bytes  {rate} bits/sec                  receiver\n"
    curves, _ = found((head + row).encode())
    assert [one.points for one in curves] == [()]
    assert curves[0].failures or curves[0].cut_off


def test_an_output_without_any_test_is_told_of() -> None:
    curves, strange = found(b"Server listening on 5201\n")
    assert curves == []
    assert [one.reason for one in strange] == ["a test; this output of iperf3 has none"]


@given(st.lists(st.sampled_from(raw("iperf3", "3.12--text-bidir-two-streams").splitlines(True))))
def test_rows_in_any_order_never_raise(lines: list[bytes]) -> None:
    for curve in found(b"".join(lines))[0]:
        assert all(point.estimate.value > 0 for point in curve.points)


SUMMARY = raw("iperf3", "3.12--text-summary-alone").decode()


def test_the_summary_alone_is_read_without_its_ends() -> None:
    (curve,) = curves_of("iperf3", "3.12--text-summary-alone")
    assert curve.points[0].estimate.value == pytest.approx(17.1e9 / 8)
    assert (curve.pattern, curve.transport, curve.cut_off) == ("bandwidth", "tcp", "")
    assert (curve.settings["direction"], curve.hosts) == ("sender to receiver", ())


@pytest.mark.parametrize("log", [
    SUMMARY * 2, SUMMARY.partition("iperf Done")[0] * 2,
    "".join(SUMMARY.splitlines(keepends=True)[1:3]) * 2,
])  # fmt: skip
def test_summaries_in_a_row_are_tests_of_their_own(log: str) -> None:
    curves, _ = found(log.encode())
    assert [len(one.points) for one in curves] == [1, 1]


def test_two_clients_that_number_their_connections_alike_get_no_figure() -> None:
    begun = "".join(
        f"Connecting to host 10.0.0.{i}, port 5201\n"
        f"[  5] local 10.0.0.1 port 400{i} connected to 10.0.0.{i} port 5201\n"
        for i in (2, 3)
    )
    curves, _ = found((begun + SUMMARY.partition("iperf Done")[0] * 2).encode())
    assert [one.points for one in curves] == [(), ()]
    assert "both numbered [5]" in curves[1].failures[0].text
