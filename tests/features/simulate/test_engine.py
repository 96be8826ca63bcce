"""Finding SimGrid, and building against it once."""

from pathlib import Path

import pytest
from tests.nodes.engines.launched import engine_for

from fabricgauge.features.simulate import engine as simgrid
from fabricgauge.features.simulate.engine import find_simgrid, simulated_engine
from fabricgauge.model.engine import SIMULATED_LIBRARY
from fabricgauge.model.errors import CannotRun, ToolMissing


def _wrapper(folder: Path, says: str) -> None:
    script = folder / "smpicxx"
    script.write_text(f"#!/bin/sh\n{says}\n")
    script.chmod(0o755)


def test_simgrid_fails_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="libsimgrid-dev"):
        find_simgrid()


@pytest.mark.parametrize(
    "says",
    ["exit 1", "echo SimGrid version 3.32", "echo c++ (GCC) 12 -L/usr/lib"],
)  # fmt: skip
def test_simgrid_fails_when_its_wrapper_is_not_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    _wrapper(tmp_path, says)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(CannotRun, match=str(tmp_path)):
        find_simgrid()


def test_a_wrapper_that_answers_is_found_with_its_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = tmp_path / "lib" / "simgrid" / "smpimain"
    main.parent.mkdir(parents=True)
    main.touch(mode=0o755)
    _wrapper(
        tmp_path,
        '[ "$1" = --version ] && echo SimGrid version 3.36.1 || '
        f"echo c++ -L{tmp_path}/lib -lsimgrid",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_simgrid()
    assert (found.kind, found.version, found.mpiexec) == ("simgrid", "3.36.1", main)


@pytest.mark.engine
def test_a_second_engine_is_the_kept_one(monkeypatch: pytest.MonkeyPatch) -> None:
    first = engine_for("simulated")

    def refuse(*_: object) -> Path:
        raise AssertionError("it was compiled again")

    monkeypatch.setattr(simgrid, "_compile_engine", refuse)
    announced: list[str] = []
    assert simulated_engine(lambda: announced.append("a build")) == first
    assert announced == []
    assert (first.path.parent / SIMULATED_LIBRARY).exists()
