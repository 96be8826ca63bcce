"""The ceiling of launches over verbs is that of their queue pairs' MTU, and the sum says so."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge import planted
from tests.report import sample

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.ceiling.technologies import ceiling, ceilings
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.measurement import UsedOfi, UsedSockets, UsedVerbs
from fabricgauge.model.run import Launch

PAGE = Path(__file__).parents[3] / "docs/reference/ceilings.md"
RDMA = ("100GbE roce", "100GbE roce-v1", "hdr")
HEADER = sample.judged().run.launches[0].header
OFI = UsedOfi("/lib/libfabric.so.1", "1.17", "verbs;ofi_rxm", "RDM", "tagged", "delivery", 64, ())


def verbs(mtu: int) -> UsedVerbs:
    return UsedVerbs("/lib/libibverbs.so.1", "rc", mtu, 220, 64, 0, 0, ())


def launch(
    network: Network, used: UsedSockets | UsedOfi | UsedVerbs | None, number: int = 1
) -> Launch:
    assert HEADER
    of = planted.launch([planted.measurement(planted.samples()[0])], number, network.name)
    return msgspec.structs.replace(of, header=msgspec.structs.replace(HEADER, transport=used))


def found(network: Network, *launches: Launch) -> Ceiling:
    of = ceilings((network,), launches)[network.name]
    assert isinstance(of, Ceiling), of
    return of


def told(of: Ceiling) -> str:
    return next(one.expression for one in of.steps if one.label == "path MTU")


@given(st.sampled_from(RDMA), st.sampled_from(PATH_MTUS))
def test_it_is_the_ceiling_of_a_network_with_that_mtu(text: str, mtu: int) -> None:
    network, stated = stated_network(text), ceiling(stated_network(f"{text} mtu={mtu}"))
    used = found(network, launch(network, verbs(mtu)))
    assert isinstance(stated, Ceiling)
    assert used.payload_bytes_per_s == stated.payload_bytes_per_s
    assert used.payload_per_packet_bytes == mtu
    assert used.by_mtu == {}
    assert next(one.value for one in used.steps if one.label == "path MTU") == mtu
    assert "of the queue pairs, as the launches over verbs say; the network's: 4096" in told(used)


@given(st.sampled_from(RDMA), st.lists(st.sampled_from(PATH_MTUS), min_size=2, max_size=5))
def test_of_several_mtus_the_largest_is_taken_and_each_is_kept(text: str, each: list[int]) -> None:
    network = stated_network(text)
    used = found(network, *(launch(network, verbs(mtu), n) for n, mtu in enumerate(each, 1)))
    alone = {mtu: found(network, launch(network, verbs(mtu))).payload_bytes_per_s for mtu in each}
    assert used.payload_bytes_per_s == max(alone.values()) == alone[max(each)]
    assert used.by_mtu == (alone if len(alone) > 1 else {})
    assert ("the largest, which no sound figure is above" in told(used)) is (len(alone) > 1)


def test_the_sum_says_which_launch_had_which_mtu() -> None:
    network = stated_network("hdr")
    mtus = enumerate((256, 4096, 256), 1)
    used = found(network, *(launch(network, verbs(mtu), number) for number, mtu in mtus))
    assert "256 (launch 1, 3); 4096 (launch 2); the largest" in told(used)


@pytest.mark.parametrize("used", [None, OFI, UsedSockets(("10.0.0.1", "10.0.0.2"))])
@pytest.mark.parametrize("text", [*RDMA, "opa100", "100GbE"])
def test_it_stays_where_no_verbs_carried_anything(
    text: str, used: UsedOfi | UsedSockets | None
) -> None:
    network = stated_network(text)
    assert found(network, launch(network, used)) == ceiling(network)


def test_it_stays_where_verbs_measured_another_network_or_nothing() -> None:
    network = stated_network("hdr")
    other = msgspec.structs.replace(network, name="other")
    nothing = msgspec.structs.replace(launch(network, verbs(256)), measurements=())
    assert found(network, launch(other, verbs(256)), nothing) == ceiling(network)


@pytest.mark.parametrize(("mtu", "payload"), [(2048, 2048), (4096, 10240)])
def test_omni_path_says_4096_of_larger_packets_as_well(mtu: int, payload: int) -> None:
    network = stated_network("opa100")
    assert found(network, launch(network, verbs(mtu))).payload_per_packet_bytes == payload


MEMBERS = tuple(Member(node, "mlx5_0:1", "", 4096) for node in ("c1", "c2"))


def test_the_sum_of_ports_is_on_the_page() -> None:
    network = Network("ib", "", "infiniband", 1e11, "ibstat", MEMBERS, stated_mtu_bytes=4096)
    of = found(network, launch(network, verbs(256)))
    assert f"\npath MTU: {told(of)} = 256 bytes\n" in PAGE.read_text(encoding="utf-8")


def test_what_was_assumed_of_ports_is_known_then() -> None:
    network = Network("roce", "", "roce-v2", 100e9, "ethtool", MEMBERS, assumed=("mtu",))
    assert found(network).by_mtu
    used = found(network, launch(network, verbs(512)))
    assert (used.payload_per_packet_bytes, used.by_mtu) == (512, {})
