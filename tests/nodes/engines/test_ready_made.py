"""Which ready-made engine an MPI gets, and which one is refused."""

import hashlib
import platform
from pathlib import Path

import pytest
from tests.nodes.engines.elf_samples import elf

from fabricgauge.model.engine import Engine, Mpi, MpiKind
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines import ready_made
from fabricgauge.nodes.engines.build import FLAGS, digest, source_folder, store_engine
from fabricgauge.nodes.engines.find import MACHINES, find_library
from fabricgauge.nodes.engines.ready_made import (
    ReadyMade,
    encode_manifest,
    ready_engine,
    ready_libraries,
)

HERE = {name: number for number, name in MACHINES.items()}[platform.machine()]
OTHER = 183 if HERE == 62 else 62


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


def make_mpi(home: Path, kind: MpiKind = "mpich", **libraries: int) -> Mpi:
    """An MPI with its launcher; ``libraries`` are sonames, in which _ is a dot, by processor."""
    for name in ("bin", "lib"):
        (home / name).mkdir(parents=True, exist_ok=True)
    launcher = home / "bin" / "mpiexec.hydra"
    launcher.write_text("#!/bin/sh\n")
    for name, machine in libraries.items():
        soname = name.replace("_", ".")
        (home / "lib" / soname).write_bytes(elf(machine=machine, soname=soname))
    return Mpi(kind, "5.0", home / "bin" / "mpicxx", launcher)


def make_programs(folder: Path, *sonames: str) -> Path:
    programs = []
    for soname in sonames:
        file = folder / soname / "fabricgauge-engine"
        file.parent.mkdir(parents=True)
        file.write_text(f"engine for {soname}")
        file.chmod(0o755)
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        programs.append(ReadyMade(
            f"{soname}/fabricgauge-engine", "engine", platform.machine(), soname, sha256, 9,
            "clang 20", "x86_64-linux-gnu.2.17", FLAGS, "sources",
        ))  # fmt: skip
    (folder / ready_made.MANIFEST).write_bytes(encode_manifest(programs))
    return folder


def test_the_abi_of_the_mpis_library_decides(tmp_path: Path) -> None:
    folder = make_programs(tmp_path / "p", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40")
    mpi = make_mpi(tmp_path / "mpi", libmpich_so_12=HERE)
    engine = ready_engine(mpi, folder)
    assert engine is not None
    assert engine.path.read_text() == "engine for libmpich.so.12"
    assert engine.ready_made and engine.target == "x86_64-linux-gnu.2.17"
    assert engine.sha256 == hashlib.sha256(engine.path.read_bytes()).hexdigest()
    assert engine.library_path == (str(tmp_path / "mpi" / "lib"),)
    assert engine.library == str(tmp_path / "mpi" / "lib" / "libmpich.so.12")


def test_an_unknown_abi_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    folder = make_programs(tmp_path / "p", "libmpi.so.12", "libmpi.so.40")
    mpi = make_mpi(tmp_path / "mpi", "openmpi", libmpi_so_20=HERE)
    with pytest.raises(CannotRun) as refused:
        ready_engine(mpi, folder)
    message = str(refused.value)
    assert "has the ABI libmpi.so.20" in message
    assert "libmpi.so.12, libmpi.so.40" in message
    assert "engine build --mpicxx" in message
    assert "\n" not in message


def test_the_libraries_of_this_processor_are_listed(tmp_path: Path) -> None:
    assert ready_libraries(make_programs(tmp_path, "libmpi.so.40", "libmpi.so.12")) == [
        "libmpi.so.12", "libmpi.so.40",
    ]  # fmt: skip


def test_a_library_of_another_processor_is_none(tmp_path: Path) -> None:
    mpi = make_mpi(tmp_path / "mpi", libmpi_so_12=OTHER)
    with pytest.raises(CannotRun, match=r"was found in none of"):
        find_library(mpi)


def test_a_changed_program_is_refused(tmp_path: Path) -> None:
    folder = make_programs(tmp_path / "p", "libmpi.so.12")
    (folder / "libmpi.so.12" / "fabricgauge-engine").write_text("something else")
    with pytest.raises(CannotRun, match="differs from the released file"):
        ready_engine(make_mpi(tmp_path / "mpi", libmpi_so_12=HERE), folder)


def test_a_checkout_has_no_ready_made_programs(tmp_path: Path) -> None:
    assert ready_engine(make_mpi(tmp_path / "mpi", libmpi_so_12=HERE), tmp_path / "none") is None


def test_an_engine_that_was_built_has_precedence(tmp_path: Path) -> None:
    folder = make_programs(tmp_path / "p", "libmpi.so.12")
    mpi = make_mpi(tmp_path / "mpi", libmpi_so_12=HERE)
    program = tmp_path / "built"
    program.write_text("built here")
    program.chmod(0o755)
    sources = digest(source_folder())
    (tmp_path / "cache").mkdir()
    stored = store_engine(Engine(program, mpi, "0" * 16, FLAGS, "g++", sources=sources), program)
    assert ready_engine(mpi, folder) == stored
    other = Mpi(mpi.kind, "4.0", mpi.mpicxx, mpi.mpiexec)
    engine = ready_engine(other, folder)
    assert engine is not None and engine.ready_made
