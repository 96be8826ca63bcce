"""A run, a comparison, a bundle and a journal in which every string is hostile, through each verb.

The verbs run in a process of their own, in which Python's audit hook writes down what is started
and opened. Nothing outside of the directory and of what is asked for is started, read or changed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fabricgauge.features.configure.job import Configuration, Step
from fabricgauge.features.configure.journal import Planned
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.fabric import Fabric, Topology
from fabricgauge.model.finding import Command
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.surveyed import BundleIndex
from fabricgauge.model.varied import Design, Factor
from fabricgauge.store.run_files import VERSION, About, LaunchLine, ResultLine

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"

#: The audit hook's part: what is started, what is opened and how, what is connected to.
WATCHED = """
import json, os, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
STARTS = ("subprocess.Popen", "os.exec", "os.system", "os.posix_spawn", "os.fork", "pty.spawn")
def hook(event, words):
    if event == "open" and isinstance(words[0], (str, bytes)):
        path = os.fsdecode(words[0])
        os.write(log, json.dumps(["open", path]).encode() + b"\\n")
    elif event in STARTS or event == "socket.connect":
        os.write(log, json.dumps([event, repr(words)[:300]]).encode() + b"\\n")
import fabricgauge.cli.main
sys.addaudithook(hook)
sys.argv = ["fabricgauge", *sys.argv[2:]]
fabricgauge.cli.main.main()
"""

STOPPING = Stopping(0.01, 0.95)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A secret, which hostile strings name, and an empty folder for programs."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("THE SECRET")
    evil = tmp_path / "outside" / "mpicxx"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/outside/started\necho for MPICH version 4.0\n")
    evil.chmod(0o755)
    (tmp_path / "bin").mkdir()
    return tmp_path


def hostile(place: Path) -> tuple[str, ...]:
    """The first six stand for all kinds."""
    outside = place / "outside"
    return (
        str(outside / "mpicxx"), f"^{outside}/secret.txt", "../../outside/secret.txt",
        f"$(touch {outside}/started); touch {outside}/started;",
        f"-oProxyCommand=touch {outside}/started",
        "\x1b]0;owned\x07\x1b[2J\x00\x9b31m\u202e<script>alert(1)</script>\r\n",
        str(outside / "secret.txt"), f"@local:`touch {outside}/started`", "a\nb\r\nc",
        "=cmd|' /C calc'!A0", "%s%n{0.__class__}", "x" * 5000,
    )  # fmt: skip


def spoilt(value: Any, kind: Any, bad: str) -> Any:
    """The value with each text of it replaced that may be any text, key by key."""
    content = msgspec.to_builtins(value)
    for key in sorted(set(_keys(content))):
        trial = _with(content, key, bad)
        try:
            msgspec.convert(trial, kind)
        except (msgspec.ValidationError, ValueError):
            continue
        content = trial
    return content


def _keys(content: Any) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from _keys(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _keys(value)


def _with(content: Any, key: str, bad: str, inside: bool = False) -> Any:
    if isinstance(content, str):
        return bad if inside else content
    if isinstance(content, dict):
        return {one: _with(value, key, bad, one == key) for one, value in content.items()}
    if isinstance(content, list | tuple):
        return [_with(value, key, bad, inside) for value in content]
    return content


def write(path: Path, *values: Any) -> None:
    lines = path.suffix == ".jsonl"
    text = "".join(json.dumps(value) + "\n" * lines for value in values)
    path.write_text(text)


def a_run(place: Path, bad: str) -> Path:
    """A stored run that was broken off; links in it lead out."""
    (source,) = (RUNS / "0.1.0--healthy").iterdir()
    run = place / "runs" / f"{source.name}.partial"
    shutil.copytree(source, run)
    kinds: dict[str, Any] = {"plan.json": Plan, "fabric.json": Fabric}
    for name, kind in kinds.items():
        value = msgspec.json.decode((source / name).read_bytes(), type=kind)
        write(run / name, spoilt(value, kind, bad))
    request = MeasurementRequest(mpi="x", nodelist="x", ssh_config="x", tool_path="x")
    about = About("x", ("x",), {"MPI": "x"}, request)
    # Of another version it would be refused at once.
    write(run / "run.json", spoilt(about, About, bad) | {"version": VERSION})
    for name, line in {"results.jsonl": ResultLine, "launches.jsonl": LaunchLine}.items():
        values = [
            msgspec.json.decode(one, type=line)
            for one in (source / name).read_bytes().splitlines()[:6]
        ]
        write(run / name, *(spoilt(one, line, bad) for one in values))
    for name in ("report.html", ".report.html.new", "verdicts.json", "varied.json"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(place / "outside" / "secret.txt")
    shutil.rmtree(run / "raw", ignore_errors=True)
    (run / "raw").symlink_to(place / "outside")
    return run


def a_submitted_run(place: Path, bad: str) -> Path:
    run = a_run(place, bad)
    request = Request(2, nodelist=("x",), partition="x", further=("x",))
    asked = MeasurementRequest(mpi="x", ssh_config="x")
    batch = Batch(
        request, "slurm", "x", False, (), ("x",), True, Topology(), asked=asked
    )  # fmt: skip
    job = BatchJob("7", "job-1", "x", (), "quick", STOPPING, False, "x")
    write(run / "batch.json", spoilt(batch, Batch, bad))
    write(run / "jobs.jsonl", spoilt(job, BatchJob, bad))
    (run / "job-1").symlink_to(place / "outside")
    return run


def a_comparison(place: Path, bad: str) -> Path:
    run = a_run(place, bad)
    design = Design((Factor("compiler", (bad, "b")),), ((bad,), ("b",)), ("a", "b"), ((0, 1),), 1)
    write(run / "design.json", msgspec.to_builtins(design))
    return run


def a_bundle(place: Path, bad: str) -> Path:
    bundle = place / "bundle"
    shutil.copytree(RUNS / "0.1.0--discovered", bundle)
    index = msgspec.json.decode((bundle / "bundle.json").read_bytes(), type=BundleIndex)
    write(bundle / "bundle.json", spoilt(index, BundleIndex, bad))
    (bundle / "c9").mkdir()
    (bundle / "c9" / "survey.txt").write_text(f"== hostname\n{bad}\n== ip addr\n{bad}\n")
    return bundle


def a_journal(place: Path, bad: str) -> Path:
    journal = place / "journal"
    journal.mkdir()
    step = Step(bad, bad, (Command("", (bad,)),), (), (Command("", (bad, bad), bad),))
    plan = Planned(Configuration(bad, (), (step,), (bad,)), "", (bad,))
    write(journal / "plan.json", msgspec.to_builtins(plan))
    write(journal / "journal.jsonl", {"event": "begun", "step": 1, "node": bad, "argv": [bad]})
    return journal


Made = Callable[[Path, str], Path]
VERBS: dict[str, tuple[Made, tuple[str, ...]]] = {
    "report": (a_run, ("report", "HERE")),
    "report html": (a_run, ("report", "HERE", "--format", "html")),
    "report json": (a_run, ("report", "HERE", "--format", "json")),
    "compare": (a_run, ("compare", "HERE", "HERE")),
    "import": (a_run, ("import", "HERE", "-o", "OUT")),
    "check": (a_run, ("check", "--resume", "HERE")),
    "collect": (a_submitted_run, ("collect", "HERE")),
    "submit": (a_submitted_run, ("submit", "--resume", "HERE")),
    "compare --vary": (a_comparison, ("compare", "--launcher", "local", "--resume", "HERE")),
    "discover": (a_bundle, ("discover", "--from", "HERE", "--verbose")),
    "doctor": (a_bundle, ("doctor", "--from", "HERE")),
    "undo": (a_journal, ("configure", "--undo", "HERE")),
}
#: Whose it may be: one that others may write is not the user's, nor is one that was unpacked.
MODES = {"shared": 0o777, "unpacked": 0o700}
RESUMING = ("check", "collect", "submit", "compare --vary", "undo")
#: The others take the same ways.
OFTEN = ("report html", "import", "check", "compare --vary", "undo")
CASES = [
    pytest.param(verb, mode, marks=() if verb in OFTEN else pytest.mark.slow)
    for verb in VERBS
    for mode in MODES
    if mode == "shared" or verb in RESUMING
]
#: Programs of Slurm's that are asked about jobs; here there are none.
ASKED = ("'squeue'", "'sacct'")


@pytest.mark.parametrize(
    "strings", [slice(3), pytest.param(slice(3, None), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("verb", "mode"), CASES)
def test_nothing_outside_is_started_read_or_changed(
    place: Path, verb: str, mode: str, strings: slice
) -> None:
    make, words = VERBS[verb]
    for number, bad in enumerate(hostile(place)[strings]):
        for left in ("runs", "bundle", "journal", "out"):
            shutil.rmtree(place / left, ignore_errors=True)
        here = make(place, bad)
        here.chmod(MODES[mode])
        before = _state(place / "outside")
        events, done = watched(place, number, [
            word.replace("HERE", str(here)).replace("OUT", str(place / "out")) for word in words
        ])  # fmt: skip
        assert done.returncode in (0, 1, 2, 3), (bad, done.stderr)
        assert "Traceback" not in done.stderr
        assert "THE SECRET" not in done.stdout + done.stderr
        assert "\x1b]0" not in done.stdout + done.stderr
        if "json" not in words:  # whose reader gets what was said, to the letter
            assert not set(done.stdout + done.stderr) & set("\x00\x07\x9b\u202e")
        assert _state(place / "outside") == before, bad
        assert not list(place.glob("out/**/*secret*"))
        for event, what in events:
            if event == "open":
                assert not _leads_outside(what, place), (bad, what)
            else:
                assert event == "subprocess.Popen", (bad, what)
                assert what.startswith(tuple(f"({one}" for one in ASKED)), (bad, what)


def test_no_pipe_in_a_stored_run_is_waited_for(place: Path) -> None:
    names = ("run.json", "fabric.json", "plan.json", "results.jsonl", "launches.jsonl")
    for number, name in enumerate(names):
        shutil.rmtree(place / "runs", ignore_errors=True)
        run = a_run(place, "x")
        assert (run / name).is_file()
        (run / name).unlink()
        os.mkfifo(run / name)
        _, done = watched(place, number, ["report", str(run)])
        assert done.returncode in (0, 2, 3) and "Traceback" not in done.stderr
        assert f"{name}: it is a pipe" in done.stderr


def watched(
    place: Path, number: int, words: list[str]
) -> "tuple[list[tuple[str, str]], subprocess.CompletedProcess[str]]":
    log = place / f"log-{number}"
    env = {
        **os.environ, "PATH": str(place / "bin"), "XDG_CONFIG_HOME": str(place / "none"),
        "FABRICGAUGE_SITE_FILE": str(place / "none"), "HOME": str(place / "home"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(log), *words], capture_output=True, text=True,
        errors="replace", timeout=120, env=env, stdin=subprocess.DEVNULL, cwd=place, check=False,
    )  # fmt: skip
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()], done


def _leads_outside(path: str, place: Path) -> bool:
    """Whether a file that was opened is the secret's, by its own name or through a link."""
    real = Path(os.path.realpath(place / path))
    return real.is_relative_to(place / "outside") and not real.is_dir()


def _state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(one): (one.stat().st_mode, one.read_bytes()) for one in sorted(folder.rglob("*"))}
