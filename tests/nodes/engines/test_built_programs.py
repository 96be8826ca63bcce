"""Ready-made programs run on each Linux since 2014: their loader, libraries and symbol versions."""

import re
import runpy
from pathlib import Path

import msgspec
import pytest
from tests.nodes.engines.elf_samples import elf

from fabricgauge.nodes.engines.ready_made import (
    MANIFEST,
    ReadyMade,
    encode_manifest,
    ready_programs,
)

ROOT = Path(__file__).resolve().parents[3]
find_trouble = runpy.run_path(str(ROOT / "scripts" / "build-programs"))["find_trouble"]
DIGEST = runpy.run_path(str(ROOT / "scripts" / "engine_digest.py"))
find_stale, digest_programs = DIGEST["find_stale"], DIGEST["digest_programs"]

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


@pytest.mark.parametrize("folder", ["src", "connect", "path", "profile", "calls"])
def test_wheel_fails_when_the_engine_changed_after_its_programs_were_built(
    folder: str, tmp_path: Path
) -> None:
    engine, programs = tmp_path / "engine", tmp_path / "programs"
    for place in (engine / "src", engine / folder, programs):
        place.mkdir(parents=True, exist_ok=True)
    (engine / folder / "main.cpp").write_text("int main() {}\n")
    assert "programs.json does not exist" in find_stale(programs, engine)
    built = msgspec.structs.replace(ENGINE, sources=digest_programs(engine))
    (programs / MANIFEST).write_bytes(encode_manifest((built, built)))
    assert find_stale(programs, engine) == ""
    (engine / folder / "main.cpp").write_text("int main() { return 1; }\n")
    assert find_stale(programs, engine).startswith("2 of 2 programs")


def test_digest_of_the_programs_covers_each_folder_that_is_compiled() -> None:
    engine = ROOT / "engine"
    script = (ROOT / "scripts" / "build-programs").read_text()
    compiled = set(re.findall(r'sources / "(\w+)"', script)) | {"src"}
    assert compiled <= set(DIGEST["FOLDERS"])
    assert all((engine / name).is_dir() for name in DIGEST["FOLDERS"])
