"""Where the wire's time went: shares of the line rate that sum to 1."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple
from tests.judge import planted

from fabricgauge.judge.evidence.ledger import compute_ledgers
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import WireLedger
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Pattern

LINE_BYTES_PER_S = planted.RATE / 8
STREAM = planted.Sample("bandwidth", 1048576, 0, 0.6)


def told(
    sender: tuple[int, int, int, int],
    receiver: tuple[int, int, int, int] = (0, 0, 0, 0),
    *,
    payload: tuple[int, int] = (0, 0),
    wall_s: float = 1.0,
    pattern: Pattern = "bandwidth",
) -> Measurement:
    """Of each end the bytes, segments, acknowledgements and segments again; nothing counted."""
    one = planted.measurement(msgspec.structs.replace(STREAM, pattern=pattern))
    sockets = tuple(
        (msgspec.structs.replace(
            planted.socket(rank, 0), sent_bytes=sent, data_segments=segments,
            acknowledgements=acknowledgements, retransmitted_segments=again,
        ),)
        for rank, (sent, segments, acknowledgements, again) in enumerate((sender, receiver))
    )  # fmt: skip
    return msgspec.structs.replace(
        one, sockets=sockets, payload_sent_bytes=payload, wall_s=wall_s, counters=()
    )


def ledgers_of(*cases: Measurement) -> tuple[WireLedger, ...]:
    return compute_ledgers(planted.run([planted.launch(cases)]), {"net1": planted.ceiling()})


def test_a_stream_is_taken_apart_into_what_its_segments_carried() -> None:
    # 60,000 segments of 1448 bytes, of them 1,000 again and 48,000 bytes beside the payload.
    once = 59_000 * 1448
    case = told((60_000 * 1448, 60_000, 500, 1_000), (0, 0, 15_000, 0), payload=(once - 48_000, 0))
    (forward,) = (one for one in ledgers_of(case) if one.sender == "c1")
    assert (forward.network, forward.origin, forward.target) == ("net1", "c1", "c2")
    shares = forward.shares
    assert shares.payload == pytest.approx((once - 48_000) / LINE_BYTES_PER_S)
    assert shares.headers == pytest.approx(59_000 * 90 / LINE_BYTES_PER_S)
    assert shares.acknowledgements == pytest.approx(500 * 90 / LINE_BYTES_PER_S)
    assert shares.resent == pytest.approx(1_000 * 1538 / LINE_BYTES_PER_S)
    assert shares.mpi == pytest.approx(48_000 / LINE_BYTES_PER_S)
    assert shares.idle == pytest.approx(1 - sum(astuple(shares)[:-1]))


def test_what_the_interface_counted_beyond_the_connections_is_other() -> None:
    one = planted.measurement(STREAM)
    case = told((1_448_000, 1_000, 0, 0), payload=(1_448_000, 0))
    case = msgspec.structs.replace(case, counters=one.counters)
    counted = one.counters[0].after["eth0"]
    (forward,) = ledgers_of(case)
    other = counted.tx_bytes + 24 * counted.tx_packets - 1_000 * 1538
    used = other + 1_000 * 1538
    assert forward.shares.other == pytest.approx(other / max(used, LINE_BYTES_PER_S))


def test_without_counted_segments_or_over_another_transport_there_is_no_ledger() -> None:
    case = told((1448, 1, 0, 0), payload=(1448, 0))
    unknown = tuple(
        tuple(msgspec.structs.replace(one, data_segments=Skipped("format 2.0")) for one in each)
        for each in case.sockets
        if not isinstance(each, Skipped)
    )
    assert not ledgers_of(msgspec.structs.replace(case, sockets=unknown))
    assert not ledgers_of(msgspec.structs.replace(case, sockets=((), ())))
    assert not ledgers_of(told((1448, 1, 0, 0), payload=(10_000_000, 0)))


_END = st.tuples(*(st.integers(0, 10**12) for _ in range(4)))


@given(
    st.lists(
        st.tuples(_END, _END, st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)),
                  st.floats(1e-6, 1e4)),
        min_size=1, max_size=4,
    ),
    st.sampled_from(("bandwidth", "put_bandwidth", "bidirectional_bandwidth")),
)  # fmt: skip
def test_shares_are_never_negative_and_sum_to_one(
    ends: list[tuple[tuple[int, int, int, int], tuple[int, int, int, int], tuple[int, int], float]],
    pattern: Pattern,
) -> None:
    cases = [
        told(sender, receiver, payload=payload, wall_s=wall_s, pattern=pattern)
        for sender, receiver, payload, wall_s in ends
    ]
    for one in ledgers_of(*cases):
        assert all(share >= 0 for share in astuple(one.shares))
        assert sum(astuple(one.shares)) == pytest.approx(1.0)
