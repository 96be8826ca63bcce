"""Every command that the documentation shows is run, and ends as the page says."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.docs.blocks import Commands, WriteFile, steps
from tests.docs.pages import ROOT, name
from tests.nodes.launch.sshd import servers

from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import LabSpec, numbered_nodes
from fabricgauge.lab.up import down, up

pytestmark = [pytest.mark.lab, pytest.mark.engine]

PROGRAM = Path(sys.executable).with_name("fabricgauge")
READ = (
    ROOT / "README.md",
    *(ROOT / "docs/tutorial").glob("*.md"),
    *(ROOT / "docs/how-to").glob("*.md"),
)
LONGEST_S = 400
#: What a page measures is judged, and takes its time.
MEASURED = [pytest.mark.alone, pytest.mark.slow]
MEASURING = frozenset({"check", "compare", "demo", "doctor", "scale", "submit"})
RUN_DIRECTORY = (ROOT / "docs/development/run-files.md").read_text(encoding="utf-8")


class Reader:
    """Someone who follows a page with a home directory, runs and labs of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs = home / ".local/share/fabricgauge/runs"
        self.children: list[subprocess.Popen[str]] = []
        self.cluster = ExitStack()
        self.places: dict[str, tuple[str, ...]] = {}
        runtime = home / "run"
        runtime.mkdir(parents=True, mode=0o700)
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        kept = {key: word for key, word in os.environ.items() if not key.startswith("FABRICGAUGE")}
        self.env = kept | {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_RUNTIME_DIR": str(runtime),
            "XDG_CACHE_HOME": cache,  # building an engine anew would teach nothing here
            "COLUMNS": "140",
        }

    def follow(self, doing: Sequence[Commands | WriteFile]) -> None:
        waiting: tuple[Commands, subprocess.Popen[str]] | None = None
        for step in doing:
            if isinstance(step, WriteFile):
                self.write(step)
                continue
            if step.needs and not Path(step.needs).exists():
                pytest.skip(f"{step.needs} is not installed; tried up to line {step.line}")
            if step.beside_next:
                waiting = (step, self.start(step.argvs[0]))
                self.await_cases(waiting[1])
                continue
            self.run(step)
            if waiting:
                self.ended(waiting[0], waiting[0].argvs[0], waiting[1])
                waiting = None

    def place(self, on: str) -> tuple[str, ...]:
        """Return the words that start a program where ssh or Slurm reaches c1 and c2."""
        if on and on not in self.places:
            self.places[on] = self.cluster.enter_context(_cluster(on, self.home))
        return self.places[on] if on else ()

    def write(self, file: WriteFile) -> None:
        path = self.home / file.path.removeprefix("~/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")

    def run(self, step: Commands) -> None:
        *before, last = step.argvs
        for argv in before:
            earlier = Commands(step.line, (argv,), frozenset({0}))
            self.ended(earlier, argv, self.start(argv, step.on))
        self.ended(step, last, self.start(last, step.on))

    def start(self, argv: Sequence[str], on: str = "") -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [*self.place(on), PROGRAM, *argv[1:]], env=self.env, cwd=self.home, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.children.append(child)
        return child

    def leave(self) -> None:
        """End what a failed page left running, and remove its labs."""
        for child in self.children:
            if child.poll() is None:
                child.terminate()
                child.communicate(timeout=60)
        self.start(["fabricgauge", "lab", "down", "--all"]).communicate(timeout=60)
        self.cluster.close()

    def ended(self, step: Commands, argv: Sequence[str], child: "subprocess.Popen[str]") -> None:
        try:
            out, _ = child.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            child.terminate()
            out, _ = child.communicate(timeout=30)
            pytest.fail(f"line {step.line}: {argv} took longer than {LONGEST_S} s: {out}")
        assert child.returncode in step.statuses, f"line {step.line}: {argv}\n{out}"
        assert step.shows in " ".join(out.split()), f"line {step.line}: {argv}\n{out}"

    def await_cases(self, child: "subprocess.Popen[str]") -> None:
        """Until two cases of a run that is under way are safely stored."""
        deadline = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < deadline:
            files = self.runs.glob("*.partial/results.jsonl")
            if any(file.read_text().count('"record":"case"') >= 2 for file in files):
                return
            time.sleep(0.05)

    def undescribed(self) -> set[str]:
        """Files of the runs that the page on run directories does not know."""
        found = (file for run in self.runs.glob("2*") for file in run.rglob("*") if file.is_file())
        kinds = {general(_in_its_run(file.relative_to(self.runs).parts)) for file in found}
        return {kind for kind in kinds if f"`{kind}`" not in RUN_DIRECTORY}


@contextmanager
def _cluster(on: str, folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the words that start a program on the head of two nodes that ssh or Slurm reaches."""
    daemon = Path("/usr/sbin") / {"ssh": "sshd", "slurm": "slurmctld"}[on]
    if os.geteuid() != 0 or not daemon.is_file():
        pytest.skip(f"no {on} of one's own without root and its packages")
    name = f"t-doc-{on}"
    state = up(LabSpec(name, numbered_nodes(2), slurm=on == "slurm"))
    try:
        if on == "slurm":
            yield entry(state, "head")
            return
        with servers(state, ("c1", "c2"), folder) as config:
            variables = [f"FABRICGAUGE_{verb}_SSH_CONFIG={config}" for verb in ("CHECK", "DOCTOR")]
            yield (*entry(state, "head"), "env", *variables)
    finally:
        down(name)


def _in_its_run(parts: Sequence[str]) -> str:
    """A file's path in its run; the runs of a comparison lie in the comparison's own directory."""
    runs = [place for place, one in enumerate(parts) if re.fullmatch(r"\d{8}T\d{6}Z-\w+", one)]
    return "/".join(parts[runs[-1] + 1 :] if runs else parts[1:])


def general(path: str) -> str:
    """``raw/discover-2/c1.txt`` as ``raw/discover-N/NODE.txt``."""
    path = re.sub(r"^raw/launch-\d+-\d+/", "raw/launch-NN-A/", path)
    path = re.sub(r"^raw/attempt-\d+/", "raw/attempt-A/", path)
    path = re.sub(r"(?<=^raw/attempt-A/connect-)\d+/", "N/", path)
    path = re.sub(r"(?<=^raw/attempt-A/connect-N/)[^/]+(?=\.txt$)", "NODE", path)
    path = re.sub(r"^job-\d+/", "job-J/", path)
    path = re.sub(r"^(job-J/cases|job-J/out)-\d+", lambda at: _numbered[at[1]], path)
    path = re.sub(r"^raw/import-\d+/.*", "raw/import-NNN/FILE", path)
    path = re.sub(r"^raw/victim-\d+-(idle|own|shared)/", "raw/victim-N-PHASE/", path)
    path = re.sub(r"^raw/bulk-\d+/", "raw/bulk-N/", path)
    path = re.sub(r"^raw/head/.*", "raw/head/HEAD.txt", path)
    return re.sub(r"^raw/(discover|connect)(-\d+)?/.*", _of_nodes, path)


_numbered = {"job-J/cases": "job-J/cases-L", "job-J/out": "job-J/out-N"}


def _of_nodes(found: "re.Match[str]") -> str:
    return f"raw/{found[1]}{'-N' if found[2] else ''}/NODE.txt"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    someone = Reader(tmp_path / "home")
    tried = someone.start(["fabricgauge", "lab", "up", "t-doc"])
    out, _ = tried.communicate(timeout=60)
    if tried.returncode:
        pytest.skip(f"no lab can be made here: {out.strip()}")
    someone.start(["fabricgauge", "lab", "down", "t-doc"]).communicate(timeout=60)
    yield someone
    someone.leave()


def marks_of(page: Path) -> list[pytest.MarkDecorator]:
    """Apart and slow is what is judged and measured between namespaces.

    Slow is what is simulated, or traced.
    """
    doing = list(steps(page.read_text(encoding="utf-8")))
    argvs = [argv for step in doing if isinstance(step, Commands) for argv in step.argvs]
    placed = any(isinstance(step, Commands) and step.on for step in doing)
    if placed or any(
        argv[1] in MEASURING and ("--lab" in argv or argv[1] == "demo") for argv in argvs
    ):
        return MEASURED
    return [pytest.mark.slow] * any("--sim" in argv or argv[1] == "path" for argv in argvs)


@pytest.mark.parametrize(
    "page",
    [pytest.param(one, marks=marks_of(one), id=name(one)) for one in READ],
)
def test_the_pages_commands_end_as_it_says(page: Path, reader: Reader) -> None:
    doing = list(steps(page.read_text(encoding="utf-8")))
    reader.follow(doing)
    assert reader.undescribed() == set()


def test_the_pages_show_commands_at_all() -> None:
    shown = [step for page in READ for step in steps(page.read_text(encoding="utf-8"))]
    assert sum(isinstance(step, Commands) for step in shown) >= 20


def test_a_status_or_words_other_than_stated_fail(reader: Reader) -> None:
    version = (("fabricgauge", "--version"),)
    reader.follow([Commands(1, version, frozenset({0}), "fabricgauge")])
    with pytest.raises(AssertionError):
        reader.follow([Commands(1, version, frozenset({1}))])
    with pytest.raises(AssertionError):
        reader.follow([Commands(1, version, frozenset({0}), "something else")])
