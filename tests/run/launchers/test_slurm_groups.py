"""Groups that Slurm knows, from a program that stands in for sinfo."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fabricgauge.model.errors import UsageError
from fabricgauge.run.launchers.nodes import expand

Sinfo = Callable[..., Path]


@pytest.fixture
def sinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sinfo:
    """Put a sinfo in the way that prints this and notes its words, a line each."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(out: str, status: int = 0) -> Path:
        (tmp_path / "out").write_text(out)
        program = tmp_path / "sinfo"
        program.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" >"{tmp_path}/words"\ncat "{tmp_path}/out"\n'
            f"echo no controller >&2\nexit {status}\n"
        )
        program.chmod(0o755)
        return tmp_path / "words"

    return make


def test_a_partition_is_its_nodes(sinfo: Sinfo) -> None:
    words = sinfo("c[1-2]\nd7\n")
    assert expand("@partition:normal", "c2") == ("c1", "d7")
    assert "--partition=normal" in words.read_text().splitlines()


def test_idle_nodes_alone_can_be_asked_for(sinfo: Sinfo) -> None:
    words = sinfo("c2\n")
    assert expand("@idle:normal") == ("c2",)
    assert "--states=idle" in words.read_text().splitlines()


def test_no_idle_node_is_said(sinfo: Sinfo) -> None:
    sinfo("")
    with pytest.raises(UsageError, match="no node is left"):
        expand("@idle:normal")


def test_a_hostile_name_is_one_word_or_refused(sinfo: Sinfo, tmp_path: Path) -> None:
    sinfo("c1\n")
    for name in ("@idle:$(touch x)", "@idle:;touch x", "@partition:--help"):
        try:
            expand(name)
        except UsageError:
            continue
    assert not list(tmp_path.rglob("x"))
    assert not Path("x").exists()


def test_a_controller_that_does_not_answer_is_quoted(sinfo: Sinfo) -> None:
    sinfo("", status=1)
    with pytest.raises(UsageError, match="no controller"):
        expand("@partition:normal")


def test_without_slurm_the_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="sinfo"):
        expand("@partition:normal")
