"""Output fits terminals of 60 to 200 columns, and has colours only where they are wanted."""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.typed import typed

PROGRAM = Path(sys.executable).with_name("fabricgauge")
RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
#: Results of features: each kind of directory that `report` shows.
STORED = RUNS.parent / "stored"
HEALTHY = str(next((RUNS / "0.1.0--healthy").iterdir()))
SLOW = str(next((RUNS / "0.1.0--slow-node").iterdir()))
TRACED = str(next((STORED / "0.2.0--traced").iterdir()))
VARIED = str(next((STORED / "0.2.0--varied").iterdir()))
WIDTHS = (60, 80, 200)

#: Lines to be copied are never broken: commands and paths.
_COPIED = re.compile(r"^\s*(?:Run |HTML report |on \w+: |here: |fabricgauge |scontrol |.*/\S{30,})")


def too_long(text: str, columns: int) -> list[str]:
    return [line for line in text.splitlines() if len(line) > columns and not _COPIED.match(line)]


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize(
    "words",
    [
        ("report", HEALTHY), ("report", HEALTHY, "-v"), ("report", SLOW), ("report", TRACED),
        ("report", VARIED), ("compare", HEALTHY, SLOW), ("explain",), ("explain", "fraction"),
        ("doctor", "--from", str(RUNS / "0.1.0--discovered-mtu")),
        ("discover", "--from", str(RUNS / "0.1.0--discovered-mtu")),
    ],
    ids=lambda words: " ".join(Path(word).name for word in words),
)  # fmt: skip
def test_no_line_is_longer_than_the_terminal(words: tuple[str, ...], columns: int) -> None:
    output = typed(*words, COLUMNS=str(columns)).output
    assert output.count("\n") > 4
    assert too_long(output, min(columns, 140)) == []


@pytest.mark.parametrize("columns", WIDTHS)
def test_help_fits(columns: int) -> None:
    for words in (["--help"], ["help"], ["help", "check"]):
        env = {**os.environ, "COLUMNS": str(columns)}
        done = subprocess.run(
            [PROGRAM, *words], capture_output=True, text=True, env=env, check=True
        )
        assert too_long(done.stdout, columns) == []


def on_terminal(*words: str, **env: str) -> str:
    """Return what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    child = subprocess.Popen(
        [PROGRAM, *words], stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, **env}
    )
    os.close(theirs)
    output = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            output += os.read(ours, 65536)
        except OSError:  # Linux reports the closed end as an error
            break
    os.close(ours)
    child.wait(timeout=60)
    return output.decode()


COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3|4|9|10)[0-7]")


@pytest.mark.parametrize(
    ("env", "colours", "escapes"),
    [
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False, False),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({}, False, False),
    ],
)
def test_colours_are_shown_where_they_are_wanted(
    env: dict[str, str], colours: bool, escapes: bool
) -> None:
    output = on_terminal("report", HEALTHY, **env)
    assert "PASS" in output
    assert bool(COLOUR.search(output)) is colours
    assert ("\x1b" in output) is escapes
