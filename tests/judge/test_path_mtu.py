"""Streams over verbs are judged against the ceiling of the path MTU that their queue pairs had."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests import rdma_nodes as nodes
from tests.judge import planted
from tests.judge.ceiling.test_path_mtu import launch
from tests.judge.ceiling.test_path_mtu import verbs as over
from tests.judge.planted import by_rule
from tests.judge.test_rdma_networks import checked, ports
from tests.nodes.discover.test_ports import alike, named

from fabricgauge.cli.verbs import cli
from fabricgauge.judge.ceiling.ethernet import roce_v2
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

FABRIC = alike((nodes.ROCE[0]._replace(gt_s="16.0", lanes=16),))
NETWORK = named(FABRIC, "roce")


def limit(mtu: int) -> float:
    of = roce_v2(msgspec.structs.replace(NETWORK, stated_mtu_bytes=mtu))
    assert isinstance(of, Ceiling)
    return of.payload_bytes_per_s


def measured(rate: float, *mtus: int) -> Run:
    """Three launches; without MTUs MPI carried the data."""
    run = checked(FABRIC, "roce", 3.9e-6, rate, ports(FABRIC, "roce"))
    headers = [launch(NETWORK, over(mtu)).header for mtu in mtus] or [None] * 3
    launches = tuple(
        msgspec.structs.replace(one, header=header)
        for one, header in zip(run.launches, headers, strict=True)
    )
    return msgspec.structs.replace(run, launches=launches)


def verdicts(rate: float, *mtus: int) -> tuple[Verdict, ...]:
    run = measured(rate, *mtus)
    limits = ceilings(run.fabric.networks, run.launches)
    return judgement(Context(run, limits)).verdicts


@pytest.mark.parametrize(
    ("share", "of", "mtus", "outcome"),
    [
        (0.99, 256, (256, 256, 256), Outcome.PASS),
        (0.99, 256, (), Outcome.FAIL),
        (0.99, 256, (4096, 4096, 4096), Outcome.FAIL),
        (0.7, 256, (256, 256, 256), Outcome.FAIL),
        (0.99, 4096, (4096, 4096, 4096), Outcome.PASS),
        (0.99, 256, (256, 4096, 4096), Outcome.INCONCLUSIVE),
        (0.99, 4096, (256, 4096, 4096), Outcome.PASS),
        (0.7, 256, (256, 4096, 4096), Outcome.FAIL),
    ],
)
def test_a_stream_is_held_against_its_own_mtu(
    share: float, of: int, mtus: tuple[int, ...], outcome: Outcome
) -> None:
    found = verdicts(share * limit(of), *mtus)
    assert planted.outcomes(found, "fraction") == {outcome}
    assert planted.outcomes(found, "above-ceiling") == {Outcome.PASS}


def test_more_than_small_packets_can_carry_is_invalid() -> None:
    found = verdicts(0.99 * limit(4096), 256, 256, 256)
    assert planted.outcomes(found, "above-ceiling") == {Outcome.INVALID}


def test_several_mtus_are_named_with_what_each_would_say() -> None:
    one, *_ = by_rule(verdicts(0.99 * limit(256), 256, 4096, 4096), "fraction")
    assert "verbs:path-mtu=1024" in one.remedy
    assert [line for line in one.evidence if "with an RDMA MTU of" in line] == [
        "with an RDMA MTU of 256 it is 99.0 % of the ceiling: PASS",
        "with an RDMA MTU of 4096 it is 76.5 % of the ceiling: FAIL",
    ]


def test_a_stored_run_over_verbs_is_read_and_judged_the_same(tmp_path: Path) -> None:
    run = measured(0.99 * limit(256), 256, 256, 256)
    directory = RunDirectory.create(tmp_path)
    about = run_files.About(run.started_utc, run.command, {})
    run_files.write_beginning(directory, about, run.fabric, run.plan)
    for one in run.launches:
        assert one.header
        run_files.append_records(directory, one.number, 1, (one.header,))
        run_files.append_records(directory, one.number, 1, one.placements)
        run_files.append_records(directory, one.number, 1, one.measurements)
        started = run_files.LaunchLine(one.number, 1, one.network, one.nodes, one.ended, ())
        run_files.append_launch(directory, started)
    directory.finish()
    words = ["report", str(directory.path), "--format"]
    told = json.loads(CliRunner().invoke(cli, [*words, "json"]).stdout)
    assert told["ceilings"]["roce"]["payload_per_packet_bytes"] == 256
    assert {one["outcome"] for one in told["verdicts"] if one["rule"] == "fraction"} == {"PASS"}
    assert "path MTU" in CliRunner().invoke(cli, [*words, "html"]).stdout
