"""Groups of files, and those that Slurm knows, from a program that stands in for sinfo."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricgauge.model.errors import UsageError
from fabricgauge.nodes.launch.launchers import nodes
from fabricgauge.nodes.launch.launchers.nodes import expand

Sinfo = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's groups.conf; there are no others of a site's."""
    monkeypatch.setattr(nodes, "SITE", tmp_path / "none")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    nodes.resolver.cache_clear()
    yield tmp_path / "config" / "clustershell" / "groups.conf"
    nodes.resolver.cache_clear()


def test_the_sample_that_pip_installs_beside_clustershell_is_no_cluster() -> None:
    sample = Path(sys.prefix) / "etc" / "clustershell" / "groups.d" / "local.cfg"
    assert "example" in sample.read_text()
    with pytest.raises(UsageError, match="compute"):
        expand("@compute")


def write_groups(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(
        f"[Main]\ndefault: mine\n[mine]\nmap: touch {file}.ran && echo c[1-2]\nlist: echo x\n"
    )


def test_the_users_own_groups_are_obeyed_unless_others_can_change_them(own_groups: Path) -> None:
    write_groups(own_groups)
    assert expand("@x") == ("c1", "c2")
    Path(f"{own_groups}.ran").unlink()
    own_groups.chmod(0o666)
    nodes.resolver.cache_clear()
    with pytest.raises(UsageError, match=r"groups\.conf holds commands, and others can change it"):
        expand("@x")
    assert not Path(f"{own_groups}.ran").exists()


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
    with pytest.raises(UsageError, match="no node remains"):
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
