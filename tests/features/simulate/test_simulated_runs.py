"""The engine on simulated clusters: what is planted is read, exactly, and nothing else."""

from pathlib import Path
from statistics import median

import msgspec
import pytest
from tests.features.simulate.running import (
    BANDWIDTH,
    LATENCY,
    LINK_BIT_S,
    MESSAGE_BYTES,
    ONE_WAY_S,
    Times,
    run,
    stream_s,
    times,
)

from fabricgauge.features.simulate.simulator import simulation
from fabricgauge.model.engine import Engine
from fabricgauge.model.simulation import Platform

pytestmark = pytest.mark.engine

#: The engine's clock has nanoseconds, of which a half round trip has 930.
EXACT = 2e-3


def _of(found: Times, node: str, *, end: int) -> list[float]:
    """Times of the pairs that have ``node`` as their origin (0) or target (1)."""
    return [time for pair, time in found.items() if pair[end] == node]


def test_a_healthy_star_is_uniform(engine: Engine) -> None:
    done = run(engine, "star:5")
    assert '"simulated":true' in done.lines[0]
    assert list(times(done, "lat").values()) == pytest.approx([ONE_WAY_S] * 20, rel=EXACT)
    assert list(times(done, "bw").values()) == pytest.approx([stream_s()] * 20, rel=EXACT)


def test_a_slow_link_is_read_exactly(engine: Engine) -> None:
    found = times(run(engine, "star:5", ["rate node-3 0.25"]), "bw")
    for pair, time in found.items():
        rate_bit_s = LINK_BIT_S * (0.25 if "node-3" in pair else 1)
        assert time == pytest.approx(stream_s(rate_bit_s), rel=EXACT)


def test_one_direction_is_slow_and_the_other_is_not(engine: Engine) -> None:
    found = times(run(engine, "star:5", ["rate-out node-3 0.5"]), "bw")
    assert _of(found, "node-3", end=0) == pytest.approx([stream_s(LINK_BIT_S / 2)] * 4, rel=EXACT)
    assert _of(found, "node-3", end=1) == pytest.approx([stream_s()] * 4, rel=EXACT)


def test_added_latency_is_read_exactly(engine: Engine) -> None:
    found = times(run(engine, "star:5", ["latency node-1 +400ns"]), "lat")
    for pair, time in found.items():
        added_s = 400e-9 if "node-1" in pair else 0
        assert time == pytest.approx(ONE_WAY_S + added_s, rel=EXACT)


def test_one_way_of_added_latency_is_half_of_it_in_a_round_trip(engine: Engine) -> None:
    found = times(run(engine, "star:4", ["latency-in node-1 +400ns"], cases=LATENCY), "lat")
    assert _of(found, "node-1", end=0) == pytest.approx([ONE_WAY_S + 200e-9] * 3, rel=EXACT)


def test_two_faults_at_once_are_both_there(engine: Engine) -> None:
    faults = ["rate-in node-0 0.5", "latency node-4 +100ns"]
    done = run(engine, "star:5", faults)
    slow, late = times(done, "bw"), times(done, "lat")
    assert min(_of(slow, "node-0", end=1)) > 1.9 * max(_of(slow, "node-0", end=0))
    assert _of(late, "node-4", end=0) == pytest.approx([ONE_WAY_S + 100e-9] * 4, rel=EXACT)


def test_a_slow_pair_is_slow_in_one_direction_alone(engine: Engine) -> None:
    found = times(run(engine, "star:4", ["pair node-1 node-2 0.5"], cases=BANDWIDTH), "bw")
    slow = {pair for pair, time in found.items() if time > 1.5 * stream_s()}
    assert slow == {("node-1", "node-2")}


def groups_of(platform: Platform) -> dict[str, str]:
    """The name of each node's group."""
    return {node: one.name for one in platform.topology.groups for node in one.nodes}


def test_the_leaves_of_a_tree_are_read_from_its_latency(engine: Engine) -> None:
    platform = simulation("fat-tree:16").platform
    found = times(run(engine, "fat-tree:16", cases=LATENCY), "lat")
    group = groups_of(platform)
    inside = [time for (one, other), time in found.items() if group[one] == group[other]]
    across = [time for (one, other), time in found.items() if group[one] != group[other]]
    assert inside == pytest.approx([0.93e-6] * len(inside), rel=2 * EXACT)
    assert across == pytest.approx([1.15e-6] * len(across), rel=2 * EXACT)


def test_a_tree_of_two_to_one_carries_49_gbit_across_its_leaves(engine: Engine) -> None:
    """All nodes send at once: two of a leaf share each uplink."""
    found = times(run(engine, "fat-tree:16", cases=BANDWIDTH), "bw")
    group = groups_of(simulation("fat-tree:16").platform)
    rates: dict[bool, list[float]] = {True: [], False: []}
    for (origin, target), time in found.items():
        rates[group[origin] == group[target]].append(8 * MESSAGE_BYTES / time)
    assert median(rates[False]) == pytest.approx(49e9, rel=0.01)
    assert median(rates[True]) == pytest.approx(96.4e9, rel=0.01)


def test_a_degraded_uplink_slows_what_leaves_its_group(engine: Engine) -> None:
    one_at_a_time = BANDWIDTH.replace("budget", "concurrent=1 budget")
    fault = ["uplink-out leaf-1 0.5"]
    platform = simulation("fat-tree:8").platform
    found = times(run(engine, "fat-tree:8", fault, cases=one_at_a_time), "bw")
    group = groups_of(platform)
    for (origin, target), time in found.items():
        leaves = group[origin] == "leaf-1" != group[target]
        assert time > 1.9 * stream_s() if leaves else time < 1.1 * stream_s()


def test_a_single_uplink_slows_some_of_what_leaves_its_group(engine: Engine) -> None:
    one_at_a_time = BANDWIDTH.replace("budget", "concurrent=1 budget")
    found = times(
        run(engine, "fat-tree:16", ["uplink-out leaf-1/0 0.5"], cases=one_at_a_time), "bw"
    )
    slow = {pair for pair, time in found.items() if time > 1.5 * stream_s()}
    group = groups_of(simulation("fat-tree:16").platform)
    assert {group[origin] for origin, _ in slow} == {"leaf-1"}
    assert len(slow) == 4 * 12 / 2


def test_an_uplink_fails_when_the_group_has_fewer(engine: Engine) -> None:
    done = run(engine, "fat-tree:8", ["uplink leaf-1/5 0.5"])
    assert "uplinks, the first is number 0" in done.trouble
    assert done.lines == ()


@pytest.mark.parametrize("name", ["torus:12", "dragonfly:32"])
def test_other_shapes_carry_every_pair(engine: Engine, name: str) -> None:
    found = times(run(engine, name, cases=LATENCY), "lat")
    nodes = len(simulation(name).platform.nodes)
    assert len(found) == nodes * (nodes - 1)
    assert len({round(time * 1e8) for time in found.values()}) > 1


def test_noise_only_slows_and_grows_with_its_deviation(engine: Engine) -> None:
    found = {
        noise: list(times(run(engine, "star:8", noise=noise, cases=LATENCY), "lat").values())
        for noise in (0.01, 0.05)
    }
    for noise, seen in found.items():
        assert min(seen) > (1 - EXACT) * ONE_WAY_S
        # The mean of |z| is sqrt(2 / pi) = 0.80; a ping-pong has the mean of two.
        assert median(seen) == pytest.approx((1 + 0.8 * noise) * ONE_WAY_S, rel=0.5 * noise)


def test_a_noisy_node_is_noisier_than_the_others(engine: Engine) -> None:
    found = times(run(engine, "star:8", ["noise node-2 0.3"], noise=0.01, cases=LATENCY), "lat")
    others = [time for pair, time in found.items() if "node-2" not in pair]
    assert median(_of(found, "node-2", end=0)) > max(others)


def test_a_flapping_link_has_its_mean_over_long_messages(engine: Engine) -> None:
    faults = ["flap node-1 0.5 1us 0.5"]
    found = times(run(engine, "star:4", faults, cases=BANDWIDTH), "bw")
    for pair, time in found.items():
        share = 0.75 if "node-1" in pair else 1
        assert time == pytest.approx(stream_s(share * LINK_BIT_S), rel=0.01)


@pytest.mark.parametrize(("share", "factor"), [("0.9999", 0.1), ("1e-6", 1.0)])
def test_a_flapping_link_is_low_or_whole_for_short_messages(
    engine: Engine, share: str, factor: float
) -> None:
    found = times(run(engine, "star:4", [f"flap node-1 0.1 1s {share}"], cases=BANDWIDTH), "bw")
    for pair, time in found.items():
        rate_bit_s = LINK_BIT_S * (factor if "node-1" in pair else 1)
        assert time == pytest.approx(stream_s(rate_bit_s), rel=EXACT)


def test_the_same_seed_gives_the_same_figures_and_another_does_not(engine: Engine) -> None:
    def figures(seed: int) -> tuple[str, ...]:
        done = run(engine, "star:6", ["rate node-2 0.9"], seed=seed, noise=0.02)
        assert done.trouble == ""
        return done.lines[1:]  # the header has the time of day

    assert figures(1) == figures(1)
    assert figures(1) != figures(2)


def test_a_fault_leaves_the_noise_of_other_pairs_as_it_was(engine: Engine) -> None:
    without = times(run(engine, "star:6", noise=0.02, cases=LATENCY), "lat")
    with_it = times(
        run(engine, "star:6", ["latency node-2 +1us"], noise=0.02, cases=LATENCY), "lat"
    )
    for pair, time in without.items():
        added_s = 1e-6 if "node-2" in pair else 0
        # Two readings of the clock are rounded, each to a nanosecond; what is added is noisy, too.
        assert with_it[pair] - time == pytest.approx(added_s, rel=0.1, abs=1.1e-9)


def test_data_that_are_checked_arrive_whole(engine: Engine) -> None:
    cases = f"x pattern=bandwidth bytes={2**20} window=2 origin=0 target=1 budget_s=0.01\n"
    done = run(engine, "star:2", cases=cases, options=("--iterations", "2", "--check-data"))
    assert done.trouble == ""
    (case,) = (msgspec.json.decode(line) for line in done.lines if '"record":"case"' in line)
    assert case["data_check"] == {
        "requested": True, "ok": True, "first_bad_offset_bytes": None, "detail": "", "samples": 7,
    }  # fmt: skip


def test_ranks_may_share_a_node(engine: Engine) -> None:
    hosts = ("node-0", "node-0", "node-1", "node-1")
    pair = "pattern=latency bytes=8 window=1 origin=0 budget_s=0.01"
    cases = f"near {pair} target=1\nfar {pair} target=2\n"
    done = run(engine, "star:2", cases=cases, hosts=hosts, options=("--iterations", "5"))
    assert done.trouble == ""
    near, far = (msgspec.json.decode(line) for line in done.lines if '"record":"case"' in line)
    assert near["times"]["median_s"] < far["times"]["median_s"]


def test_a_platform_file_of_the_users_own_works(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "own.xml"
    path.write_text(
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="1-4" speed="1Gf"'
        ' bw="25Gbps" lat="1us" sharing_policy="SPLITDUPLEX"/></platform>\n'
    )
    found = times(run(engine, str(path), ["rate-out n2 0.5"]), "bw")
    assert _of(found, "n2", end=0) == pytest.approx([stream_s(12.5e9, 2.3e-6)] * 3, rel=EXACT)
    assert _of(found, "n2", end=1) == pytest.approx([stream_s(25e9, 2.3e-6)] * 3, rel=EXACT)


def test_a_run_fails_when_the_platform_is_not_to_be_loaded(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "own.xml"
    path.write_text('<platform version="4.1"><host id="a"/><host id="b"/></platform>\n')
    done = run(engine, str(path))
    assert done.trouble != ""
