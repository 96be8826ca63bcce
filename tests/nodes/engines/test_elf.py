"""What a loader reads from a program: on files made field by field, and on this machine's own."""

import ctypes.util
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nodes.engines.elf_samples import elf

from fabricgauge.nodes.engines.find import parse_elf

VERSIONS = (
    ("libc.so.6", ("GLIBC_2.2.5", "GLIBC_2.17")),
    ("libm.so.6", ("GLIBC_2.4",)),
    ("libstdc++.so.6", ("GLIBCXX_3.4.30",)),
)


def test_all_fields_are_read() -> None:
    content = elf(
        machine=183, soname="libmpi.so.12", needed=("libc.so.6", "libm.so.6"), runpath="/opt/lib",
        versions=VERSIONS,
    )  # fmt: skip
    read = parse_elf(content)
    assert read is not None
    assert (read.machine, read.soname, read.runpath) == ("aarch64", "libmpi.so.12", "/opt/lib")
    assert read.needed == ("libc.so.6", "libm.so.6")
    assert read.versions == dict(VERSIONS)
    assert read.highest("GLIBC_") == (2, 17)
    assert read.highest("GLIBCXX_") == (3, 4, 30)
    assert read.highest("CXXABI_") == ()


def test_the_highest_version_is_a_number_not_a_text() -> None:
    read = parse_elf(elf(versions=(("libc.so.6", ("GLIBC_2.9", "GLIBC_2.34", "GLIBC_PRIVATE")),)))
    assert read is not None
    assert read.highest("GLIBC_") == (2, 34)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(60)])
def test_other_files_are_none(content: bytes) -> None:
    assert parse_elf(content) is None


@given(
    st.integers(0, 700), st.lists(st.tuples(st.integers(0, 699), st.integers(0, 255)), max_size=8)
)
def test_no_damage_raises(length: int, changes: list[tuple[int, int]]) -> None:
    content = bytearray(elf(soname="libmpi.so.12", needed=("libc.so.6",), versions=VERSIONS))
    for place, value in changes:
        content[place % len(content)] = value
    parse_elf(bytes(content[:length]))


@given(st.binary(max_size=300))
def test_no_bytes_raise(content: bytes) -> None:
    parse_elf(b"\x7fELF\x02\x01" + content)


def test_a_program_of_this_machine_needs_its_c_library() -> None:
    name = ctypes.util.find_library("c")
    shell = parse_elf(Path(shutil.which("sh") or "").read_bytes())
    assert shell is not None
    assert name in shell.needed
    assert shell.interpreter.startswith("/lib")
    assert shell.highest("GLIBC_") >= (2, 2, 5)
