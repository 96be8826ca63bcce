"""Ready-made programs run on each Linux since 2014: their loader, libraries and symbol versions."""

import runpy
from pathlib import Path

import pytest
from tests.nodes.engines.elf_samples import elf

from fabricgauge.nodes.engines.ready_made import ReadyMade, ready_programs

ROOT = Path(__file__).resolve().parents[3]
find_trouble = runpy.run_path(str(ROOT / "scripts" / "build-programs"))["find_trouble"]

ENGINE = ReadyMade(
    "x86_64/libmpi.so.12/fabricgauge-engine", "engine", "x86_64", "libmpi.so.12", "0", 1, "clang",
    "x86_64-linux-gnu.2.17", (), "",
)  # fmt: skip
OLD = (("libc.so.6", ("GLIBC_2.2.5", "GLIBC_2.17")),)
NEEDED = ("libmpi.so.12", "libc.so.6")


@pytest.mark.parametrize(
    ("content", "trouble"),
    [
        (elf(needed=NEEDED, versions=OLD), ""),
        (elf(needed=NEEDED, versions=(("libc.so.6", ("GLIBC_2.34",)),)), "GLIBC_2.34"),
        (elf(needed=(*NEEDED, "libstdc++.so.6"), versions=OLD), "libstdc++.so.6"),
        (elf(needed=("libc.so.6",), versions=OLD), "libmpi.so.12"),
        (elf(needed=NEEDED, runpath="/opt/mpi/lib", versions=OLD), "/opt/mpi/lib"),
        (elf(needed=NEEDED, machine=183, versions=OLD), "x86_64"),
        (b"#!/bin/sh\n", "x86_64"),
    ],
)
def test_a_program_for_newer_systems_is_not_released(
    content: bytes, trouble: str, tmp_path: Path
) -> None:
    (tmp_path / "program").write_bytes(content)
    found = find_trouble(tmp_path / "program", ENGINE)
    assert trouble in found and bool(found) == bool(trouble)


def test_what_was_built_here_can_be_released() -> None:
    programs = ready_programs(ROOT / "build" / "programs")
    if not programs:
        pytest.skip("make wheels was not run here")
    assert {program.machine for program in programs} == {"x86_64", "aarch64"}
    for program in programs:
        assert find_trouble(ROOT / "build" / "programs" / program.file, program) == ""
    sonames = {program.soname for program in programs if program.kind == "engine"}
    assert sonames == {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.1"}
