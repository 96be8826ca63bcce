"""A stored run is data, whoever wrote it: it names no program, no option and no node."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from fabricgauge.check import begin
from fabricgauge.check.begin import find_stored_run
from fabricgauge.check.measure_tool import suite_launch
from fabricgauge.check.target import Target
from fabricgauge.cli.verbs import cli
from fabricgauge.features.jobs.request import resumed_batch
from fabricgauge.features.vary.vary import take_up
from fabricgauge.logs.tools.table import TOOLS, Effort
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.errors import CannotRun, FabricgaugeError, StoreError, UsageError
from fabricgauge.model.fabric import Fabric, Topology
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.varied import Design, Factor
from fabricgauge.nodes import process
from fabricgauge.store.run_directory import RunDirectory, run_lock
from fabricgauge.store.run_files import (
    About,
    append_job,
    write_batch,
    write_beginning,
)

EMPTY = Fabric((), (), ())
PLAN = Plan("quick", Stopping(0.01, 0.95), False, ())


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither this site's settings nor this person's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(tmp_path / "none"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The programs that were started."""
    argvs: list[str] = []
    real = process.run

    def seen(argv: Any, **rest: Any) -> Any:
        argvs.append(argv[0])
        return real(argv, **rest)

    monkeypatch.setattr(process, "run", seen)
    yield argvs


def about(**said: Any) -> About:
    return About("2026-11-21T20:00:00Z", ("fabricgauge", "check"), {}, **said)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run that belongs to the user, as one does that was unpacked from somebody's archive."""
    made = RunDirectory.create(tmp_path / "runs")
    write_beginning(made, about(request=MeasurementRequest()), EMPTY, PLAN)
    return made


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A compiler wrapper that leaves a mark where it is started."""
    program = tmp_path / "evil" / "mpicxx"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/mark\necho 'for MPICH version 4.0'\n")
    program.chmod(0o755)
    return program


def fabricgauge(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def refused(done: Result, *words: str) -> None:
    assert isinstance(done.exception, UsageError), (done.exception, done.output)
    for word in words:
        assert word in str(done.exception)


@pytest.mark.parametrize(
    "said",
    [
        {"mpi": "EVIL"},
        {"tool": "osu", "tool_path": "FOLDER"},
        {"launcher": "ssh", "nodelist": "a,b", "ssh_config": "EVIL"},
        {"nodelist": "^EVIL"},
        {"lab": "mine"},
        {"sim": "FOLDER/platform.xml"},
    ],
)
def test_a_stored_run_names_no_program_and_no_node(
    directory: RunDirectory, evil: Path, tmp_path: Path, said: dict[str, str], started: list[str]
) -> None:
    asked = {
        key: value.replace("EVIL", str(evil)).replace("FOLDER", str(evil.parent))
        for key, value in said.items()
    }
    directory.write("run.json", about(request=MeasurementRequest(**asked)))  # type: ignore[arg-type]
    done = fabricgauge("check", "--resume", directory.path)
    options = (f"--{key.replace('_', '-')}" for key in said)
    refused(done, "only from the command line and configuration", *options)
    assert not started
    assert not (tmp_path / "mark").exists()
    assert not list(directory.path.glob("raw/*"))


def test_what_is_said_now_is_taken_in_the_place_of_what_a_run_says(
    directory: RunDirectory, evil: Path
) -> None:
    directory.write("run.json", about(request=MeasurementRequest(mpi=str(evil))))
    said = MeasurementRequest(resume=str(directory.path), mpi="openmpi")
    assert find_stored_run(Path(), said)[0].path == directory.path


def test_what_only_an_import_made_cannot_be_resumed(directory: RunDirectory) -> None:
    directory.write("run.json", about())
    with pytest.raises(StoreError, match="has no request"):
        find_stored_run(Path(), MeasurementRequest(resume=str(directory.path)))


@pytest.mark.parametrize("name", ["run.json", "plan.json"])
def test_one_file_that_others_may_write_makes_a_run_foreign(
    directory: RunDirectory, name: str
) -> None:
    assert directory.foreign == ""
    (directory.path / name).chmod(0o666)
    assert f"{name} may be written by others" in directory.foreign


def test_a_start_that_a_stored_plan_names_and_the_suite_has_not_is_said() -> None:
    suite = SimpleNamespace(tool=TOOLS["osu"], effort=Effort(1, 1, 1, 1))
    context: Any = SimpleNamespace(target=SimpleNamespace(suite=suite, access=None), fabric=EMPTY)
    launch = PlannedLaunch(1, None, None, ("a", "b"), (), program="/evil/osu_latency")
    with pytest.raises(CannotRun, match="osu has no start '/evil/osu_latency'"):
        suite_launch(context, launch)


def batch_of(**more: Any) -> Batch:
    request = Request(nodes=2, **more)
    return Batch(request, "slurm", None, False, (), (), True, Topology())


def test_nothing_is_submitted_from_a_run_that_others_may_change(
    directory: RunDirectory, started: list[str]
) -> None:
    """They could change the script on its way to Slurm."""
    write_batch(directory, about(), batch_of())
    append_job(directory, BatchJob("", "job-1", "", (), "quick", PLAN.stopping, False))
    directory.path.chmod(0o777)
    refused(
        fabricgauge("submit", "--resume", directory.path), "may be written by others",
        f"fabricgauge collect {directory.path}", "a new run",
    )  # fmt: skip
    assert not started


@pytest.mark.parametrize("mpi", ["EVIL", None])
def test_a_submitted_run_names_no_program_and_no_option_of_sbatch(
    directory: RunDirectory, evil: Path, tmp_path: Path, started: list[str], mpi: str | None
) -> None:
    batch = batch_of(partition="there", further=(f"--output={tmp_path}/mark",))
    batch = msgspec.structs.replace(batch, mpi=mpi and str(evil), starter="srun")
    write_batch(directory, about(), batch)
    append_job(directory, BatchJob("", "job-1", "", (), "quick", PLAN.stopping, False))
    done = fabricgauge("submit", "--resume", directory.path, "--mpi", evil)
    refused(done, "--partition there", f"--sbatch=--output={tmp_path}/mark", "--launcher srun")
    assert not started and not (tmp_path / "mark").exists()


def test_a_submitted_run_is_resumed_with_what_is_said_now(directory: RunDirectory) -> None:
    stored = batch_of(nodelist=("a", "b"), partition="there", time="10", ppn=2)
    request = MeasurementRequest(nodelist="a,b", mpi="openmpi", ppn=1)
    said = Request(nodes=0, partition="elsewhere", time="20")
    made = resumed_batch(stored, request, said, "slurm", directory.path)
    assert made.request == Request(2, 2, ("a", "b"), partition="elsewhere", time="20")
    assert (made.mpi, made.starter) == ("openmpi", "slurm")
    with pytest.raises(UsageError, match="began with other nodes: --nodelist a,b"):
        resumed_batch(
            stored, MeasurementRequest(nodelist="a,c"), said, "slurm", directory.path
        )  # fmt: skip


def design(*levels: str) -> Design:
    factor = Factor("compiler", levels)
    return Design((factor,), tuple((one,) for one in levels), ("a", "b"), ((0, 1),), 1)


def taken_up(directory: RunDirectory, said: tuple[Factor, ...]) -> None:
    take_up(None, directory, said)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [(), (Factor("compiler", ("clang", "gcc")),)])
def test_a_stored_comparison_names_no_compiler(
    directory: RunDirectory, evil: Path, said: tuple[Factor, ...]
) -> None:
    directory.write("design.json", design(str(evil), "gcc"))
    with pytest.raises(UsageError, match=f"{evil}.* repeat --vary"):
        taken_up(directory, said)


@pytest.mark.parametrize(
    "damaged",
    [
        {"arms": [["/evil/g++"], ["gcc"]]},
        {"folders": ["../../elsewhere", "b"]},
        {"folders": ["b\n", "b"]},
    ],
)
def test_a_design_whose_parts_do_not_fit_is_damaged(
    directory: RunDirectory, damaged: dict[str, Any]
) -> None:
    whole = {**msgspec.to_builtins(design("gcc", "clang")), **damaged}
    directory.write_bytes("design.json", json.dumps(whole).encode())
    with pytest.raises(StoreError, match=r"design\.json is damaged"):
        taken_up(directory, ())


@pytest.mark.parametrize(
    "said",
    [{"folder": "../.."}, {"folder": "job-1\n"}, {"number": "1; reboot"}, {"cluster": "$(a)"}],
)
def test_a_job_of_a_stored_run_cannot_name_another_folder_or_a_command(
    directory: RunDirectory, said: dict[str, str]
) -> None:
    from fabricgauge.store.run_files import jobs

    job = BatchJob("7", "job-1", "", (), "quick", PLAN.stopping, False)
    append_job(directory, job)
    line = {**msgspec.to_builtins(job), **said}
    with (directory.path / "jobs.jsonl").open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
    assert jobs(directory) == (job,)


def test_no_file_that_a_foreign_run_names_as_a_library_is_read(
    directory: RunDirectory, tmp_path: Path
) -> None:
    from fabricgauge.check.notes import note_libraries

    secret = tmp_path / "libmpi.so"
    secret.write_text("secret")
    launch = SimpleNamespace(header=SimpleNamespace(libraries=(str(secret),)))
    run: Any = SimpleNamespace(launches=(launch,))
    directory.path.chmod(0o777)
    assert note_libraries(directory, run) == {}
    directory.path.chmod(0o700)
    assert "SHA-256 2bb80d537b1da3e3" in note_libraries(directory, run)["library libmpi.so"]


def test_every_refusal_is_one_sentence_for_a_person(directory: RunDirectory) -> None:
    directory.write("run.json", about(request=MeasurementRequest(mpi="x\x1b[2J; reboot")))
    done = fabricgauge("check", "--resume", directory.path)
    assert isinstance(done.exception, FabricgaugeError)
    assert "'x\x1b[2J; reboot'" in str(done.exception)  # quoted; main() shows what is invisible


def test_a_run_that_is_being_measured_is_not_resumed(directory: RunDirectory) -> None:
    before = sorted(directory.path.rglob("*"))
    for words in (["check", "--launcher", "local"], ["compare", "--launcher", "local"], ["submit"]):
        with run_lock(directory):
            done = fabricgauge(*words, "--resume", directory.path)
        assert isinstance(done.exception, UsageError)
        assert "works on" in str(done.exception)
    assert sorted(directory.path.rglob("*")) == before


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
@pytest.mark.parametrize("begun", [False, True])
def test_of_a_check_that_could_not_begin_only_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], begun: bool
) -> None:
    def none(target: Target) -> Target:
        raise CannotRun("the engine could not be built")

    def unjoined(target: object, directory: RunDirectory, *rest: object, **more: object) -> None:
        directory.keep_raw("discover", "c1", "its answer")
        raise CannotRun("no network joins the nodes")

    if begun:
        monkeypatch.setattr(begin, "with_programs", lambda target: target)
        monkeypatch.setattr(begin, "begin", unjoined)
    else:
        monkeypatch.setattr(begin, "with_programs", none)
    done = fabricgauge("check", "--launcher", "local", "-o", tmp_path / "runs", *words)
    assert isinstance(done.exception, CannotRun)
    kept = [path.name for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert kept == (["c1.txt"] if begun and not words else [])
    assert bool(kept) == bool(list((tmp_path / "runs").iterdir()))
