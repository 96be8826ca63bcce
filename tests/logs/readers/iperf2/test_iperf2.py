import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import FIXTURES, curves_of, found, raw

FILES = sorted(path.stem for path in (FIXTURES / "iperf2").glob("*.out"))


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_understood(name: str) -> None:
    assert curves_of("iperf2", name)


def test_the_row_of_the_whole_counts_and_not_the_intervals() -> None:
    (curve,) = curves_of("iperf2", "2.1.8--text-intervals")
    assert curve.points[0].estimate.value == pytest.approx(3.69e9 / 8)
    assert curve.points[0].besides["minimum"] == pytest.approx(300e6 / 8)
    assert curve.points[0].besides["maximum"] == pytest.approx(7.19e9 / 8)
    assert (curve.suite, curve.benchmark, curve.pattern) == ("iperf2", "iperf", "bandwidth")
    assert (curve.transport, curve.settings["counted by"]) == ("tcp", "sender")
    assert curve.points[0].message_bytes is None


def test_the_row_of_all_connections_is_the_aggregate() -> None:
    together, one = curves_of("iperf2", "2.1.8--text-four-streams")
    assert together.points[0].estimate.value == pytest.approx(3.03e9 / 8)
    assert together.settings["streams"] == "4"
    assert one.points[0].besides["maximum"] == pytest.approx(921e6 / 8)
    assert one.pattern is None


def test_a_row_may_tell_by_itself_of_how_many_connections_it_is() -> None:
    together, one = curves_of("iperf2", "2.1.8--text-sum-only")
    assert together.points[0].estimate.value == pytest.approx(491e6 / 8)
    assert one.points[0].estimate.value == pytest.approx(491e6 / 16)


def test_megabytes_are_binary() -> None:
    together, _ = curves_of("iperf2", "2.1.8--text-megabytes")
    assert together.points[0].estimate.value == 166 * 2**20
    assert "2^20" in together.unit_rule
    assert together.settings["log of"] == "client"


@pytest.mark.parametrize(
    ("name", "there", "back"),
    [("2.1.8--text-full-duplex", 4.23e9, 5.42e9), ("2.0.13--text-both-ways", 942e6, 936e6)],
)
def test_two_directions_give_a_curve_each(name: str, there: float, back: float) -> None:
    out, home = curves_of("iperf2", name)
    assert out.settings["direction"] == "client to server"
    assert out.points[0].estimate.value == pytest.approx(there / 8)
    assert home.settings["direction"] == "server to client"
    assert home.points[0].estimate.value == pytest.approx(back / 8)
    assert (out.settings["counted by"], home.settings["counted by"]) == ("sender", "receiver")
    assert {out.pattern, home.pattern} == {"bidirectional_bandwidth"}


def test_a_reverse_test_is_counted_by_the_client() -> None:
    (curve,) = curves_of("iperf2", "2.1.8--text-reverse")
    assert curve.settings["direction"] == "server to client"
    assert curve.settings["counted by"] == "receiver"


def test_the_servers_report_is_what_arrived_of_datagrams() -> None:
    (curve,) = curves_of("iperf2", "2.1.8--text-udp")
    assert curve.points[0].estimate.value == pytest.approx(33.5e6 / 8)
    assert curve.settings["lost"] == "19 % (1376 of 7068 datagrams)"
    assert (curve.pattern, curve.transport) == (None, "")


def test_a_refused_connection_is_a_failure() -> None:
    (curve,) = curves_of("iperf2", "2.1.8--text-refused")
    assert curve.points == ()
    assert curve.failures[0].text == "connect failed: Connection refused"
    assert curve.failures[0].line == 5


def test_a_server_tells_of_one_test_after_the_other() -> None:
    curves = curves_of("iperf2", "2.1.8--text-server")
    wholes = [one for one in curves if "mean per connection" not in one.what]
    assert {one.settings["log of"] for one in curves} == {"server"}
    assert [one.settings["streams"] for one in wholes][:7] == list("1141212")
    assert wholes[0].points[0].estimate.value == pytest.approx(3.95e9 / 8)
    assert not any(one.cut_off for one in wholes[:7])


def test_csv_is_exact() -> None:
    (curve,) = curves_of("iperf2", "2.1.8--csv")
    assert curve.points[0].estimate.value == 19253910278 / 8
    together, _ = curves_of("iperf2", "2.1.8--csv-two-streams")
    assert together.points[0].estimate.value == (237299765 + 108277925) / 8


def test_a_second_csv_test_with_the_same_id_is_another_test() -> None:
    row = raw("iperf2", "2.1.8--csv")
    curves, strange = found(row + row.replace(b",41410,", b",41412,"))
    assert len(curves) == 2
    assert strange == []


def test_a_test_without_its_last_row_is_cut_off() -> None:
    text = b"".join(raw("iperf2", "2.1.8--text-intervals").splitlines(keepends=True)[:-1])
    (curve,) = found(text)[0]
    assert "no row of the whole test" in curve.cut_off
    assert curve.points[0].estimate.value == pytest.approx((300e6 + 7.19e9) / 16)


def test_a_heading_alone_is_told_of_as_cut_off() -> None:
    (curve,) = found(b"Client connecting to 10.0.0.2, TCP port 5001\n")[0]
    assert curve.points == ()
    assert curve.cut_off


def test_an_output_without_any_test_is_told_of() -> None:
    curves, strange = found(b"Server listening on TCP port 5001\n")
    assert curves == []
    assert [one.reason for one in strange] == ["a test; this output of iperf 2 has none"]


@given(st.lists(st.sampled_from(raw("iperf2", "2.1.8--text-server").splitlines(True))))
def test_rows_in_any_order_never_raise(lines: list[bytes]) -> None:
    for curve in found(b"".join(lines))[0]:
        assert all(point.estimate.value > 0 for point in curve.points)


def _client(server: str, own: str) -> str:
    ruler = "-" * 60
    return (
        f"{ruler}\nClient connecting to {server}, TCP port 5001\n"
        f"TCP window size: 85.0 KByte (default)\n{ruler}\n"
        f"[  1] local 10.0.0.1 port {own} connected with {server} port 5001\n"
    )


def _row(begin: float, end: float, rate: str) -> str:
    return f"[  1] {begin:.4f}-{end:.4f} sec  1.00 GBytes  {rate} Gbits/sec\n"


WHOLE_A, WHOLE_B = _row(0, 10, "1.00"), _row(0, 10.01, "9.00")


@pytest.mark.parametrize("log", [
    raw("iperf2", "2.1.8--text-two-clients").decode(),
    _client("10.0.0.2", "4000") + _client("10.0.0.3", "4002") + WHOLE_A + WHOLE_B,
    _client("10.0.0.2", "4000") + _client("10.0.0.2", "4002") + WHOLE_A + WHOLE_B,
    _client("10.0.0.2", "4000") + _client("10.0.0.3", "4002") + _row(0, 1, "1.00")
    + _row(0, 1, "9.00") + _row(1, 2, "1.00") + _row(1, 2, "9.00") + WHOLE_A + WHOLE_B,
    _client("10.0.0.2", "4000") + _row(0, 1, "1.00") + _client("10.0.0.3", "4002")
    + _row(1, 2, "1.00") + _row(0, 1, "9.00") + _row(0, 2, "1.00") + _row(0, 2, "9.00"),
])  # fmt: skip
def test_two_clients_that_number_their_connections_alike_get_no_figure(log: str) -> None:
    curves, strange = found(log.encode())
    assert strange == []
    assert [one.points for one in curves] == [()] * len(curves)
    for one in curves:
        assert one.hosts == ()
        assert "both numbered [1]" in one.failures[0].text


def test_two_clients_one_after_the_other_keep_their_figures() -> None:
    log = _client("10.0.0.2", "4000") + WHOLE_A + _client("10.0.0.3", "4002") + WHOLE_B
    curves, _ = found(log.encode())
    assert [one.hosts for one in curves] == [("10.0.0.1", "10.0.0.2"), ("10.0.0.1", "10.0.0.3")]
    assert [one.points[0].estimate.value * 8 for one in curves] == pytest.approx([1e9, 9e9])
    assert curves[0].evidence.addresses == ("10.0.0.1", "10.0.0.2")


def test_a_servers_sum_over_two_hosts_is_of_two_pairs() -> None:
    begun = "".join(
        f"[  {i}] local 10.0.0.1 port 5001 connected with 10.0.0.{i + 1} port 4000\n"
        for i in (1, 2)
    )
    rows = WHOLE_A + WHOLE_B.replace("[  1]", "[  2]")
    together, _ = found((f"Server listening on TCP port 5001\n{begun}{rows}").encode())[0]
    assert (together.pairs, together.hosts) == (2, ("10.0.0.1", "10.0.0.2", "10.0.0.3"))
    assert together.evidence.addresses == ()


def test_a_clients_retransmits_are_losses() -> None:
    (curve,) = curves_of("iperf2", "2.1.9--text-enhanced-lossy")
    assert curve.settings["retransmits"] == "5213"
    losses = curve.evidence.losses
    assert losses is not None
    assert (losses.count, losses.over_tcp) == (5213, True)
    assert losses.sent_bytes == pytest.approx(935e6 / 8 * 10.0147)


def test_retransmits_of_several_connections_are_those_of_the_sum() -> None:
    together, _ = curves_of("iperf2", "2.1.8--text-enhanced-two-streams")
    assert together.evidence.losses is not None
    assert together.evidence.losses.count == 15


def test_a_plain_row_says_nothing_of_retransmits() -> None:
    (curve,) = curves_of("iperf2", "2.1.8--text")
    assert curve.evidence.losses is None
    assert "retransmits" not in curve.settings
