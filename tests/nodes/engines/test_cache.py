"""Builds appear whole or not at all."""

import os
from pathlib import Path

import pytest

from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines import build, ready_made
from fabricgauge.store.files.ownership import not_own

MPI = Mpi("mpich", "5.0.2", Path("/opt/mpi/bin/mpicxx"), Path("/opt/mpi/bin/mpiexec"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def keep_one(identity: str) -> Engine:
    with build.build_folder() as folder:
        program = folder / build.PROGRAM
        program.write_text(identity)
        program.chmod(0o755)
        return build.store_engine(Engine(program, MPI, identity, ("-O2",), "g++ 12"), program)


def test_a_kept_engine_is_found_by_its_identity() -> None:
    engine = keep_one("abc")
    assert build.cached_engine("abc") == engine
    assert engine.path.read_text() == "abc"
    assert list(build.cached_engines()) == [engine]


def test_keeping_again_replaces() -> None:
    keep_one("abc")
    assert build.cached_engine("abc") == keep_one("abc")
    assert [entry.name for entry in build.cache_folder().iterdir()] == ["abc"]


def test_a_failed_build_leaves_nothing() -> None:
    with pytest.raises(RuntimeError), build.build_folder() as folder:
        (folder / "half.o").write_text("half")
        raise RuntimeError
    assert list(build.cache_folder().iterdir()) == []


@pytest.mark.parametrize("text", ["", "{}", '{"path":', "[]"])
def test_a_damaged_description_is_no_engine(text: str) -> None:
    engine = keep_one("abc")
    (engine.path.parent / build.DESCRIPTION).write_text(text)
    assert build.cached_engine("abc") is None
    assert list(build.cached_engines()) == []


def test_an_engine_whose_program_is_gone_is_none() -> None:
    keep_one("abc").path.unlink()
    assert build.cached_engine("abc") is None


def test_nothing_is_kept_before_the_first_build() -> None:
    assert list(build.cached_engines()) == []


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert build.cache_folder() == Path.home() / ".cache" / "fabricgauge" / "engines"


def test_nothing_is_built_where_others_could_change_it() -> None:
    keep_one("abc")
    build.cache_folder().chmod(0o777)
    assert build.cached_engine("abc") is None
    with pytest.raises(CannotRun, match="may be written by others; .*set XDG_CACHE_HOME"):
        keep_one("abc")


def test_a_program_in_the_place_of_the_connecting_one_is_not_started() -> None:
    """It would be started on every node."""
    place = ready_made.connect_program()
    if isinstance(place, Skipped):
        pytest.skip(place.reason)
    place.chmod(0o777)
    place.write_text("#!/bin/sh\necho evil\n")
    assert ready_made.connect_program() == place
    assert place.read_bytes()[:4] == b"\x7fELF" and not place.stat().st_mode & 0o022


def test_machines_of_two_processors_share_no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    found: set[str] = set()

    def cached_files(identity: str, names: list[str], _make: object) -> tuple[Path, ...]:
        found.add(identity)
        return tuple(map(Path, names))

    monkeypatch.setattr(ready_made, "cached_files", cached_files)
    for machine in ("x86_64", "aarch64"):
        monkeypatch.setattr("platform.machine", lambda said=machine: said)
        found.add(build.identity_of(["g++"]))
        assert ready_made.connect_program() == Path(ready_made.CONNECT_PROGRAM)
    assert len(found) == 4


def test_the_cache_is_the_users_alone_whatever_the_umask() -> None:
    before = os.umask(0)
    try:
        with build.build_folder() as folder:
            (folder / "made").mkdir()
            program = folder / "made" / build.PROGRAM
            program.write_text("linked")
            program.chmod(0o777)
            build.store_engine(Engine(program, MPI, "abc", (), ""), program)
            (folder / "made" / "unit.o").write_text("compiled")
            build.store_folder(folder / "made", build.cache_folder() / "core")
    finally:
        os.umask(before)
    assert build.cached_engine("abc")
    assert not not_own(build.cache_folder() / "core" / "unit.o")
