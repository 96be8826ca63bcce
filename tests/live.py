"""Labs and checks for tests that measure; a folder takes them with its ``conftest.py``."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, Checked, fabricgauge
from tests.nodes.engines.launched import engine_for


@pytest.fixture(scope="session")
def engine() -> None:
    """Build the engine beforehand, so that no test waits for a compiler."""
    engine_for("embedded")


@pytest.fixture(autouse=True)
def built(request: pytest.FixtureRequest) -> None:
    """Only what measures needs it."""
    if any(map(request.node.get_closest_marker, ("lab", "engine"))):
        request.getfixturevalue("engine")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """``start(*options)`` begins a check in the background; it is gone afterwards."""
    children: list[subprocess.Popen[str]] = []

    def begin(*options: str) -> "subprocess.Popen[str]":
        argv = [str(PROGRAM), "check", "-o", str(tmp_path), *options]
        pipe = subprocess.PIPE
        children.append(subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True))
        return children[-1]

    yield begin
    for child in children:
        child.terminate()
        child.communicate(timeout=30)


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Callable[..., str]]:
    """``lab(*options)`` brings one up and returns its name; all are gone afterwards."""
    names: list[str] = []

    def up(*options: str) -> str:
        name = f"t-check-{os.getpid()}-{len(names)}"
        made = fabricgauge("lab", "up", "--name", name, *options)
        if made.returncode:
            pytest.skip(f"no lab can be made here: {made.stderr.strip()}")
        names.append(name)
        return name

    yield up
    for name in names:
        fabricgauge("lab", "down", "--name", name)


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., Checked]:
    """``check(*options)`` runs a check and reads what it left."""

    def run(*options: str) -> Checked:
        return Checked(fabricgauge("check", "-o", str(tmp_path), *options), tmp_path)

    return run


@pytest.fixture
def fault() -> Callable[..., None]:
    """``fault(lab, kind, node, network, value)`` puts a fault on a link."""

    def inject(name: str, *words: str) -> None:
        done = fabricgauge("lab", "fault", "--name", name, *words)
        assert done.returncode == 0, done.stderr

    return inject


def hide(lab: str, *folders: Path) -> None:
    """Hide the head's folders from both nodes of a lab."""
    for node in ("c1", "c2"):
        for folder in folders:
            words = ("mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", str(folder))
            done = fabricgauge("lab", "exec", "--name", lab, node, "--", *words)
            assert done.returncode == 0, done.stderr
