"""Without a compiler one sentence says that a soak needs one."""

from pathlib import Path

import pytest

from fabricgauge.features.soak.program import PROGRAM, soak_program
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun


def make_engine(program: Path) -> Engine:
    mpi = Mpi("mpich", "4.0", program.with_name("mpicxx"), program.with_name("mpiexec"))
    return Engine(program, mpi, "engine", (), "")


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="--soak compiles its own program on this machine") as error:
        soak_program(make_engine(tmp_path / PROGRAM))
    assert str(tmp_path / "mpicxx") in str(error.value)
