"""A run that others can have written is data: it names no program, no option and no node.

There are two: one that others may change, and one that was unpacked from somebody's archive. The
latter belongs to the user, and nobody else may write it; only the seal is missing.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from fabricgauge import process
from fabricgauge.app import begin
from fabricgauge.app.begin import stored_run
from fabricgauge.app.measure_tool import suite_launch
from fabricgauge.app.target import Target
from fabricgauge.app.vary import take_up
from fabricgauge.cli.verbs import cli
from fabricgauge.files.seals import secret_file
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.errors import CannotRun, FabricgaugeError, StoreError, UsageError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.topology import Topology
from fabricgauge.model.varied import Design, Factor
from fabricgauge.run.tools.interface import Effort
from fabricgauge.run.tools.table import TOOLS
from fabricgauge.store.holding import held
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import (
    About,
    append_job,
    write_batch,
    write_beginning,
    write_facts,
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


WHY = {"shared": "may be written by others", "unpacked": "has no seal"}


@pytest.fixture(params=list(WHY))
def why(request: pytest.FixtureRequest) -> str:
    return WHY[request.param]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> RunDirectory:
    """Somebody else's, until a test says otherwise."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = RunDirectory.create(tmp_path / "runs")
    write_beginning(made, about(), EMPTY, PLAN)
    if why == WHY["shared"]:
        made.path.chmod(0o777)
    else:
        monkeypatch.setattr(made, "seal", made.write)
        made.write("run.json", about())
    return made


def make_own(directory: RunDirectory, name: str, value: Any) -> RunDirectory:
    own = RunDirectory(directory.path)
    own.path.chmod(0o700)
    own.seal(name, value)
    return own


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
    for word in ("is not provably yours", *words):
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
@pytest.mark.parametrize("of_earlier_version", [True, False])
def test_a_run_that_others_may_write_names_no_program_and_no_node(
    directory: RunDirectory, evil: Path, tmp_path: Path, said: dict[str, str],
    of_earlier_version: bool, started: list[str], why: str,
) -> None:  # fmt: skip
    asked = {
        key: value.replace("EVIL", str(evil)).replace("FOLDER", str(evil.parent))
        for key, value in said.items()
    }
    if of_earlier_version:
        directory.seal("run.json", about(asked={"launcher": "local", **asked}))
    else:
        directory.seal("run.json", about(request=MeasurementRequest(**asked)))  # type: ignore[arg-type]
    done = fabricgauge("check", "--resume", directory.path)
    options = (f"--{key.replace('_', '-')}" for key in said)
    refused(done, why, "name nodes and programs", *options)
    assert not started
    assert not (tmp_path / "mark").exists()
    assert not list(directory.path.glob("raw/*"))


def test_the_users_own_run_is_taken_up_as_it_was_asked_for(directory: RunDirectory) -> None:
    stored = MeasurementRequest(mpi="openmpi", nodelist="a,b")
    make_own(directory, "run.json", about(request=stored))
    assert stored_run(Path(), MeasurementRequest(resume=str(directory.path)))[1] == stored


def test_what_is_said_now_is_taken_in_the_place_of_what_a_foreign_run_says(
    directory: RunDirectory, evil: Path
) -> None:
    directory.seal("run.json", about(request=MeasurementRequest(mpi=str(evil))))
    said = MeasurementRequest(resume=str(directory.path), mpi="openmpi")
    assert stored_run(Path(), said)[0].path == directory.path


@pytest.mark.parametrize("name", ["run.json", "plan.json"])
def test_one_file_that_others_may_write_is_enough(directory: RunDirectory, name: str) -> None:
    make_own(directory, "run.json", about(request=MeasurementRequest(mpi="openmpi")))
    (directory.path / name).chmod(0o666)
    with pytest.raises(UsageError, match=f"{name} may be written by others"):
        stored_run(Path(), MeasurementRequest(resume=str(directory.path)))


def test_a_start_that_a_stored_plan_names_and_the_suite_has_not_is_said() -> None:
    suite = SimpleNamespace(tool=TOOLS["osu"], effort=Effort(1, 1, 1, 1))
    context: Any = SimpleNamespace(target=SimpleNamespace(suite=suite, access=None), fabric=EMPTY)
    launch = PlannedLaunch(1, None, None, ("a", "b"), (), program="/evil/osu_latency")
    with pytest.raises(CannotRun, match="osu has no start '/evil/osu_latency'"):
        suite_launch(context, launch)


def test_what_is_noted_in_somebodys_run_does_not_make_it_the_users(
    directory: RunDirectory, evil: Path
) -> None:
    directory.seal("run.json", about(request=MeasurementRequest(mpi=str(evil))))
    write_facts(directory, {"a": "b"})
    directory.path.chmod(0o700)
    with pytest.raises(UsageError, match="is not provably yours"):
        stored_run(Path(), MeasurementRequest(resume=str(directory.path)))


def test_what_is_noted_in_the_users_run_leaves_it_the_users(directory: RunDirectory) -> None:
    own = make_own(directory, "run.json", about(request=MeasurementRequest(mpi="openmpi")))
    write_facts(own, {"a": "b"})
    assert own.foreign == ""
    own.finish()
    assert own.foreign == ""


@pytest.mark.parametrize("how", ["moved to another machine", "its secret is lost", "renamed"])
def test_a_run_whose_seal_proves_nothing_any_more_asks_for_the_options_and_goes_on_with_them(
    directory: RunDirectory, how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_own(directory, "run.json", about(request=MeasurementRequest(mpi="openmpi")))
    path = directory.path
    if how == "moved to another machine":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "there"))
    elif how == "renamed":
        path = path.rename(path.with_name("mine.partial"))
    else:
        secret_file().unlink()
    with pytest.raises(UsageError, match=r"another seal .*The run names --mpi openmpi$"):
        stored_run(Path(), MeasurementRequest(resume=str(path)))
    said = MeasurementRequest(resume=str(path), mpi="openmpi")
    assert stored_run(Path(), said)[0].path == path


def test_a_piece_of_the_users_own_run_does_not_prove_another_run(
    directory: RunDirectory, evil: Path
) -> None:
    """Somebody to whom the user gave a run puts its sealed file beside what he wrote himself."""
    make_own(directory, "run.json", about(request=MeasurementRequest(mpi="openmpi")))
    batch = directory.path / "batch.json"
    batch.write_bytes((directory.path / "run.json").read_bytes())
    assert "batch.json has another seal" in directory.foreign


def test_nothing_is_submitted_from_a_run_that_others_may_have_written(
    directory: RunDirectory, evil: Path, tmp_path: Path, started: list[str], why: str
) -> None:
    request = Request(nodes=2, further=(f"--output={tmp_path}/mark",))
    batch = Batch(request, "slurm", str(evil), False, (), (), True, Topology())
    write_batch(directory, about(), batch)
    append_job(directory, BatchJob("", "job-1", "", (), "quick", PLAN.stopping, False))
    refused(
        fabricgauge("submit", "--resume", directory.path), why, "nothing is submitted from it",
        f"fabricgauge collect {directory.path}", "a new run",
    )  # fmt: skip
    assert not started
    assert not (tmp_path / "mark").exists()


def design(*levels: str) -> Design:
    factor = Factor("compiler", levels)
    return Design((factor,), tuple((one,) for one in levels), ("a", "b"), ((0, 1),), 1)


def taken_up(directory: RunDirectory, said: tuple[Factor, ...]) -> None:
    take_up(None, directory, said)  # type: ignore[arg-type]


def test_a_comparison_that_others_may_write_names_no_compiler(
    directory: RunDirectory, evil: Path
) -> None:
    directory.seal("design.json", design(str(evil), "gcc"))
    with pytest.raises(UsageError, match=f"say yourself with --vary.*{evil}"):
        taken_up(directory, ())
    with pytest.raises(UsageError, match="say yourself with --vary"):
        taken_up(directory, (Factor("compiler", ("clang", "gcc")),))


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
    directory.path.chmod(0o700)
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
    from fabricgauge.app.notes import note_libraries

    secret = tmp_path / "libmpi.so"
    secret.write_text("secret")
    launch = SimpleNamespace(header=SimpleNamespace(libraries=(str(secret),)))
    run: Any = SimpleNamespace(launches=(launch,))
    assert note_libraries(directory, run) == {}
    make_own(directory, "run.json", about())
    assert "SHA-256 2bb80d537b1da3e3" in note_libraries(directory, run)["library libmpi.so"]


def test_every_refusal_is_one_sentence_for_a_person(directory: RunDirectory) -> None:
    directory.seal("run.json", about(request=MeasurementRequest(mpi="x\x1b[2J; reboot")))
    done = fabricgauge("check", "--resume", directory.path)
    assert isinstance(done.exception, FabricgaugeError)
    assert "'x\x1b[2J; reboot'" in str(done.exception)  # quoted; main() shows what is invisible


def test_a_run_that_is_being_measured_is_not_resumed(directory: RunDirectory) -> None:
    directory.path.chmod(0o700)
    before = sorted(directory.path.rglob("*"))
    for words in (["check", "--launcher", "local"], ["compare", "--launcher", "local"], ["submit"]):
        with held(directory):
            done = fabricgauge(*words, "--resume", directory.path)
        assert isinstance(done.exception, UsageError)
        assert "has been working on" in str(done.exception)
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
