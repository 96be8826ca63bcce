"""Checks of MPI on RDMA ports: what passes, and what does not.

The fabrics are discovered from answers of such nodes (tests/rdma_nodes.py). Latencies and,
where they are at least 95 % of the ceiling, streams are the published ones (see
docs/reference/references.md).
"""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests import rdma_nodes as nodes
from tests.judge import planted
from tests.judge.planted import Sample, Split, by_rule, measurement, without_sockets
from tests.nodes.discover.test_ports import alike
from tests.rdma_nodes import Card

from fabricgauge.check.plan.plan import plan
from fabricgauge.cli.verbs import cli
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.judged import RunVerdicts
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

#: By cluster: cards, network, half round trip in s, stream in bytes/s per direction.
CLUSTERS: dict[str, tuple[tuple[Card, ...], str, float, float]] = {
    "HDR": (nodes.HDR, "infiniband", 1.61e-6, 24.4e9),
    "NDR rail": (nodes.NDR, "infiniband-rail2", 1.2e-6, 48.9e9),
    "NDR two rails": (nodes.NDR, "infiniband", 1.2e-6, 97.2e9),
    "RoCE behind PCIe 3 x8": (nodes.ROCE, "roce", 3.9e-6, 7.4e9),
    "OPA100": (nodes.OPA, "omni-path", 0.93e-6, 12.3806e9),
    "EFA": (nodes.EFA, "efa-rail1", 14e-6, 12.1e9),
    "Slingshot": (nodes.SLINGSHOT, "slingshot", 2e-6, 23.985e9),
}


def checked(
    of: Fabric, network: str, half_rtt_s: float, rate: float, split: Split, *, tcp: bool = False
) -> Run:
    """Three launches on a network, with its octets on the interfaces of ``split``."""

    def measured() -> tuple[Measurement, ...]:
        return tuple(measurement(_sample(*one), split=split) for one in _CASES)

    def _sample(pattern: str, size: int, origin: int) -> Sample:
        time_s = half_rtt_s + size / rate
        if pattern != "latency":
            time_s = planted.WINDOW * max(0.1e-6, size / rate)
        return Sample(pattern, size, origin, time_s)  # type: ignore[arg-type]

    launches = tuple(planted.launch(measured(), number, network) for number in (1, 2, 3))
    done = launches if tcp else without_sockets(launches)
    return planted.run(done, of=of, plan=planted.plan_of(done))


_CASES = [
    (pattern, size, origin)
    for pattern, origin in (("latency", 0), ("bandwidth", 0), ("bandwidth", 1))
    for size in planted.SIZES
]


def judged(of: Run) -> RunVerdicts:
    limits = ceilings(of.fabric.networks)
    return judgement(Context(of, limits, DEFAULTS))


def ports(of: Fabric, network: str) -> Split:
    """The network's ports of a node, each with its share."""
    found = next(one for one in of.networks if one.name == network)
    rails = found.rails_of("c1")
    return {one.interface: 1 / len(rails) for one in rails}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_sound_native_check_passes(cluster: str) -> None:
    cards, network, half_rtt_s, rate = CLUSTERS[cluster]
    of = alike(cards)
    found = judged(checked(of, network, half_rtt_s, rate, ports(of, network)))
    assert found.overall is Outcome.PASS, [
        (one.rule, one.summary) for one in found.verdicts if one.outcome is not Outcome.PASS
    ]
    assert {one.outcome for one in by_rule(found.verdicts, "path")} == {Outcome.PASS}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_stored_native_run_is_read_and_judged_the_same(cluster: str, tmp_path: Path) -> None:
    cards, network, half_rtt_s, rate = CLUSTERS[cluster]
    of = alike(cards)
    run = checked(of, network, half_rtt_s, rate, ports(of, network))
    directory = RunDirectory.create(tmp_path)
    about = run_files.About(run.started_utc, run.command, {})
    run_files.write_beginning(directory, about, run.fabric, run.plan)
    for one in run.launches:
        run_files.append_records(directory, one.number, 1, one.placements)
        run_files.append_records(directory, one.number, 1, one.measurements)
        started = run_files.LaunchLine(one.number, 1, one.network, one.nodes, one.ended, ())
        run_files.append_launch(directory, started)
    directory.finish()
    done = CliRunner().invoke(cli, ["report", str(directory.path), "--format", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["overall"] == "PASS"
    assert of.networks == run_files.load(directory).fabric.networks


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_half_of_the_ceiling_fails(cluster: str) -> None:
    cards, network, half_rtt_s, rate = CLUSTERS[cluster]
    of = alike(cards)
    found = judged(checked(of, network, half_rtt_s, rate / 2, ports(of, network)))
    assert found.overall is Outcome.FAIL
    assert Outcome.FAIL in planted.outcomes(found.verdicts, "fraction")


def test_a_stream_above_what_the_slot_lets_through_is_invalid() -> None:
    of = alike(nodes.ROCE)
    found = judged(checked(of, "roce", 3.9e-6, 12.1e9, ports(of, "roce")))
    assert planted.outcomes(found.verdicts, "above-ceiling") == {Outcome.INVALID}


def test_bytes_on_the_other_rail_are_told() -> None:
    of = alike(nodes.NDR)
    found = judged(checked(of, "infiniband-rail1", 1.2e-6, 48.9e9, {"mlx5_1:1": 1.0}))
    (path,) = by_rule(found.verdicts, "path")
    assert path.outcome is Outcome.INVALID
    assert "crossed mlx5_1:1, not mlx5_0:1" in path.summary


@pytest.mark.parametrize("split", [
    {"mlx5_0:1": 1.0}, {"mlx5_0:1": 0.999, "mlx5_1:1": 0.001},
], ids=["nothing", "what opens connections"])  # fmt: skip
def test_a_rail_that_carried_nothing_is_named_where_all_were_meant(split: Split) -> None:
    of = alike(nodes.NDR)
    found = judged(checked(of, "infiniband", 1.2e-6, 48.9e9, split))
    (path,) = by_rule(found.verdicts, "path")
    assert path.outcome is Outcome.WARN
    assert "mlx5_1:1" in path.summary


def test_bytes_on_the_interface_of_another_network_are_invalid() -> None:
    of = alike(nodes.HDR)
    found = judged(checked(of, "infiniband", 11e-6, 2e9, {"eth0": 1.0}, tcp=True))
    assert planted.outcomes(found.verdicts, "path") == {Outcome.INVALID}
    assert "MPI used TCP" in planted.the(found.verdicts, "path", Outcome.INVALID).cause


@pytest.mark.parametrize("split", [{"eth0": 1.0}, {}], ids=["tcp", "shared memory"])
def test_what_took_the_messages_instead_of_the_ports_is_named(split: Split) -> None:
    """As UCX falls back where it may: to TCP, or to memory of one node."""
    run = checked(alike(nodes.HDR), "infiniband", 11e-6, 2e9, split, tcp=bool(split))
    used = "tcp/eth0" if split else "sysv/memory"
    run = msgspec.structs.replace(run, environment={"carried by, over infiniband": used})
    found = judged(run)
    assert found.overall is Outcome.INVALID
    (path,) = by_rule(found.verdicts, "path")
    assert path.outcome is Outcome.INVALID
    assert f"MPI reports {used} as the transport" in path.summary
    assert ("MPI used TCP" in path.cause) == bool(split)


@pytest.mark.parametrize(("tcp", "outcome"), [(False, Outcome.PASS), (True, Outcome.INVALID)])
def test_frames_of_a_port_may_count_on_its_interface_but_tcp_is_no_rdma(
    tcp: bool, outcome: Outcome
) -> None:
    of = alike(nodes.ROCE)
    found = judged(checked(of, "roce", 11e-6, 7.4e9, {"ens1f0np0": 1.0}, tcp=tcp))
    assert planted.outcomes(found.verdicts, "path") == {outcome}


def test_a_rank_far_from_the_adapter_is_the_likely_cause_of_a_low_stream() -> None:
    of = alike(nodes.NDR)
    run = checked(of, "infiniband-rail2", 1.2e-6, 25e9, ports(of, "infiniband-rail2"))
    low = [one for one in by_rule(judged(run).verdicts, "fraction") if one.outcome is Outcome.FAIL]
    assert "NUMA node 0, but the adapter of mlx5_1:1 is on NUMA node 1" in low[0].cause


def test_a_rank_whose_numa_node_is_not_known_is_not_taken_to_be_on_node_0() -> None:
    of = alike(nodes.NDR)
    run = checked(of, "infiniband-rail2", 1.2e-6, 25e9, ports(of, "infiniband-rail2"))
    nowhere = Skipped("its kernel tells of no NUMA nodes")
    launches = tuple(
        msgspec.structs.replace(
            launch,
            placements=tuple(
                msgspec.structs.replace(one, numa_node=nowhere) for one in launch.placements
            ),
        )
        for launch in run.launches
    )
    found = judged(msgspec.structs.replace(run, launches=launches)).verdicts
    low = [one for one in by_rule(found, "fraction") if one.outcome is Outcome.FAIL]
    assert low
    assert "NUMA" not in low[0].cause


def test_ports_with_different_mtus_are_a_warning_and_the_sum_takes_the_fastest() -> None:
    of = alike(nodes.HDR)
    native = of.networks[1]
    mixed = msgspec.structs.replace(
        native, assumed=(),
        members=(native.members[0], msgspec.structs.replace(native.members[1], mtu_bytes=2048)),
    )  # fmt: skip
    fabric = msgspec.structs.replace(of, networks=(mixed,))
    found = judged(checked(fabric, "infiniband", 1.61e-6, 24.4e9, {"mlx5_0:1": 1.0}))
    assert planted.outcomes(found.verdicts, "mtu") == {Outcome.WARN}


def test_a_plan_pins_each_rail_alone_and_all_together() -> None:
    of = alike(nodes.NDR)
    limits = ceilings(of.networks)
    assert all(isinstance(one, Ceiling) for one in limits.values())
    made = plan(
        MeasurementRequest(launches=1), ("c1", "c2"),
        tuple((one, limits[one.name]) for one in of.networks),
    )  # fmt: skip
    assert [one.ports for one in made.launches] == [
        ("mlx5_0:1", "mlx5_1:1"), ("mlx5_0:1",), ("mlx5_1:1",)
    ]  # fmt: skip
    assert {one.technology for one in made.launches} == {"infiniband"}
    assert {one.subnet for one in made.launches} == {None}
