"""What a person may state, and what is refused with what was expected."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.ceiling.stated import OPTIONS, known_names, stated_network
from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network


@pytest.mark.parametrize(
    ("text", "technology", "link", "rate_bit_s", "mtu"),
    [
        ("1GbE", "ethernet", "1GbE", 1e9, 1500),
        ("25GbE mtu=9000", "ethernet", "25GbE", 25e9, 9000),
        ("25 Gb/s Ethernet", "ethernet", "25GbE", 25e9, 1500),
        ("1000Mb/s", "ethernet", "1GbE", 1e9, 1500),
        ("100g tcp", "ethernet", "100GbE", 100e9, 1500),
        ("100GbE roce", "roce-v2", "100GbE", 100e9, 4096),
        ("RoCEv2 100GbE", "roce-v2", "100GbE", 100e9, 4096),
        ("100GbE RoCE v1", "roce-v1", "100GbE", 100e9, 4096),
        ("10GbE iwarp", "iwarp", "10GbE", 10e9, 1500),
        ("opa100", "omni-path", "OPA100", 100e9, 10240),
        ("Omni-Path 100", "omni-path", "OPA100", 100e9, 10240),
        ("CN5000", "omni-path", "CN5000", 400e9, 10240),
        ("edr", "infiniband", "4x EDR", 100e9, 4096),
        ("4x EDR", "infiniband", "4x EDR", 100e9, 4096),
        ("4xEDR", "infiniband", "4x EDR", 100e9, 4096),
        ("infiniband hdr 2x", "infiniband", "2x HDR", 100e9, 4096),
        ("hdr100", "infiniband", "2x HDR", 100e9, 4096),
        ("ndr200", "infiniband", "2x NDR", 200e9, 4096),
        ("ndr400", "infiniband", "4x NDR", 400e9, 4096),
        ("qdr ib", "infiniband", "4x QDR", 32e9, 4096),
        ("fdr10", "infiniband", "4x FDR10", 40e9, 4096),
        ("12x sdr", "infiniband", "12x SDR", 24e9, 4096),
        ("32GbE", "ethernet", "32GbE", 32e9, 1500),
        ("12.5 GbE", "ethernet", "12.5GbE", 12.5e9, 1500),
        ("30 Gb/s", "ethernet", "30GbE", 30e9, 1500),
        ("100 Gbps roce mtu=4k", "roce-v2", "100GbE", 100e9, 4096),
        ("100 G", "ethernet", "100GbE", 100e9, 1500),
        ("10 GigE mtu=9k", "ethernet", "10GbE", 10e9, 9000),
        ("25 gigabit ethernet, jumbo frames", "ethernet", "25GbE", 25e9, 9000),
        ("100 gigabits per second", "ethernet", "100GbE", 100e9, 1500),
        ("25GbE/MTU 9000", "ethernet", "25GbE", 25e9, 9000),
        ("EFA/100 Gb/s", "efa", "EFA-100", 100e9, 9001),
        ("100 Gb/s efa", "efa", "EFA-100", 100e9, 9001),
        ("infiniband 100 Gb/s", "infiniband", "4x EDR", 100e9, 4096),
        ("200 Gb/s InfiniBand HDR", "infiniband", "4x HDR", 200e9, 4096),
        ("ib fdr 56Gb/s", "infiniband", "4x FDR", 14.0625e9 * 4 * 64 / 66, 4096),
        ("slingshot 200", "slingshot", "Slingshot-11", 200e9, 9000),
        ("slingshot-11 200 Gb/s", "slingshot", "Slingshot-11", 200e9, 9000),
        ("Omni Path 100 Gb/s", "omni-path", "OPA100", 100e9, 10240),
        ("slingshot-11", "slingshot", "Slingshot-11", 200e9, 9000),
        ("Slingshot 10", "slingshot", "Slingshot-10", 100e9, 4096),
        ("efa-100 rails=4", "efa", "EFA-100", 100e9, 9001),
        ("nvlink4", "nvlink", "NVLink 4", 200e9, 256),
        ("NVLink 4.0", "nvlink", "NVLink 4", 200e9, 256),
        ("pcie5 x16", "pcie", "PCIe 5.0 x16", 32e9 * 16 * 128 / 130, 512),
        ("pcie 3.0 x8", "pcie", "PCIe 3.0 x8", 8e9 * 8 * 128 / 130, 512),
        ("PCIe gen3 x8 mps=256", "pcie", "PCIe 3.0 x8", 8e9 * 8 * 128 / 130, 256),
        ("pcie 3.1 x8", "pcie", "PCIe 3.0 x8", 8e9 * 8 * 128 / 130, 512),
        ("cxl 2.0 x8", "cxl", "CXL 2.0 x8", 32e9 * 8 * 128 / 130 * 64 / 68, 64),
        ("cxl3 x16", "cxl", "CXL 3.0 x16", 64e9 * 16 * 240 / 256, 64),
    ],
)
def test_statement_is_understood(
    text: str, technology: str, link: str, rate_bit_s: float, mtu: int
) -> None:
    network = stated_network(text)
    assert (network.technology, network.link, network.mtu_bytes) == (technology, link, mtu)
    assert network.rate_bit_s == pytest.approx(rate_bit_s)
    assert network.members == ()
    assert network.rate_origin == f"stated on the command line: {text}"


def parts(network: Network) -> tuple[object, ...]:
    return (
        network.name, network.technology, network.rate_bit_s, network.mtu_bytes, network.rails,
        network.host_link, network.timestamps, network.subnet, network.assumed,
    )  # fmt: skip


def test_order_and_case_of_words_do_not_matter() -> None:
    words = ("25GbE", "RoCE", "mtu=9000", "rails=2", "pcie=3x8")
    expected = parts(stated_network(" ".join(words)))
    for order in itertools.permutations(words):
        assert parts(stated_network(" ".join(order).upper())) == expected
        assert parts(stated_network(", ".join(order).lower())) == expected


@pytest.mark.parametrize(
    ("text", "host_link"),
    [
        ("edr pcie=3x8", "PCIe 3.0 x8"),
        ("edr pcie=3.0x8 mps=256", "PCIe 3.0 x8 MPS 256"),
        ("100GbE roce pcie=gen4x16", "PCIe 4.0 x16"),
        ("100GbE roce pcie 3.0 x8", "PCIe 3.0 x8"),
        ("opa100", ""),
        ("pcie 3.0 x8", ""),
    ],
)
def test_host_link_is_stated_beside_the_network(text: str, host_link: str) -> None:
    assert stated_network(text).host_link == host_link


def test_options_reach_the_network() -> None:
    network = stated_network("1GbE name=Mgmt rails=2 timestamps=off ip=6 mtu=9000")
    assert (network.name, network.rails, network.timestamps) == ("Mgmt", 2, False)
    assert (network.subnet, network.mtu_bytes) == ("::/0", 9000)
    assert network.assumed == ()


def test_what_was_not_stated_is_assumed_and_the_sum_says_so() -> None:
    network = stated_network("1GbE")
    assert network.assumed == ("mtu", "timestamps", "ip")
    found = ceiling(network)
    assert isinstance(found, Ceiling)
    steps = {step.label: step.expression for step in found.steps}
    assert steps["MTU"] == "assumed: not stated"
    assert "TCP timestamps, assumed: not stated" in steps["payload per packet"]
    told = ceiling(stated_network("1GbE mtu=1500 timestamps=on ip=4"))
    assert isinstance(told, Ceiling)
    assert not any("assumed" in step.expression for step in told.steps)


def test_adapters_own_tcp_has_no_timestamps_unless_stated() -> None:
    assert not stated_network("10GbE iwarp").timestamps
    assert stated_network("10GbE iwarp timestamps=on").timestamps
    assert stated_network("10GbE").timestamps


def test_links_of_a_gpu_are_all_unless_fewer_join_the_pair() -> None:
    assert stated_network("nvlink4").rails == 18
    assert stated_network("nvlink2 links=2").rails == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no network of a known rate"),
        ("mtu=9000", "no network of a known rate"),
        ("roce", "no network of a known rate"),
        ("infiniband", "no network of a known rate"),
        ("token-ring", "'token-ring' is not understood"),
        ("0.5 Mb/s", "is not understood"),
        ("efa", "100 (EFA-100), 170 (EFA-170)"),
        ("omni-path", "100 (OPA100)"),
        ("infiniband 33 Gb/s", "56 (FDR)"),
        ("edr 40GbE", "state one network"),
        ("sligshot-11", "did you mean slingshot-11"),
        ("25GbE mut=9000", "did you mean mtu=?"),
        ("25GbE bogus=1", "'bogus=1' is not understood"),
        ("25GbE 40GbE", "state one"),
        ("edr opa100", "state one network"),
        ("edr hdr", "state one"),
        ("edr 3x", "widths: 1x, 2x, 4x, 8x, 12x"),
        ("25GbE 4x", "width 4 means nothing for 25GbE; for 4 links write rails=4"),
        ("12.5 GB/s", "12.5 GB/s counts bytes; did you mean 100 Gb/s?"),
        ("25 gbytes/s", "did you mean 200 Gb/s?"),
        ("edr roce", "transport roce-v2 means nothing"),
        ("opa100 infiniband", "means nothing"),
        ("edr timestamps=off", "means nothing"),
        ("nvlink4 mtu=9000", "means nothing"),
        ("nvlink4 pcie 3.0 x8", "state one network"),
        ("1GbE timestamps=maybe", "expected on or off"),
        ("1GbE ip=5", "expected 4 or 6"),
        ("1GbE mtu=much", "expected a whole number"),
        ("1GbE mtu=10", "not between"),
        ("1GbE rails=0", "expected a whole number"),
        ("edr mtu=1500", "known: 256, 512, 1024, 2048, 4096"),
        ("100GbE roce mtu=300", "not between 352"),
        ("edr pcie=9x8", "is no PCIe link"),
        ("edr pcie=fast", "is no PCIe link"),
        ("edr mps=256", "is no PCIe link"),
        ("edr x8", "is no PCIe link"),
        ("pcie 3.0", "needs a width"),
        ("pcie 3.0 x3", "needs a width"),
        ("cxl 2.0", "needs a width"),
    ],
)
def test_statement_is_refused_with_what_was_expected(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        stated_network(text)
    assert says in str(refused.value)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_misspelt_option_is_offered_in_one_short_line(option: str) -> None:
    with pytest.raises(UsageError) as refused:
        stated_network(f"25GbE {option}x=1")
    assert f"{option}=" in str(refused.value)
    assert len(str(refused.value)) < 160


_SCRAPS = (
    "mtu=9000", "mtu=256", "rails=2", "links=2", "pcie=3x8", "mps=256", "ip=6", "timestamps=off",
    "name=a", "pcie", "3.0", "x8", "x16", "4x", "2x", "roce", "iwarp", "ib", "tcp", "=", "mtu=",
    "x", "25", "GbE", "nvlink", "efa-",
)  # fmt: skip
_WORDS = st.sampled_from((*known_names(), *_SCRAPS))


@given(st.one_of(st.text(max_size=40), st.lists(_WORDS, max_size=5).map(" ".join)))
def test_any_text_is_a_network_with_a_ceiling_or_refused(text: str) -> None:
    try:
        network = stated_network(text)
    except UsageError:
        return
    assert isinstance(ceiling(network), Ceiling)
