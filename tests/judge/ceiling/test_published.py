"""Published figures are below their ceilings and not far; known-wrong ones are above."""

import pytest
from tests.judge.ceiling.sums import of

MB, MIB, GBIT = 1e6, 2**20, 1e9 / 8


@pytest.mark.parametrize(
    ("network", "published_bytes_s", "least_share"),
    [
        ("1GbE", 116.96 * MB, 0.99),  # validation guide, OSU put_bw
        ("1GbE", 115.62 * MB, 0.98),  # validation guide, IMB PingPong
        ("10GbE iwarp", 1111.65 * MIB, 0.99),  # iWARP report; IMB 3.2 counts 2^20
        ("edr", 11_728 * MIB, 0.98),
        ("edr", 11363.68 * MIB, 0.95),  # tutorial, ib_write_bw at 16 KiB
        ("hdr", 23_477 * MB, 0.94),
        ("opa100", 12_380.6 * MB, 0.99),
        ("opa100", 96.9 * GBIT, 0.97),  # Omni-Path evaluation, MPI
        ("opa100 ipoib connected mtu=65520", 99.2 * GBIT, 0.995),  # Omni-Path evaluation, iperf
        ("slingshot-11", 23_985 * MB, 0.95),
        ("100GbE roce", 12_171 * MB, 0.99),
    ],
)
def test_published_figure_is_below_its_ceiling_and_near(
    network: str, published_bytes_s: float, least_share: float
) -> None:
    share = published_bytes_s / of(network).payload_bytes_per_s
    assert least_share < share <= 1.0


@pytest.mark.parametrize(
    ("network", "published_bytes_s", "least_share"),
    [
        ("10GbE iwarp", 2224.11 * MIB, 0.99),
        ("slingshot-11", 42_034 * MB, 0.8),
        ("100GbE roce", 24_394 * MB, 0.99),
    ],
)
def test_published_sum_of_both_directions_is_below_twice_the_ceiling(
    network: str, published_bytes_s: float, least_share: float
) -> None:
    both = 2 * of(network).payload_bytes_per_s
    assert least_share < published_bytes_s / both <= 1.0


@pytest.mark.parametrize(
    ("network", "claimed_bytes_s"),
    [
        ("40GbE", 4986.11 * MB),  # validation guide: shared memory, called 40 Gb/s Ethernet
        ("1GbE mtu=1500", 1e9 / 8),  # a whole 1 Gb/s of payload does not fit the frames
        ("edr mtu=256", 11_728 * MIB),
    ],
)
def test_figure_that_the_network_cannot_carry_is_above_its_ceiling(
    network: str, claimed_bytes_s: float
) -> None:
    assert claimed_bytes_s > of(network).payload_bytes_per_s


def test_ceiling_of_1gbe_is_the_one_that_the_guide_should_have_compared_with() -> None:
    found = of("1GbE")
    assert (found.payload_per_packet_bytes, found.wire_bytes_per_packet) == (1448, 1538)
    assert round(116.96 * MB / found.payload_bytes_per_s, 3) == 0.994


def test_figure_of_the_tutorials_second_generation_of_efa_is_a_card_of_its_own() -> None:
    assert of("efa-170").payload_bytes_per_s == 170 * GBIT


@pytest.mark.parametrize(
    ("network", "per_gpu_both_directions"),
    [("nvlink2", 300e9), ("nvlink3", 600e9), ("nvlink4", 900e9), ("nvlink5", 1800e9)],
)
def test_nvlink_table_of_the_tutorial_sums_both_directions(
    network: str, per_gpu_both_directions: float
) -> None:
    assert 2 * of(network).payload_bytes_per_s == per_gpu_both_directions
