"""A lab's directory is the user's alone."""

import os
from pathlib import Path

import pytest

from fabricgauge.lab import state
from fabricgauge.lab.holder import boot_id
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.up import down, status
from fabricgauge.model.errors import LabError


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "a b", "-x", "a" * 65])
def test_lab_name_fails_when_it_is_no_directory_name(name: str) -> None:
    with pytest.raises(LabError, match="cannot name a lab"):
        state.lab_directory(name)


def test_create_fails_when_the_lab_exists(runtime: Path) -> None:
    state.create("t-lab-twice")
    with pytest.raises(LabError, match="lab down t-lab-twice"):
        state.create("t-lab-twice")


def test_create_fails_when_others_may_write_there(runtime: Path) -> None:
    (runtime / "fabricgauge").mkdir()
    (runtime / "fabricgauge").chmod(0o777)
    with pytest.raises(LabError, match="only this user can write"):
        state.create("t-lab-open")


def lab_file(runtime: Path, name: str, directory: str) -> Path:
    """The file of a complete lab, as ``up`` writes it."""
    made = state.create(name)
    state.save(
        state.LabState(
            name=name, directory=str(made), token=MARK, boot_id=boot_id(), created_utc="",
            rootless=False, complete=True,
            nodes=(state.LabNode("head", 0, state.NodeHolder(1, 1, 1)),),
        )
    )  # fmt: skip
    path = made / "lab.json"
    path.write_text(path.read_text().replace(str(made), directory))
    return path


MARK = "feed"
PLACES = ("fabricgauge", "fabricgauge/labs", "fabricgauge/labs/t-lab-odd")


def all_refuse(name: str) -> None:
    for use in (state.load, state.load_complete, status, down):
        with pytest.raises(LabError, match="XDG_RUNTIME_DIR"):
            use(name)
    assert name not in state.names()
    assert all(found.name != name for found in status())


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_lab_fails_when_others_may_write_its_place(runtime: Path, where: str, mode: int) -> None:
    lab_file(runtime, "t-lab-odd", "/nowhere")
    (runtime / where).chmod(mode)
    all_refuse("t-lab-odd")
    assert (runtime / "fabricgauge/labs/t-lab-odd/lab.json").exists()


@pytest.mark.parametrize("where", PLACES)
def test_lab_fails_when_its_place_is_a_link(runtime: Path, where: str) -> None:
    lab_file(runtime, "t-lab-odd", "/nowhere")
    real = (runtime / where).rename(runtime / "elsewhere")
    (runtime / where).symlink_to(real)
    all_refuse("t-lab-odd")
    assert list(real.rglob("lab.json")) or (real / "lab.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a stranger's directory")
@pytest.mark.parametrize("where", PLACES)
def test_lab_fails_when_its_place_is_a_strangers(runtime: Path, where: str) -> None:
    lab_file(runtime, "t-lab-odd", "/nowhere")
    os.chown(runtime / where, 65534, 65534)
    all_refuse("t-lab-odd")


def test_create_fails_when_the_place_is_a_dangling_link(runtime: Path) -> None:
    (runtime / "fabricgauge").symlink_to(runtime / "nowhere")
    with pytest.raises(LabError, match="only this user can write"):
        state.create("t-lab-new")
    assert not (runtime / "nowhere").exists()


def test_the_files_word_for_its_place_is_not_taken(runtime: Path) -> None:
    path = lab_file(runtime, "t-lab-odd", "/nowhere")
    found = state.load("t-lab-odd")
    assert found.directory == str(path.parent)
    assert entry(found, "head")[1] == str(path.parent / "enter")


def test_runtime_directory_of_others_is_not_used(runtime: Path) -> None:
    runtime.chmod(0o777)
    assert runtime not in state.labs_root().parents


def test_down_removes_a_directory_that_was_never_written_to(runtime: Path) -> None:
    directory = state.create("t-lab-empty")
    assert down("t-lab-empty")
    assert not directory.exists()
    assert not down("t-lab-empty")


def test_down_removes_nothing_from_a_folder_that_holds_no_lab(runtime: Path) -> None:
    stray = state.create("t-lab-other") / "thesis.tex"
    stray.write_text("x")
    with pytest.raises(LabError, match="holds no lab"):
        down("t-lab-other")
    assert stray.exists()


def test_down_removes_nothing_when_a_file_in_the_folder_is_not_the_labs(runtime: Path) -> None:
    file = lab_file(runtime, "t-lab-guest", "/nowhere")
    (file.parent / "thesis.tex").write_text("x")
    with pytest.raises(LabError, match=r"thesis\.tex was not made by this program"):
        down("t-lab-guest")
    assert file.exists()
    (file.parent / "thesis.tex").unlink()
    assert down("t-lab-guest")


def test_down_says_what_to_do_when_the_file_is_damaged(runtime: Path) -> None:
    (state.create("t-lab-bad") / "lab.json").write_text("{")
    with pytest.raises(LabError, match="FABRICGAUGE_LAB_HOLDER"):
        down("t-lab-bad")
    assert state.names() == ("t-lab-bad",)


def test_load_fails_when_there_is_no_such_lab(runtime: Path) -> None:
    with pytest.raises(LabError, match="lab up t-lab-none"):
        state.load("t-lab-none")
