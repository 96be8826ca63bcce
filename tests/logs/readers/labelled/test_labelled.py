"""HPCC, netperf, sockperf and qperf: named values become curves with the right unit and size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import FIXTURES, curves_of, found, raw

from fabricgauge.model.suite import SuiteCurve

SUITES = ("hpcc", "netperf", "sockperf", "qperf")
ALL = [(suite, path.stem) for suite in SUITES for path in sorted((FIXTURES / suite).glob("*.out"))]
MIB = 2**20


@pytest.mark.parametrize(("suite", "name"), ALL)
def test_every_line_is_understood_and_every_block_is_whole(suite: str, name: str) -> None:
    curves = curves_of(suite, name)
    assert curves
    assert {(one.suite, one.cut_off, one.failures) for one in curves} == {(suite, "", ())}


#: Suite, fixture, benchmark, quantity; size, figure, pattern, transport.
FIGURES = [
    ("qperf", "0.4.11--four-tests-and-conf", "tcp_bw", "bandwidth", None, 3.18e9, "bandwidth",
     "tcp"),
    ("qperf", "0.4.11--four-tests-and-conf", "udp_bw", "bandwidth", None, 228e6, None, ""),
    ("qperf", "0.4.11--bits", "tcp_bw", "bandwidth", None, 15.4e9 / 8, "bandwidth", "tcp"),
    ("qperf", "0.4.11--bits", "tcp_bw", "message_rate", None, 29.4e3, None, "tcp"),
    ("qperf", "0.4.11--verbose-bare-units", "tcp_bw", "bandwidth", None, 484057980, "bandwidth",
     "tcp"),
    ("qperf", "0.4.11--verbose-bare-units", "tcp_lat", "time", 1, 26123e-9, "latency", "tcp"),
    ("qperf", "0.4.11--sizes", "tcp_lat", "time", 1, 22.8e-6, "latency", "tcp"),
    ("sockperf", "3.7--tcp-ping-pong", "sockperf", "time", None, 27.787e-6, None, "tcp"),
    ("sockperf", "3.7--udp-full-rtt", "sockperf", "time", None, 49.614e-6, None, ""),
    ("sockperf", "3.7--tcp-throughput", "sockperf throughput", "bandwidth", 1472,
     272.166 * MIB, "bandwidth", "tcp"),
    ("sockperf", "3.7--udp-throughput", "sockperf throughput of datagrams", "bandwidth", 4000,
     188.095 * MIB, None, ""),
    ("netperf", "2.7--tcp-stream", "TCP_STREAM", "bandwidth", 16384, 9413.52e6 / 8, "bandwidth",
     "tcp"),
    ("netperf", "2.7--tcp-maerts-megabytes", "TCP_MAERTS", "bandwidth", 16384, 1121.5 * MIB,
     "bandwidth", "tcp"),
    ("netperf", "2.7--udp-stream", "UDP_STREAM", "bandwidth", 65507, 8908.95e6 / 8, None, ""),
    ("netperf", "2.7--tcp-rr", "TCP_RR", "time", 1, 20e-6, "latency", "tcp"),
    ("netperf", "2.7--tcp-rr", "TCP_RR", "message_rate", 1, 25000, None, "tcp"),
    ("netperf", "2.7--omni-stream", "TCP_STREAM", "bandwidth", 65536, 9401.25e6 / 8, "bandwidth",
     "tcp"),
    ("netperf", "2.7--omni-rr", "TCP_RR", "time", 64, 39.75e-6, None, "tcp"),
    ("netperf", "2.7--wrapped-title", "TCP_STREAM", "bandwidth", 16384, 915.55e6 / 8, "bandwidth",
     "tcp"),
    ("netperf", "2.7--omni-csv", "TCP_STREAM", "bandwidth", None, 9401.55e6 / 8, "bandwidth",
     "tcp"),
    ("sockperf", "3.x--from-warm-up", "sockperf", "time", None, 21.323e-6, None, ""),
    ("sockperf", "3.x--from-test-end", "sockperf", "time", None, 21.323e-6, None, ""),
    ("sockperf", "3.x--from-valid-duration", "sockperf", "time", None, 21.323e-6, None, ""),
    ("sockperf", "3.x--from-summary", "sockperf", "time", None, 21.323e-6, None, ""),
    ("hpcc", "1.5.0--two-ranks", "b_eff of two ranks", "time", 8, 0.366667e-6, "latency", ""),
    ("hpcc", "1.5.0--two-ranks", "b_eff of two ranks", "bandwidth", 2000000, 11.49e9, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("suite", "name", "benchmark", "quantity", "size", "figure", "pattern", "transport"), FIGURES
)
def test_figures_are_in_si_units(
    suite: str, name: str, benchmark: str, quantity: str, size: int | None, figure: float,
    pattern: str | None, transport: str,
) -> None:  # fmt: skip
    same = (one for one in curves_of(suite, name) if one.benchmark == benchmark)
    curve = next(one for one in same if one.quantity == quantity)
    (point,) = curve.points
    assert (point.message_bytes, curve.pattern, curve.transport) == (size, pattern, transport)
    assert point.estimate.value == pytest.approx(figure)


def _one(suite: str, name: str) -> SuiteCurve:
    return curves_of(suite, name)[0]


def test_what_spreads_stays_with_its_figure() -> None:
    (point,) = _one("sockperf", "3.7--tcp-ping-pong").points
    assert point.estimate.samples == 9939
    assert point.besides["p99"] == pytest.approx(533.339e-6)
    assert point.besides["minimum"] == pytest.approx(6.629e-6)
    (point,) = _one("hpcc", "1.5.0--two-ranks").points
    assert point.besides["maximum"] == pytest.approx(0.371111e-6)


def test_sizes_that_are_said_are_exact() -> None:
    sizes = [one.points[0].message_bytes for one in curves_of("qperf", "0.4.11--sizes")]
    assert sizes == [1, 64, 4096]


def test_a_latency_of_qperf_without_a_size_has_one_byte_unless_the_test_is_repeated() -> None:
    swept = curves_of("qperf", "0.4.11--sizes-unsaid")
    assert {one.points[0].message_bytes for one in swept} == {None}
    alone = found(b"tcp_bw:\n    bw  =  1.18 GB/sec\ntcp_lat:\n    latency  =  2.1 ms\n")[0]
    assert [one.points[0].message_bytes for one in alone] == [None, 1]


def test_transactions_in_a_burst_tell_no_latency() -> None:
    (curve,) = curves_of("netperf", "2.7--tcp-rr-burst")
    assert curve.quantity == "message_rate"


@pytest.mark.parametrize("place", [b" : demo", b" : first", b" burst", b" 16\n", b" AF_INET to"])
def test_a_burst_counts_wherever_a_mail_breaks_the_title(place: bytes) -> None:
    text = raw("netperf", "2.7--tcp-rr-burst").replace(place, b"\n" + place.lstrip(b" "), 1)
    assert {curve.quantity for curve in found(text)[0]} == {"message_rate"}


def test_two_excerpts_of_sockperf_are_two_tests() -> None:
    text = raw("sockperf", "3.x--from-summary")
    curves, strange = found(text + text.replace(b"21.323", b"23.5"))
    assert strange == []
    assert [curve.points[0].estimate.value for curve in curves] == pytest.approx(
        [21.323e-6, 23.5e-6]
    )


def test_an_excerpt_of_sockperf_that_lacks_the_line_on_sizes_tells_none() -> None:
    text = raw("sockperf", "3.7--tcp-throughput")
    assert {curve.points[0].message_bytes for curve in found(text)[0]} == {1472}
    excerpt = text[text.index(b"sockperf: Summary: Message Rate") :]
    assert {curve.points[0].message_bytes for curve in found(excerpt)[0]} == {None}


def test_a_mean_latency_of_a_stream_is_no_round_trip() -> None:
    text = raw("netperf", "2.7--omni-stream") + b"MEAN_LATENCY=3.21\n"
    assert {curve.quantity for curve in found(text)[0]} == {"bandwidth"}


def test_a_loopback_address_is_both_ends() -> None:
    ends = _one("sockperf", "3.7--tcp-throughput").evidence.addresses
    assert ends == ("127.0.0.1", "127.0.0.1")
    assert _one("netperf", "2.7--tcp-stream").evidence.addresses == ()
    backward = _one("netperf", "2.7--tcp-maerts-megabytes")
    assert (backward.origin, backward.target, backward.hosts) == (1, 0, ("127.0.0.1",) * 2)


@pytest.mark.parametrize(("suite", "name", "lines"), [
    ("hpcc", "1.5.0--two-ranks", 400), ("netperf", "2.7--tcp-stream", 4),
    ("sockperf", "3.7--tcp-ping-pong", 8), ("sockperf", "3.7--tcp-throughput", 6),
    ("qperf", "0.4.11--sizes", 1),
])  # fmt: skip
def test_a_test_without_its_figure_is_cut_off(suite: str, name: str, lines: int) -> None:
    head = b"".join(raw(suite, name).splitlines(keepends=True)[:lines])
    (curve,) = found(head)[0]
    assert curve.points == ()
    assert curve.cut_off


def test_the_summary_of_hpcc_alone_is_read() -> None:
    text = raw("hpcc", "1.5.0--two-ranks")
    summary = text[text.index(b"Begin of Summary") :]
    whole = curves_of("hpcc", "1.5.0--two-ranks")
    assert [one.points[0].estimate for one in found(summary)[0]] == [
        one.points[0].estimate for one in whole
    ]


def test_a_unit_that_is_not_known_gives_no_figure() -> None:
    text = raw("netperf", "2.7--tcp-stream").replace(b"10^6bits/sec", b"furlongs/sec")
    (curve,) = found(text)[0]
    assert (curve.points, bool(curve.cut_off)) == ((), True)


@given(st.data())
def test_a_broken_log_raises_nothing(data: st.DataObject) -> None:
    suite, name = data.draw(st.sampled_from(ALL))
    text = raw(suite, name)[:4000]
    cut = data.draw(st.integers(0, len(text)))
    found(text[:cut] + data.draw(st.binary(max_size=20)) + text[cut + 5 :])
