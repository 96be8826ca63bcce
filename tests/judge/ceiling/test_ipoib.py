"""TCP over IPoIB: sums worked out by hand."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.ceiling.sums import of, worked_out

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Member, Network


def found_by_discovery(link: str, rate_bit_s: float, mode: str, mtu: int) -> Network:
    return Network(
        "10.1.0.0/24", "10.1.0.0/24", "ipoib", rate_bit_s, "a:ib0's driver reports it",
        (Member("a", "ib0", "10.1.0.1", mtu), Member("b", "ib1", "10.1.0.2", mtu)),
        link=link, mode=mode,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "payload", "wire"),
    [
        # IP packet, IPoIB 4, LRH 8, BTH 12, DETH 8, ICRC 4, VCRC 2; TCP/IP takes 52.
        ("edr ipoib datagram mtu=2044", 1992, 2082),
        ("edr ipoib datagram mtu=4092", 4040, 4130),
        ("edr ipoib datagram mtu=4092 ip=6", 4020, 4130),
        # 2005 + 4 is padded to 2012.
        ("edr ipoib datagram mtu=2005", 1953, 2005 + 4 + 3 + 34),
        # One packet of a connection has no DETH.
        ("edr ipoib connected mtu=2044", 1992, 2074),
        # 65524 bytes in 16 packets of 4096 with 26 bytes each.
        ("edr ipoib connected mtu=65520", 65468, 65524 + 16 * 26),
        # Omni-Path has no VCRC, and whole flits: 10240 + 24 + 8 are 1284 of 8 bytes.
        ("opa100 ipoib datagram mtu=10236", 10184, 10272),
        # 65524 bytes in 7 packets of 10240 with 24 bytes each, 4 short of whole flits.
        ("opa100 ipoib connected mtu=65520", 65468, 65524 + 4 + 7 * 24),
    ],
)
def test_packet_is_the_ip_packet_with_the_link_s_headers(
    text: str, payload: int, wire: int
) -> None:
    found = of(text)
    assert (found.payload_per_packet_bytes, found.wire_bytes_per_packet) == (payload, wire)


@pytest.mark.parametrize(
    ("link", "reported_gbit_s", "megabytes_s"),
    [
        ("4x SDR", 10, 1000), ("4x QDR", 40, 4000), ("4x FDR10", 40, 5000),
        ("4x FDR", 56, 75000 / 11), ("4x EDR", 100, 12500), ("2x HDR", 100, 12500),
        ("4x NDR", 400, 50000), ("OPA100", 100, 12500),
    ],
)  # fmt: skip
def test_what_the_driver_reports_of_a_signal_is_no_data_rate(
    link: str, reported_gbit_s: float, megabytes_s: float
) -> None:
    found = worked_out(found_by_discovery(link, reported_gbit_s * 1e9, "datagram", 2044))
    line = next(one for one in found.steps if one.label == "line rate")
    assert line.value == pytest.approx(megabytes_s * 1e6, rel=1e-9)
    assert "a:ib0's driver reports it" in line.expression


def test_a_declared_rate_below_the_link_s_holds() -> None:
    found = worked_out(found_by_discovery("4x EDR", 25e9, "datagram", 2044))
    assert found.payload_bytes_per_s == pytest.approx(25e9 / 8 * 1992 / 2082)


def test_where_mode_and_link_are_not_known_the_least_is_counted_and_said() -> None:
    unknown = worked_out(found_by_discovery("", 100e9, "", 2044))
    for link in ("4x EDR", "OPA100"):
        for mode in ("datagram", "connected"):
            known = worked_out(found_by_discovery(link, 100e9, mode, 2044))
            assert known.payload_bytes_per_s <= unknown.payload_bytes_per_s
    told = next(one for one in unknown.steps if one.label == "path MTU").expression
    assert "connected mode assumed" in told
    assert "Omni-Path assumed" in told


def test_an_mtu_that_no_datagram_has_is_of_connected_mode() -> None:
    found = of("edr ipoib datagram mtu=65520")
    assert found.wire_bytes_per_packet == 65524 + 16 * 26


def test_the_host_link_counts_here_as_well() -> None:
    found = of("edr ipoib connected mtu=65520 pcie=3x8 mps=256")
    assert found.binding == "host link PCIe 3.0 x8"


@pytest.mark.parametrize("text", ["100GbE ipoib", "slingshot-11 ipoib", "edr connected"])
def test_a_statement_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        stated_network(text)


@given(
    st.sampled_from(["4x SDR", "4x FDR", "2x HDR", "4x NDR", "OPA100", "", "?"]),
    st.sampled_from(["datagram", "connected", "", "other"]),
    st.integers(68, 65520),
    st.floats(1e6, 1e12),
)
def test_no_sum_is_above_the_rate_and_none_is_nonsense(
    link: str, mode: str, mtu: int, rate_bit_s: float
) -> None:
    found = ceiling(found_by_discovery(link, rate_bit_s, mode, mtu))
    assert isinstance(found, Ceiling)
    assert 0 < found.payload_bytes_per_s < rate_bit_s / 8
    assert math.isfinite(found.payload_bytes_per_s)


def test_an_mtu_without_room_for_payload_has_no_ceiling() -> None:
    tiny = found_by_discovery("4x EDR", 100e9, "datagram", 50)
    assert isinstance(ceiling(tiny), Skipped)
    unknown = msgspec.structs.replace(tiny, rate_bit_s=Skipped("no driver says it"))
    assert isinstance(ceiling(unknown), Skipped)
