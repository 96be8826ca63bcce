"""The sum of headers, and what cannot be worked out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.ceiling import ethernet, technologies
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Member, Network


def network(rate_bit_s: float = 1e9, mtu: int = 1500, subnet: str = "10.77.0.0/24") -> Network:
    members = (Member("c1", "eth0", "10.77.0.11", mtu), Member("c2", "eth0", "10.77.0.12", 9000))
    return Network("net1", subnet, "ethernet", rate_bit_s, "ethtool", members)


def worked_out(of: Network) -> Ceiling:
    found = ethernet.ceiling(of)
    assert isinstance(found, Ceiling)
    return found


@pytest.mark.parametrize(
    ("of", "payload", "wire", "megabytes_per_s"),
    [
        (network(), 1448, 1538, 117.69),
        (network(mtu=9000), 8948, 9038, 123.76),
        (network(rate_bit_s=10e9), 1448, 1538, 1176.85),
        (network(rate_bit_s=100e6), 1448, 1538, 11.77),
        (network(subnet="fd00:77::/64"), 1428, 1538, 116.06),
        (msgspec.structs.replace(network(), timestamps=False), 1460, 1538, 118.66),
        (msgspec.structs.replace(network(mtu=1450), tunnel_bytes=50), 1398, 1538, 113.62),
    ],
)
def test_ceiling_is_payload_over_wire(
    of: Network, payload: int, wire: int, megabytes_per_s: float
) -> None:
    found = worked_out(of)
    assert (found.payload_per_packet_bytes, found.wire_bytes_per_packet) == (payload, wire)
    assert round(found.payload_bytes_per_s / 1e6, 2) == megabytes_per_s


def test_steps_lead_to_the_ceiling_and_name_the_origin_of_the_rate() -> None:
    found = worked_out(network())
    steps = {step.label: step for step in found.steps}
    assert steps["ceiling"].value == found.payload_bytes_per_s
    assert "ethtool" in steps["line rate"].expression
    assert steps["payload per packet"].expression == (
        "1500 − 20 (IPv4) − 20 (TCP) − 12 (TCP timestamps)"
    )
    assert all(step.unit for step in found.steps)


def test_smallest_mtu_of_the_members_counts() -> None:
    assert worked_out(network(mtu=1400)).wire_bytes_per_packet == 1438


def test_ceiling_is_skipped_with_a_reason_when_a_part_is_unknown() -> None:
    no_rate = msgspec.structs.replace(network(), rate_bit_s=Skipped("the driver names no speed"))
    for of in (
        no_rate,
        msgspec.structs.replace(network(), members=()),
        msgspec.structs.replace(network(), technology="carrier pigeon"),
        network(mtu=52),
        network(rate_bit_s=0.0),
    ):
        found = technologies.ceiling(of)
        assert isinstance(found, Skipped)
        assert "net1" in found.reason


def test_unknown_technology_is_named_with_the_known_ones() -> None:
    found = technologies.ceilings([msgspec.structs.replace(network(), technology="token-ring")])
    skipped = found["net1"]
    assert isinstance(skipped, Skipped)
    assert "token-ring" in skipped.reason
    assert "ethernet" in skipped.reason


@given(
    rate=st.floats(1e6, 1e12),
    mtu=st.integers(576, 65535),
    more=st.integers(1, 1000),
    timestamps=st.booleans(),
)
def test_larger_packets_never_lower_the_ceiling(
    rate: float, mtu: int, more: int, timestamps: bool
) -> None:
    def at(size: int) -> Ceiling:
        members = (Member("c1", "eth0", "10.77.0.11", size),)
        of = msgspec.structs.replace(network(rate), members=members, timestamps=timestamps)
        return worked_out(of)

    small, large = at(mtu), at(mtu + more)
    assert small.payload_bytes_per_s < large.payload_bytes_per_s < rate / 8


@given(st.integers(0, 1 << 30), st.integers(0, 1 << 20))
def test_transfer_takes_at_least_what_the_burst_leaves(message: int, burst: int) -> None:
    found = worked_out(msgspec.structs.replace(network(), burst_bytes=burst))
    floor_s = found.transfer_floor_s(message)
    assert floor_s * found.payload_bytes_per_s == pytest.approx(max(0, message - burst))


@pytest.mark.parametrize(
    ("mtus", "held"),
    [((9000, 1500), 1500), ((9000, 1500, 1500), 1500), ((9000, 9000, 1500), 9000)],
)
def test_of_members_that_differ_the_largest_mtu_that_two_share_counts(
    mtus: tuple[int, ...], held: int
) -> None:
    members = tuple(Member(f"c{n}", "eth0", f"10.0.0.{n}", mtu) for n, mtu in enumerate(mtus))
    of = msgspec.structs.replace(network(), members=members)
    found = technologies.ceiling(of)
    alike = technologies.ceiling(msgspec.structs.replace(of, stated_mtu_bytes=held))
    assert isinstance(found, Ceiling)
    assert isinstance(alike, Ceiling)
    assert found.payload_bytes_per_s == alike.payload_bytes_per_s
    assert set(found.by_mtu) == ({1500, 9000} if held == 9000 else set())
