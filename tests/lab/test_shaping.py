"""The token bucket carries full frames at line time, and tc can hold its numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.lab.cabling import bucket, node_tbf, port_tbf, socket_queue_bytes

rates = st.floats(min_value=1e6, max_value=400e9)
mtus = st.integers(min_value=576, max_value=65535)


@given(rates, mtus)
def test_full_frames_take_the_time_that_the_line_needs(rate_bit_s: float, mtu: int) -> None:
    shape = bucket(rate_bit_s, mtu)
    tbf_time_s = (mtu + 14) * 8 / shape.rate_bit_s
    line_time_s = (mtu + 38) * 8 / rate_bit_s
    assert tbf_time_s == pytest.approx(line_time_s, rel=1e-5)


@given(rates, mtus)
def test_bucket_holds_two_frames_after_tc_rounds_it_to_microseconds(
    rate_bit_s: float, mtu: int
) -> None:
    shape = bucket(rate_bit_s, mtu)
    bytes_per_s = shape.rate_bit_s / 8
    kept_bytes = math.floor(shape.burst_bytes / bytes_per_s * 1e6) / 1e6 * bytes_per_s
    assert kept_bytes >= 2 * (mtu + 14) - 1


@given(rates, mtus)
def test_head_start_is_short_where_two_frames_allow_it(rate_bit_s: float, mtu: int) -> None:
    shape = bucket(rate_bit_s, mtu)
    longest_s = max(76e-6, 2 * (mtu + 38) * 8 / rate_bit_s)
    assert shape.burst_bytes * 8 / shape.rate_bit_s <= longest_s + 2e-6 + 8 / rate_bit_s


@given(rates, mtus)
def test_a_piece_fits_in_the_bucket(rate_bit_s: float, mtu: int) -> None:
    shape = bucket(rate_bit_s, mtu)
    assert mtu <= shape.gso_bytes <= min(65536, shape.burst_bytes)
    assert shape.burst_bytes < shape.port_queue_bytes <= shape.node_queue_bytes


def test_gigabit_at_mtu_1500_is_what_the_documents_state() -> None:
    shape = bucket(1e9, 1500)
    assert shape.rate_bit_s == 984395319
    assert node_tbf("eth0", shape) == (
        "qdisc replace dev eth0 root tbf rate 984395319bit burst 9475b limit 4194304b"
    )
    assert port_tbf("p1e0", shape).endswith("limit 1000000b")


def test_a_socket_queues_a_millisecond_of_the_line_and_128_kib_at_least() -> None:
    assert socket_queue_bytes(100e6, 1500) == socket_queue_bytes(1e9, 1500) == 128 * 1024
    assert socket_queue_bytes(10e9, 1500) == 1_250_000
    assert socket_queue_bytes(1e9, 9000) == 4 << 20  # the kernel's own
