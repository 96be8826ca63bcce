"""Short round robins on simulated clusters, and their figures by pair of nodes."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fabricgauge.features.simulate.simulator import prepared, simulation
from fabricgauge.model.engine import Engine
from fabricgauge.nodes import process

#: One sample for each pair: time does not pass by chance in a simulator.
ONE_SAMPLE = "budget_s=1e-9"
LATENCY = f"lat pattern=all_pairs_latency bytes=8 window=1 origin=0 target=0 {ONE_SAMPLE}\n"
MESSAGE_BYTES = 2**20
BANDWIDTH = (
    f"bw pattern=all_pairs_bandwidth bytes={MESSAGE_BYTES} window=1 origin=0 target=0"
    f" {ONE_SAMPLE}\n"
)

#: A star's link, and the way of a small message: two links' latency, the ends' software, and 8
#: bytes with SMPI's 16 at the rate of the link.
LINK_BIT_S = 98.5e9
ONE_WAY_S = 2 * 0.315e-6 + 0.3e-6 + 24 * 8 / LINK_BIT_S

FOOTER = '{"record":"footer"'


class Simulated(NamedTuple):
    """The engine's records; ``trouble`` is what SimGrid said if the last one is missing."""

    lines: tuple[str, ...]
    trouble: str


Times = dict[tuple[str, str], float]


def run(
    engine: Engine,
    platform: str,
    faults: Sequence[str] = (),
    *,
    cases: str = LATENCY + BANDWIDTH,
    seed: int = 1,
    noise: float = 0.0,
    hosts: Sequence[str] = (),
    options: Sequence[str] = ("--iterations", "1"),
) -> Simulated:
    cluster = simulation(platform, faults, seed=seed, noise=noise)
    ranks = tuple(hosts) or cluster.platform.nodes
    with tempfile.TemporaryDirectory() as name:
        command = prepared(cluster, engine, ranks, Path(name), options)
        done = process.run(
            command.argv, timeout_s=120, env=command.env, stdin=f"{cases}end\n", cwd=Path(name)
        )
    is_whole = done.exit_code == 0 and FOOTER in done.stdout
    return Simulated(tuple(done.stdout.splitlines()), "" if is_whole else done.stderr or "nothing")


def times(done: Simulated, case: str) -> Times:
    """Median time of each directed pair of nodes, in seconds; latency counts for both."""
    assert done.trouble == ""
    records = [json.loads(line) for line in done.lines]
    hosts = {one["rank"]: one["host"] for one in records if one["record"] == "placement"}
    found: Times = {}
    for one in records:
        if one["record"] == "round" and one["case"] == case:
            rows = zip(one["origins"], one["targets"], one["median_ps"], strict=True)
            for origin, target, median_ps in rows:
                found[hosts[origin], hosts[target]] = median_ps * 1e-12
                if case == "lat":
                    found[hosts[target], hosts[origin]] = median_ps * 1e-12
    return found


def stream_s(rate_bit_s: float = LINK_BIT_S, one_way_s: float = ONE_WAY_S) -> float:
    """What a message of the bandwidth case takes with its acknowledgement."""
    return 8 * MESSAGE_BYTES / rate_bit_s + 2 * one_way_s
