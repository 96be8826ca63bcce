"""The same as test_hostile.py, with the kernel's word: what each system call opened and changed.

Python's audit hook does not see what libraries in C do.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.check.test_hostile import CASES, MODES, RUNS, VERBS, hostile, place, write

from fabricgauge.features.configure.job import Configuration, Step
from fabricgauge.features.configure.journal import JournalEntry, Planned
from fabricgauge.model.batch import Batch, Request
from fabricgauge.model.fabric import Topology
from fabricgauge.model.finding import Command
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.store.run_files import About

__all__ = ["place"]

#: ``name(arguments) = result<path>``, as ``strace -y`` writes it.
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (\d+)(?:<(.*)>)?(?: \(.*\))?$")
#: A folder and a name in it, or a name alone.
NAMED = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
CHANGING = re.compile(r"^(mkdir|mknod|rename|unlink|rmdir|link|symlink|chmod|fchmodat|chown|trunc)")
WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC)")


def _traces() -> bool:
    argv = ("strace", "-o", "/dev/null", "true")
    return bool(shutil.which("strace")) and not subprocess.run(argv, check=False).returncode


pytestmark = pytest.mark.skipif(not _traces(), reason="strace is not there, or may not trace")


@pytest.mark.parametrize(("verb", "mode"), CASES)
@pytest.mark.parametrize(
    "number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3, 4))]
)
def test_no_call_starts_reads_or_changes_anything_outside(
    place: Path, verb: str, mode: str, number: int
) -> None:
    make, words = VERBS[verb]
    here = make(place, hostile(place)[number])
    here.chmod(MODES[mode])
    _require_inside(place, here, words)


def a_run_of(place: Path, evil: str) -> Path:
    """All is as a check writes it, but for the compiler wrapper that it names."""
    (source,) = (RUNS / "0.1.0--healthy").iterdir()
    run = place / "runs" / f"{source.name}.partial"
    shutil.copytree(source, run)
    request = MeasurementRequest(launcher="local", nodelist="a,b", mpi=evil)
    write(run / "run.json", msgspec.to_builtins(About("x", ("x",), {}, request)))
    return run


def a_submitted_run_of(place: Path, evil: str) -> Path:
    run = a_run_of(place, evil)
    request = MeasurementRequest(mpi=evil)
    batch = Batch(
        Request(2), "slurm", evil, False, (), (), True, Topology(), asked=request
    )  # fmt: skip
    write(run / "batch.json", msgspec.to_builtins(batch))
    return run


def a_journal_of(place: Path, evil: str) -> Path:
    """A step that was made, whose undoing is a program."""
    step = Step("t", "r", (Command("", ("true",)),), (), (Command("", (evil,)),))
    planned = Planned(Configuration("ip", (), (step,), ()), "", ("x",))
    (place / "journal").mkdir()
    write(place / "journal" / "plan.json", msgspec.to_builtins(planned))
    entry = JournalEntry("begun", 1, node="", argv=("true",))
    write(place / "journal" / "journal.jsonl", msgspec.to_builtins(entry))
    return place / "journal"


WELL_FORMED = {"check": a_run_of, "submit": a_submitted_run_of, "undo": a_journal_of}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", WELL_FORMED)
def test_no_call_starts_a_program_that_a_well_formed_file_names(
    place: Path, verb: str, mode: str
) -> None:
    """Nothing else of it is odd, so that nothing else is a reason to refuse it."""
    refused = {
        ("undo", "shared"): "is not provably yours", ("undo", "unpacked"): "add --apply",
        ("submit", "shared"): "others may change",
    }  # fmt: skip
    here = WELL_FORMED[verb](place, str(place / "outside" / "mpicxx"))
    here.chmod(MODES[mode])
    said = _require_inside(place, here, VERBS[verb][1])
    assert (
        refused.get((verb, mode), "repeat them") in said
        and not (place / "outside" / "started").exists()
    )


def _require_inside(place: Path, here: Path, words: tuple[str, ...]) -> str:
    """What the command said on standard error, after all its calls were looked at."""
    argv = [word.replace("HERE", str(here)).replace("OUT", str(place / "out")) for word in words]
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("XDG_")},
        "PATH": str(place / "bin"), "FABRICGAUGE_SITE_FILE": str(place / "none"),
        "HOME": str(place / "home"), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(place / "tmp"),
    }  # fmt: skip
    done = subprocess.run(
        [str(shutil.which("strace")), "-f", "-qq", "-y", "-s", "4096", "-e",
         "trace=%file,%network,execve", "-o", str(place / "trace"), sys.executable, "-m",
         "fabricgauge", *argv],
        env=env, cwd=place, capture_output=True, text=True, errors="replace", timeout=300,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 2, 3), done.stderr
    calls = list(_calls(place / "trace"))
    assert len(calls) > 100
    allowed = [place / "home", place / "out", place / "runs", place / "journal", place / "bundle"]
    assert [name for name, *_ in calls if name == "execve"] == ["execve"]
    assert not [call for call in calls if call[0] in ("connect", "sendto", "bind")]
    for name, words_, opened in calls:
        if opened and opened != "/dev/null":
            inside = Path(opened)
            assert not inside.is_relative_to(place / "outside") or inside.is_dir(), words_
            if WRITING.search(words_):
                assert any(map(inside.is_relative_to, allowed)), words_
        if CHANGING.match(name):
            for folder, file in NAMED.findall(words_):
                changed = Path(os.path.realpath(place / folder / Path(file).parent))
                assert any(map(changed.is_relative_to, [*allowed, place])), (name, words_)
                assert not changed.is_relative_to(place / "outside"), (name, words_)
    return done.stderr


def _calls(log: Path) -> Iterator[tuple[str, str, str]]:
    """Each call that succeeded: its name, its arguments, and the file that it opened."""
    for line in log.read_text(errors="replace").splitlines():
        if found := CALL.match(line):
            yield found[1], found[2], (found[4] or "").removesuffix(" (deleted)")
