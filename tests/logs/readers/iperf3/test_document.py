import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import curves_of, found, raw

from fabricgauge.logs.readers.iperf3_document import read as read_document
from fabricgauge.logs.readers.iperf3_document import recognised


def document(name: str) -> "dict[str, dict[str, dict[str, float]]]":
    return dict(json.loads(raw("iperf3", f"3.12--{name}")))


def test_a_tcp_test_gives_the_receivers_rate_in_bytes_per_second() -> None:
    (curve,) = curves_of("iperf3", "3.12--json")
    end = document("json")["end"]
    assert curve.points[0].estimate.value == end["sum_received"]["bits_per_second"] / 8
    assert curve.points[0].estimate.value != end["sum_sent"]["bits_per_second"] / 8
    assert (curve.suite, curve.version, curve.benchmark) == ("iperf3", "3.12", "iperf3")
    assert (curve.quantity, curve.pattern, curve.directions) == ("bandwidth", "bandwidth", 1)
    assert (curve.transport, curve.hosts) == ("tcp", ("127.0.0.1", "127.0.0.1"))
    assert curve.cut_off == ""


def test_a_block_size_is_a_setting_and_no_message_size() -> None:
    (curve,) = curves_of("iperf3", "3.12--json")
    assert curve.points[0].message_bytes is None
    assert curve.settings["block size"] == "131072 bytes"
    assert curve.settings["retransmits"] == "1"


def test_intervals_are_told_besides_without_the_omitted_ones() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-omit")
    rates = [
        one["sum"]["bits_per_second"] / 8
        for one in json.loads(raw("iperf3", "3.12--json-omit"))["intervals"]
        if not one["sum"]["omitted"]
    ]
    besides = curve.points[0].besides
    assert (besides["minimum"], besides["maximum"]) == (min(rates), max(rates))
    assert besides["median"] == pytest.approx(sum(rates) / 2)
    assert curve.points[0].estimate.samples == len(rates) == 2


def test_the_rest_of_a_second_is_no_interval_of_its_own() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-server")
    everything = json.loads(raw("iperf3", "3.12--json-server"))["intervals"]
    assert len(everything) == 3
    whole = [one["sum"]["bits_per_second"] / 8 for one in everything[:2]]
    assert curve.points[0].besides["minimum"] == min(whole)
    assert curve.settings["log of"] == "server"


def test_several_streams_give_the_aggregate_and_the_mean_of_one() -> None:
    together, one = curves_of("iperf3", "3.12--json-four-streams")
    assert together.settings["streams"] == "4"
    assert together.pattern == "bandwidth"
    assert one.pattern is None
    assert one.points[0].estimate.value == together.points[0].estimate.value / 4
    streams = json.loads(raw("iperf3", "3.12--json-four-streams"))["end"]["streams"]
    rates = [stream["receiver"]["bits_per_second"] / 8 for stream in streams]
    assert one.points[0].besides["minimum"] == min(rates)
    assert one.points[0].besides["maximum"] == max(rates)


@pytest.mark.parametrize("name", ["json-bidir", "json-bidir-two-streams", "json-server-bidir"])
def test_two_directions_give_a_curve_each(name: str) -> None:
    curves = curves_of("iperf3", f"3.12--{name}")
    there, back = (one for one in curves if "mean per connection" not in one.what)
    end = document(name)["end"]
    assert there.settings["direction"] == "client to server"
    assert there.points[0].estimate.value == end["sum_received"]["bits_per_second"] / 8
    assert back.settings["direction"] == "server to client"
    received, sent = end["sum_received_bidir_reverse"], end["sum_sent_bidir_reverse"]
    known = received if received["bits_per_second"] else sent
    assert back.points[0].estimate.value == known["bits_per_second"] / 8
    assert back.settings["counted by"] == ("receiver" if known is received else "sender")
    assert {one.pattern for one in (there, back)} == {"bidirectional_bandwidth"}
    assert {one.directions for one in curves} == {1}


def test_a_reverse_test_goes_from_server_to_client() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-reverse")
    assert curve.settings["direction"] == "server to client"
    assert curve.pattern == "bandwidth"


@pytest.mark.parametrize("name", ["json-udp", "json-udp-reverse"])
def test_udp_is_no_pattern_of_ours_and_tells_its_losses(name: str) -> None:
    (curve,) = curves_of("iperf3", f"3.12--{name}")
    received = document(name)["end"]["sum_received"]
    assert (curve.pattern, curve.transport) == (None, "")
    assert curve.what == "one-way UDP stream"
    assert curve.points[0].estimate.value == received["bits_per_second"] / 8
    assert f"({received['lost_packets']} of " in curve.settings["lost"]


def test_what_a_sender_of_datagrams_counted_is_not_told_of_the_receiver() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-udp")
    assert curve.points[0].besides == {}


def test_a_refused_connection_is_a_failure_with_the_tools_word() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-refused")
    assert curve.points == ()
    assert curve.failures[0].text == "unable to connect to server: Connection refused"
    assert curve.pattern is None


def test_a_test_that_an_error_ended_has_its_intervals_and_is_cut_off() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-server-died")
    intervals = json.loads(raw("iperf3", "3.12--json-server-died"))["intervals"]
    moved = sum(one["sum"]["bytes"] for one in intervals)
    seconds = sum(one["sum"]["seconds"] for one in intervals)
    assert curve.points[0].estimate.value == pytest.approx(moved / seconds, rel=1e-6)
    assert "Connection reset by peer" in curve.cut_off


def test_a_receiver_that_reported_nothing_leaves_the_senders_figure() -> None:
    (curve,) = curves_of("iperf3", "3.12--json-interrupted")
    sent = document("json-interrupted")["end"]["sum_sent"]
    assert curve.points[0].estimate.value == sent["bits_per_second"] / 8
    assert curve.settings["counted by"] == "sender"
    assert "interrupt" in curve.cut_off


def test_a_document_cut_in_the_middle_has_its_whole_intervals() -> None:
    together, _ = curves_of("iperf3", "3.12--json-cut-off")
    first = json.loads(raw("iperf3", "3.12--json-four-streams"))["intervals"][0]["sum"]
    assert together.points[0].estimate.value == pytest.approx(first["bits_per_second"] / 8)
    assert together.cut_off == "the JSON text ends before its last bracket"


def test_a_document_behind_a_broken_one_is_read() -> None:
    curves, strange = found(
        raw("iperf3", "3.12--json-cut-off") + b"\n" + raw("iperf3", "3.12--json")
    )
    assert [bool(one.cut_off) for one in curves] == [True, True, False]
    assert strange == []


@pytest.mark.parametrize("length", range(0, 7600, 137))
def test_no_cut_is_silent(length: int) -> None:
    curves, strange = found(raw("iperf3", "3.12--json-four-streams")[:length])
    assert length == 0 or strange or all(one.cut_off for one in curves)
    assert length == 0 or strange or curves


def test_one_long_line_is_read_as_well() -> None:
    text = json.dumps(json.loads(raw("iperf3", "3.12--json"))).encode()
    assert found(text)[0][0].points == found(text + b"\n")[0][0].points != ()


def test_of_a_json_stream_the_end_event_is_read() -> None:
    whole = json.loads(raw("iperf3", "3.12--json"))
    lines = [
        json.dumps({"event": "start", "data": whole["start"]}),
        json.dumps({"event": "interval", "data": whole["intervals"][0]}),
        json.dumps({"event": "end", "data": whole["end"]}),
    ]
    curves, strange = found("\n".join(lines).encode())
    rate = whole["end"]["sum_received"]["bits_per_second"] / 8
    assert [one.points[0].estimate.value for one in curves] == [rate]
    assert [one.line for one in strange] == [1]


def test_other_json_is_left_alone() -> None:
    assert not recognised('{"start": {"cause": 1}}')
    assert not recognised('{"event": "running", "data": 1}')


@given(st.integers(0, 7600), st.text(alphabet='{}[]",:0123e-\n', max_size=40))
def test_garbage_in_a_document_never_raises(place: int, garbage: str) -> None:
    text = raw("iperf3", "3.12--json-four-streams").decode()
    broken = text[:place] + garbage + text[place:]
    for curve in read_document(broken, 1, lambda line, why: None):
        assert all(point.estimate.value > 0 for point in curve.points)
