"""A cluster, its faults and its noise, checked as a whole, and the text that plants them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.simulate.simulator import planted_text, simulation
from fabricgauge.model.errors import UsageError


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("rate node-32 0.5", "no node 'node-32'"),
        ("pair node-1 c7 0.5", "no node 'c7'"),
        ("uplink leaf-0 0.5", "it has none"),
    ],
)
def test_a_fault_fails_when_the_cluster_has_no_such_part(fault: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        simulation("star32", [fault])


def test_an_uplink_fails_when_the_group_is_unknown() -> None:
    with pytest.raises(UsageError, match="leaf-0 to leaf-3"):
        simulation("fat-tree:64", ["uplink leaf-4 0.5"])


def test_a_link_cannot_flap_in_two_ways() -> None:
    with pytest.raises(UsageError, match="twice"):
        simulation("star32", ["flap node-1 0.5", "flap node-1 0.1"])


@pytest.mark.parametrize(("seed", "noise"), [(-1, 0.0), (2**64, 0.0), (1, -0.1), (1, 0.6)])
def test_seed_and_noise_fail_when_out_of_range(seed: int, noise: float) -> None:
    with pytest.raises(UsageError):
        simulation("star32", seed=seed, noise=noise)


def test_every_fault_has_its_line() -> None:
    faults = [
        "rate node-1 0.25", "rate-in node-2 0.5", "latency-out node-3 +400ns",
        "uplink-out leaf-1/2 0.5", "pair node-1 node-2 0.9", "noise node-4 0.2",
        "flap node-5 0.1 2ms 0.25",
    ]  # fmt: skip
    cluster = simulation("fat-tree:32", faults, seed=7, noise=0.02)
    text = planted_text(cluster, "/tmp/a b/platform.xml")
    leaf = " ".join(f"node-{number}" for number in range(8, 16))
    assert text.splitlines() == [
        "platform /tmp/a b/platform.xml",
        "overhead 7.1e-07",
        "seed 7",
        "deviation 0.02",
        "rate out node-1 0.25",
        "rate in node-1 0.25",
        "rate in node-2 0.5",
        "latency out node-3 4e-07",
        f"uplink out 2 0.5 {leaf}",
        "pair node-1 node-2 0.9",
        "noise node-4 0.2",
        "flap node-5 0.1 0.002 0.25",
    ]


@given(st.floats(1e-6, 0.999), st.integers(0, 2**64 - 1))
def test_numbers_are_planted_to_the_last_digit(factor: float, seed: int) -> None:
    cluster = simulation("star:4", [f"rate-out node-1 {factor!r}"], seed=seed)
    lines = planted_text(cluster, "p").splitlines()
    assert float(lines[-1].split()[-1]) == factor
    assert int(lines[2].split()[-1]) == seed


def test_every_launch_has_noise_of_its_own_and_the_first_has_that_of_the_seed() -> None:
    cluster = simulation("star:4", seed=7, noise=0.02)
    assert cluster.in_launch(1) == cluster
    seeds = {cluster.in_launch(number).seed for number in range(1, 10)}
    assert len(seeds) == 9
    assert all(0 <= seed < 2**64 for seed in seeds)
