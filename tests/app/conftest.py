"""Labs and checks for the tests in this folder."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.app.commands import Checked, fabricgauge


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

    def run(*options: str, **env: str) -> Checked:
        return Checked(fabricgauge("check", "-o", str(tmp_path), *options, **env), tmp_path)

    return run


@pytest.fixture
def fault() -> Callable[..., None]:
    """``fault(lab, kind, node, network, value)`` puts a fault on a link."""

    def inject(name: str, *words: str) -> None:
        done = fabricgauge("lab", "fault", "--name", name, *words)
        assert done.returncode == 0, done.stderr

    return inject
