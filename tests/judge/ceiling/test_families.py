"""The sums of the families, link by link, and what cannot be worked out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.ceiling.sums import of, worked_out

from fabricgauge.judge.ceiling import capacity, ethernet, infiniband
from fabricgauge.judge.ceiling.capacity import PcieCapacity
from fabricgauge.judge.ceiling.capacity import pcie_link as link_named
from fabricgauge.judge.ceiling.stated import known_names, stated_network
from fabricgauge.judge.ceiling.technologies import TECHNOLOGIES, ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Member, Network


def step(found: Ceiling, label: str) -> CeilingStep:
    return next(one for one in found.steps if one.label == label)


@pytest.mark.parametrize(
    ("text", "payload", "wire"),
    [
        ("100GbE roce", 4096, 4096 + 14 + 20 + 8 + 12 + 4 + 4 + 8 + 12),
        ("100GbE roce ip=6", 4096, 4096 + 14 + 40 + 8 + 12 + 4 + 4 + 8 + 12),
        ("100GbE roce-v1", 4096, 4096 + 14 + 40 + 12 + 4 + 4 + 8 + 12),
        ("100GbE roce mtu=1500", 1024, 1106),
        ("100GbE roce mtu=9000", 4096, 4178),
        ("100GbE roce mtu=256", 256, 338),
        ("slingshot-10", 4096, 4178),
        ("10GbE iwarp", 1440, 1538),
        ("10GbE iwarp timestamps=on", 1428, 1538),
        ("10GbE iwarp mtu=9001", 8940, 9039),
        ("edr", 4096, 4122),
        ("edr mtu=2048", 2048, 2074),
        ("opa100", 10240, 10264),
        ("cn5000 mtu=8192", 8192, 8216),
        ("pcie 3.0 x8 mps=256", 256, 276),
        ("pcie 2.0 x8 mps=128", 128, 148),
        ("pcie 6.0 x16 mps=256", 256, 268),
    ],
)
def test_packet_is_the_mtu_with_its_headers(text: str, payload: int, wire: int) -> None:
    found = of(text)
    assert (found.payload_per_packet_bytes, found.wire_bytes_per_packet) == (payload, wire)


def test_sum_of_lanes_and_encoding_is_shown() -> None:
    found = of("fdr")
    assert step(found, "signalling rate").expression == "4 × 14.0625 Gb/s per lane"
    assert step(found, "data rate").expression == "56.25 Gb/s × 64 ÷ 66 (64b/66b)"
    assert step(found, "data rate").value == pytest.approx(54.545e9, rel=1e-4)


def test_lanes_are_not_shown_when_the_rate_is_another() -> None:
    down = msgspec.structs.replace(stated_network("edr"), rate_bit_s=50e9)
    assert worked_out(down).steps[0].label == "line rate"


@pytest.mark.parametrize(
    ("text", "binding"),
    [
        ("100GbE roce pcie=3x8", "host link PCIe 3.0 x8"),
        ("100GbE roce pcie=3x16", "Ethernet line rate"),
        ("hdr pcie=3.0x16 mps=256", "host link PCIe 3.0 x16"),
        ("hdr pcie=4x16 mps=256", "InfiniBand data rate"),
        ("opa100", "Omni-Path data rate"),
        ("hdr pcie=3x16 rails=2", "2 rails, each by host link PCIe 3.0 x16"),
        ("nvlink2 links=2", "2 links, each by NVLink 2 rate"),
    ],
)
def test_smallest_limit_binds_and_is_named(text: str, binding: str) -> None:
    assert binding in of(text).binding


def test_host_link_step_shows_its_sum() -> None:
    found = of("100GbE roce pcie=3x8 mps=256")
    limit = step(found, "PCIe 3.0 x8 limit")
    assert limit.value == pytest.approx(8e9 * 8 * 128 / 130 / 8 * 256 / 276)
    assert found.payload_bytes_per_s == limit.value
    assert "256 (MPS) ÷ 276" in limit.expression
    assert "assumed" in step(of("100GbE roce pcie=3x8"), "PCIe 3.0 x8 limit").expression


def test_host_link_that_is_not_understood_is_not_counted_and_told() -> None:
    strange = msgspec.structs.replace(stated_network("edr"), host_link="ISA")
    found = worked_out(strange)
    assert found.payload_bytes_per_s == of("edr").payload_bytes_per_s
    assert "ISA" in found.steps[-1].expression


@pytest.mark.parametrize("technology", ["roce-v1", "roce-v2"])
def test_mtu_of_members_is_the_interfaces_never_that_of_rdma(technology: str) -> None:
    members = (Member("c1", "eth0", "10.0.0.1", 4096), Member("c2", "eth0", "10.0.0.2", 9000))
    network = Network("net", "10.0.0.0/24", technology, 100e9, "ethtool", members)
    assert worked_out(network).payload_per_packet_bytes == 2048
    small = msgspec.structs.replace(network, members=(Member("c1", "eth0", "10.0.0.1", 300),))
    assert isinstance(ceiling(small), Skipped)


@pytest.mark.parametrize("technology", sorted(TECHNOLOGIES))
def test_ceiling_is_skipped_with_the_reason_when_something_is_unknown(technology: str) -> None:
    known = Network("net", "", technology, 100e9, "a switch", (), stated_mtu_bytes=4096)
    for lacking in (
        msgspec.structs.replace(known, rate_bit_s=Skipped("no driver says")),
        msgspec.structs.replace(known, stated_mtu_bytes=Skipped("not stated")),
        msgspec.structs.replace(known, rate_bit_s=0.0),
        msgspec.structs.replace(known, rate_bit_s=float("nan")),
    ):
        found = ceiling(lacking)
        assert isinstance(found, Skipped)
        assert "net" in found.reason


@pytest.mark.parametrize("technology", ["pcie", "cxl"])
def test_generation_of_an_unnamed_link_is_not_guessed(technology: str) -> None:
    network = Network("net", "", technology, 100e9, "a person", (), stated_mtu_bytes=256)
    assert isinstance(ceiling(network), Skipped)


@pytest.mark.parametrize("name", ["PCIe 8.0 x8", "PCIe 3.0 x3", "PCIe 3.0 x8 MPS 100", "x8", ""])
def test_unknown_pcie_link_is_no_link(name: str) -> None:
    assert isinstance(link_named(name), Skipped)


@pytest.mark.parametrize("name", ["4X EDR", "4x edr", "12x SDR"])
def test_infiniband_link_is_read_in_the_kernels_spelling(name: str) -> None:
    assert isinstance(infiniband.ib_link(name), infiniband.IbLink)


@given(st.sampled_from(known_names()), st.integers(1, 16))
def test_rails_add_up(name: str, rails: int) -> None:
    one = msgspec.structs.replace(stated_network(name), rails=1)
    many = msgspec.structs.replace(one, rails=rails)
    assert worked_out(many).payload_bytes_per_s == pytest.approx(
        rails * worked_out(one).payload_bytes_per_s
    )


@given(
    name=st.sampled_from(("edr", "opa100", "100GbE roce", "100GbE iwarp", "100GbE", "xdr")),
    generation=st.sampled_from(sorted(capacity.PCIE_GENERATIONS)),
    lanes=st.sampled_from(capacity.PCIE_LANES),
    payload=st.sampled_from(capacity.PCIE_PAYLOADS),
)
def test_host_link_never_raises_a_ceiling_and_the_smaller_one_is_it(
    name: str, generation: str, lanes: int, payload: int
) -> None:
    bare = stated_network(name)
    host = PcieCapacity(generation, lanes, payload)
    behind = msgspec.structs.replace(bare, host_link=f"{host.name} MPS {payload}")
    assert worked_out(behind).payload_bytes_per_s == min(
        worked_out(bare).payload_bytes_per_s, host.payload_bytes_per_s
    )


_MTUS = {
    "edr": infiniband.MTUS,
    "opa100": infiniband.OMNI_PATH_MTUS,
    "100GbE roce": (352, 700, 1500, 2200, 9000),
    "100GbE roce-v1": (352, 700, 1500, 2200, 9000),
    "pcie 4.0 x16": capacity.PCIE_PAYLOADS,
    "pcie 6.0 x16": capacity.PCIE_PAYLOADS,
}


@pytest.mark.parametrize("text", sorted(_MTUS))
def test_larger_packets_raise_the_ceiling_and_never_to_the_line_rate(text: str) -> None:
    network = stated_network(text)
    rates = [
        worked_out(msgspec.structs.replace(network, stated_mtu_bytes=mtu)).payload_bytes_per_s
        for mtu in _MTUS[text]
    ]
    assert rates == sorted(set(rates))
    assert not isinstance(network.rate_bit_s, Skipped)
    assert rates[-1] < network.rate_bit_s / 8


@given(st.sampled_from(("100GbE", "100GbE iwarp")), st.integers(256, 65000))
def test_four_bytes_more_of_mtu_are_four_bytes_more_of_payload(text: str, mtu: int) -> None:
    def at(size: int) -> Ceiling:
        return worked_out(msgspec.structs.replace(stated_network(text), stated_mtu_bytes=size))

    here, there = at(mtu), at(mtu + 4)
    assert there.payload_per_packet_bytes == here.payload_per_packet_bytes + 4
    assert there.payload_bytes_per_s > here.payload_bytes_per_s


@given(st.sampled_from(("25GbE roce", "25GbE roce-v1")), st.integers(4097, 65000))
def test_jumbo_frames_give_rdma_no_larger_packets_than_4096(text: str, mtu: int) -> None:
    found = worked_out(msgspec.structs.replace(stated_network(text), stated_mtu_bytes=mtu))
    assert found.payload_per_packet_bytes == (4096 if mtu >= 4192 else 2048)


@given(st.sampled_from(known_names()))
def test_last_step_is_the_ceiling_and_every_step_has_a_unit(name: str) -> None:
    found = of(name)
    assert (found.steps[-1].label, found.steps[-1].value) == ("ceiling", found.payload_bytes_per_s)
    assert all(one.unit and one.expression for one in found.steps)


def test_headers_kept_free_leave_the_rdma_mtu_that_adapters_choose() -> None:
    assert ethernet.LEAST_MTU == 352
    network = stated_network("25GbE roce mtu=1500")
    found = ethernet.rdma_mtu(network)
    assert isinstance(found, CeilingStep)
    assert found.value == 1024
