"""What jobs left in the run directory, or did not."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.check.plan.test_pair_jobs import TEMPLATE, names
from tests.features.jobs.test_pair_queue import ENGINE

from fabricgauge.check.plan.round_robin import pair_plan
from fabricgauge.check.target import Target
from fabricgauge.features.jobs import submit
from fabricgauge.features.jobs.attempts import ClaimedAttempts, end_of_launch, find_attempts
from fabricgauge.features.jobs.collect import GaveUp, collect_results
from fabricgauge.features.jobs.job import limit_s
from fabricgauge.features.jobs.slurm.slurm import JobState
from fabricgauge.features.jobs.submit import MAX_LOOKS, wait_for_files, write_rest_job
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Topology
from fabricgauge.model.finding import Finding
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.measurement import Footer
from fabricgauge.model.plan import Case, PlannedLaunch, Stopping
from fabricgauge.model.progress import SILENT
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes import process
from fabricgauge.nodes.process import Completed
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import (
    About,
    LaunchLine,
    ResultLine,
    append_job,
    append_records,
    read_batch,
    write_batch,
)

TARGET = Target(HostAccess("slurm", ()), MeasurementRequest(), DEFAULTS)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory.create(tmp_path)
    batch = Batch(Request(2), "slurm", None, False, (), (), False, Topology())
    write_batch(made, About("", (), {}), batch)
    append_job(made, BatchJob("7", "job-1", "", (), "quick", Stopping(0.01, 0.95), False))
    return made


def test_a_launch_has_time_for_ranks_that_wait_for_a_processor_in_each_case() -> None:
    def limit_of(message_bytes: int, count: int) -> int:
        case = Case("a", "latency", message_bytes, 1, 0, 1, 0.5)
        return limit_s(PlannedLaunch(1, None, None, ("n1", "n2"), (case,) * count))

    assert limit_of(8, 100) - limit_of(8, 0) == 250
    assert limit_of(65536, 100) - limit_of(65536, 0) == 75


def attempt(directory: RunDirectory, **files: str) -> Path:
    folder = directory.path / "raw" / "attempt-1"
    folder.mkdir()
    for name, text in {"job": "7\n", "folder": "job-1\n", "nodes": "c1\nc2\n", **files}.items():
        (folder / name).write_text(text)
    return folder


def test_what_slurm_says_of_a_job_is_known_by_slurms_own_words(directory: RunDirectory) -> None:
    said = (
        "JobId=7 JobName=a b UserId=root(0) Account=physics QOS=(null) Restarts=0"
        " TimeLimit=00:10:00 Partition=normal ReqNodeList=c9 NodeList=c[1-2] TRES=cpu=2,node=2"
        " Features=ib&hdr OverSubscribe=NO WorkDir=/x\n"
    )
    attempt(directory, slurm=said)
    (only,) = find_attempts(directory.path / "raw")
    assert only.facts() == {
        "Slurm JobId": "7", "Slurm Partition": "normal", "Slurm Account": "physics",
        "Slurm Features": "ib&hdr", "Slurm OverSubscribe": "NO", "Slurm TimeLimit": "00:10:00",
        "Slurm NodeList": "c[1-2]", "Slurm TRES": "cpu=2,node=2", "Slurm Restarts": "0",
    }  # fmt: skip


def test_a_collector_that_was_ended_in_the_middle_takes_the_rest(directory: RunDirectory) -> None:
    folder = directory.path / "raw" / "launch-01-1"
    folder.mkdir(parents=True)
    lines = [f'{{"record":"footer","cases":{n},"wall_s":1.0}}' for n in range(5)]
    (folder / "stdout.jsonl").write_text("\n".join(lines))
    launch = PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c2"), ())
    append_records(directory, 1, 1, [Footer(n, 1.0) for n in range(2)])
    ClaimedAttempts(directory).claim(launch, 1, folder, "")
    ClaimedAttempts(directory).claim(launch, 1, folder, "")
    kept, _ = directory.read_lines("results.jsonl", msgspec.json.Decoder(ResultLine).decode)
    assert [one.record for one in kept] == [Footer(n, 1.0) for n in range(5)]


def test_files_that_come_late_are_waited_for(directory: RunDirectory) -> None:
    folder = attempt(directory)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            (folder / "end").touch()

    wait_for_files(directory, {"7": JobState("COMPLETED")}, sleep)
    assert len(waits) == 3


def test_nobody_waits_for_files_of_a_job_that_was_cut_short_or_for_ever(
    directory: RunDirectory,
) -> None:
    attempt(directory)
    waits: list[float] = []
    wait_for_files(directory, {"7": JobState("TIMEOUT")}, waits.append)
    assert not waits
    wait_for_files(directory, {"7": JobState("COMPLETED")}, waits.append)
    assert len(waits) == MAX_LOOKS


def test_a_job_that_never_began_is_told_with_its_last_words(directory: RunDirectory) -> None:
    (directory.path / "job-1").mkdir()
    (directory.path / "job-1" / "out-7.txt").write_text("job.sh: 31: scontrol: not found\n")
    with pytest.raises(CannotRun, match=r"job 7 is failed.*scontrol: not found"):
        collect_results(directory, TARGET, {"7": JobState("FAILED")})


def test_a_job_whose_nodes_do_not_see_the_folder_is_told(directory: RunDirectory) -> None:
    with pytest.raises(CannotRun, match=f"its nodes see {directory.path}"):
        collect_results(directory, TARGET, {"7": JobState("FAILED", "JobLaunchFailure")})
    with pytest.raises(CannotRun) as cancelled:
        collect_results(directory, TARGET, {"7": JobState("CANCELLED")})
    assert "its nodes see" not in str(cancelled.value)


def test_nodes_that_said_nothing_are_told_with_the_reason(directory: RunDirectory) -> None:
    attempt(directory, discovered="", **{"discovered.err": "srun: error: c2: no route\n"})
    with pytest.raises(CannotRun, match="c1: it gave no answer.*no route"):
        collect_results(directory, TARGET, {"7": JobState("COMPLETED")})


def test_a_node_left_alone_by_those_without_room_measures_nothing(directory: RunDirectory) -> None:
    unable = "c2 /tmp/x cannot hold the program: No space left on device\n"
    attempt(directory, discovered="", unable=unable)
    with pytest.raises(CannotRun, match="two nodes.*c2 cannot measure: /tmp/x cannot hold"):
        collect_results(directory, TARGET, {"7": JobState("COMPLETED")})


def test_a_first_node_without_room_leaves_the_others_to_another_job(
    directory: RunDirectory,
) -> None:
    attempt(directory, nodes="c1\nc2\nc3\n", unable="c1 /tmp/x: No space left on device\n")
    with pytest.raises(GaveUp, match="c1 cannot measure: /tmp/x: No space left on device$"):
        collect_results(directory, TARGET, {"7": JobState("FAILED")})
    batch = msgspec.structs.replace(read_batch(directory), request=Request(3, partition="p"))
    written = write_rest_job(directory, TARGET, batch, ENGINE, "")
    assert {"--nodes=2", "--nodelist=c2,c3", "--partition=p"} <= set(written.options)
    assert {node for launch in written.job.launches for node in launch.nodes} == {"0", "1"}


def test_collect_names_the_command_that_measures_the_other_nodes(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect(*_: object) -> None:
        raise GaveUp("job 7 measured nothing: c1 cannot measure: no room")

    monkeypatch.setattr(submit, "_collect", collect)
    with pytest.raises(CannotRun, match=f"no room. fabricgauge submit --resume {directory.path}"):
        submit.wait_and_judge(directory, settings.load(()), SILENT, most_jobs=0)


def test_hostile_nodes_are_no_nodes(directory: RunDirectory) -> None:
    attempt(directory, nodes="c1\n$(touch x)\n")
    (one,) = find_attempts(directory.path / "raw")
    assert one.nodes == ()


def test_a_launch_that_was_cut_short_says_why(tmp_path: Path) -> None:
    (tmp_path / "command").write_text("mpiexec\n-n\n2\n")
    found = end_of_launch(tmp_path, "cancelled")
    assert found.status == "broken"
    assert "cancelled" in found.message
    assert found.argv == ("mpiexec", "-n", "2")
    (tmp_path / "exit").write_text("124\n")
    assert "time limit" in end_of_launch(tmp_path, "").message


@pytest.mark.parametrize(
    ("printout", "named"),
    [
        ("c1 idle\nc2 down*\nc3 mixed\n", ["c2"]),
        ("c1 allocated\nc3 completing*\n", ["c3"]),
        ("c1 idle\nc2 idle\n", []),
        ("sinfo: error: no answer", []),
    ],
)
def test_a_node_that_slurm_has_lost_is_named_for_the_launch_that_broke(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch, printout: str, named: list[str]
) -> None:
    said = Completed(("sinfo",), 0, printout, "", 0.1)
    monkeypatch.setattr(process, "run", lambda *_, **__: said)
    folder = directory.path / "raw" / "launch-01-1"
    folder.mkdir(parents=True)
    launch = PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c2", "c3"), ())
    ClaimedAttempts(directory).claim(launch, 1, folder, "completed")
    (one,), _ = directory.read_lines("launches.jsonl", msgspec.json.Decoder(LaunchLine).decode)
    assert [node for each in one.ended.culprits for node in each.nodes] == named
    assert one.ended.change_kinds == ("node",) * len(named)


@pytest.mark.parametrize(("pair", "named"), [(True, ("c1", "c2")), (False, ("c2",))])
def test_of_a_job_of_two_nodes_that_measured_nothing_both_are_named(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch, pair: bool, named: tuple[str, ...]
) -> None:
    """srun ends the rank of the node that it reaches: that is no sign against this one."""
    monkeypatch.setattr(process, "run", lambda *_, **__: Completed(("sinfo",), 0, "", "", 0.1))
    folder = directory.path / "raw" / "launch-01-1"
    folder.mkdir(parents=True)
    (folder / "exit").write_text("143\n")
    (folder / "stderr.txt").write_text("srun: error: c2: task 0: Killed\n")
    launch = PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c2"), ())
    ClaimedAttempts(directory).claim(launch, 1, folder, "completed", pair=pair)
    (one,), _ = directory.read_lines("launches.jsonl", msgspec.json.Decoder(LaunchLine).decode)
    assert [each.nodes for each in one.ended.culprits] == [named]


@pytest.mark.parametrize(("stopped", "named"), [(True, []), (False, [("c2",)])])
def test_a_rank_that_slurm_killed_with_its_job_is_no_culprit(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch, stopped: bool,
    named: list[tuple[str, ...]],
) -> None:  # fmt: skip
    monkeypatch.setattr(process, "run", lambda *_, **__: Completed(("sinfo",), 0, "", "", 0.1))
    folder = directory.path / "raw" / "launch-01-1"
    folder.mkdir(parents=True)
    (folder / "stderr.txt").write_text("srun: error: c2: task 1: Killed\n")
    launch = PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c2", "c3"), ())
    ClaimedAttempts(directory).claim(launch, 1, folder, "cancelled", stopped=stopped)
    (line,), _ = directory.read_lines("launches.jsonl", msgspec.json.Decoder(LaunchLine).decode)
    assert [culprit.nodes for culprit in line.ended.culprits] == named
    assert line.ended.status == "broken"
    for state in ("CANCELLED", "TIMEOUT"):
        assert JobState(state).stopped
    assert not JobState("FAILED").stopped and not JobState("NODE_FAIL").stopped


@pytest.mark.parametrize(("memory", "where"), [("cuda", "the MPI"), ("", "c2")])
def test_a_segmentation_fault_in_gpu_memory_names_no_node(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch, memory: str, where: str
) -> None:
    monkeypatch.setattr(process, "run", lambda *_, **__: Completed(("sinfo",), 0, "", "", 0.1))
    folder = directory.path / "raw" / "launch-01-1"
    folder.mkdir(parents=True)
    (folder / "exit").write_text("139\n")
    (folder / "stderr.txt").write_text("srun: error: c2: task 1: Segmentation fault\n")
    launch = PlannedLaunch(1, "net1", "10.77.0.0/24", ("c1", "c2"), ())
    ClaimedAttempts(directory, memory).claim(launch, 1, folder, "completed")
    (line,), _ = directory.read_lines("launches.jsonl", msgspec.json.Decoder(LaunchLine).decode)
    assert [culprit.where for culprit in line.ended.culprits] == [where]


def test_a_dead_pair_is_named_by_the_jobs_of_single_pairs(tmp_path: Path) -> None:
    """Each job lets its two nodes connect: only those of c1 and c3 fail, so no node is dead."""
    made = RunDirectory.create(tmp_path)
    batch = Batch(Request(3), "slurm", None, False, (), (), False, Topology())
    plan = pair_plan(TEMPLATE, names(3))
    write_batch(made, About("", (), {}), msgspec.structs.replace(batch, pairs=plan))
    for number, pair in enumerate((("c1", "c2"), ("c1", "c3"), ("c2", "c3")), 1):
        folder = f"job-{number}"
        append_job(made, BatchJob("7", folder, "", (), "quick", Stopping(0.01, 0.95), False))
        place = made.path / "raw" / f"attempt-{number}" / "connect-1"
        place.mkdir(parents=True)
        (place.parent / "nodes").write_text("\n".join(pair))
        (place.parent / "folder").write_text(folder)
        (place / "subnet").write_text("10.0.0.0/24\n")
        (place / "members").write_text("".join(f"{node} 10.0.0.{node[1]}\n" for node in pair))
        for own, (node, other) in enumerate((pair, pair[::-1]), 1):
            phase = "connect" if pair == ("c1", "c3") else "done"
            (place / f"{node}.txt").write_text(connected(own, node, other, phase))
    collect_results(made, TARGET, {})
    found = made.read("preflight.json", tuple[Finding, ...])
    assert [one.nodes for one in found if one.check == "connect"] == [("c1", "c3")]


def connected(own: int, node: str, other: str, phase: str) -> str:
    """What the connecting program prints of one partner (engine/connect/)."""
    lines: tuple[dict[str, object], ...] = (
        {"format": "fabricgauge-connect", "version": "1.0", "node": own},
        {
            "to": 3 - own, "source": f"10.0.0.{node[1]}", "target": f"10.0.0.{other[1]}",
            "phase": phase, "answered_by": 0 if phase == "connect" else 3 - own,
        },
        {"end": True},
    )  # fmt: skip
    return "\n".join(map(json.dumps, lines))
