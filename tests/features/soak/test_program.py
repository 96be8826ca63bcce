"""The program of a soak reaches nodes that lack it; without a compiler one sentence names that."""

import os
from pathlib import Path

import pytest

from fabricgauge.features.soak.program import PROGRAM, program_on_nodes, soak_program
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import Host

#: Nodes that are folders of this machine.
NODES = (Host("c1", ("env",)), Host("c2", ("env",)))


def make_engine(program: Path) -> Engine:
    mpi = Mpi("mpich", "4.0", program.with_name("mpicxx"), program.with_name("mpiexec"))
    return Engine(program, mpi, "engine", (), "")


def make_program(folder: Path, mode: int) -> Path:
    program = folder / PROGRAM
    program.write_bytes(b"#!/bin/sh\n" + os.urandom(1000))
    program.chmod(mode)
    return program


def test_nodes_that_lack_the_program_get_it_for_the_soak(tmp_path: Path) -> None:
    program, base = make_program(tmp_path, 0o644), tmp_path / "node"  # no node can start it there
    with program_on_nodes(make_engine(program), NODES[:1], (str(base),)) as engine:
        assert engine.path.is_relative_to(base)
        assert engine.path.read_bytes() == program.read_bytes()
        assert os.access(engine.path, os.X_OK)
    assert not base.exists()


def test_a_shared_program_stays_where_it_is(tmp_path: Path) -> None:
    program = make_program(tmp_path, 0o755)
    with program_on_nodes(make_engine(program), NODES, (str(tmp_path / "node"),)) as engine:
        assert engine.path == program


def test_a_node_that_cannot_hold_it_is_named(tmp_path: Path) -> None:
    program, blocked = make_program(tmp_path, 0o644), tmp_path / "node"
    blocked.write_text("a file, where a folder is needed")
    with (
        pytest.raises(CannotRun, match=r"^c1 cannot hold the program of --soak: "),
        program_on_nodes(make_engine(program), NODES[:1], (str(blocked),)),
    ):
        pass


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="--soak compiles its own program on this machine") as error:
        soak_program(make_engine(tmp_path / PROGRAM))
    assert str(tmp_path / "mpicxx") in str(error.value)
