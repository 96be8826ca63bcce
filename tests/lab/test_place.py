"""A lab's directory is the user's alone."""

from pathlib import Path

import pytest

from fabricgauge.lab import place, state
from fabricgauge.lab.down import down
from fabricgauge.model.errors import LabError


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "a b", "-x", "a" * 65])
def test_lab_name_fails_when_it_is_no_directory_name(name: str) -> None:
    with pytest.raises(LabError, match="cannot name a lab"):
        place.lab_directory(name)


def test_create_fails_when_the_lab_exists(runtime: Path) -> None:
    place.create("t-lab-twice")
    with pytest.raises(LabError, match="lab down --name t-lab-twice"):
        place.create("t-lab-twice")


def test_create_fails_when_others_may_write_there(runtime: Path) -> None:
    (runtime / "fabricgauge").mkdir()
    (runtime / "fabricgauge").chmod(0o777)
    with pytest.raises(LabError, match="does not belong to this user alone"):
        place.create("t-lab-open")


def test_runtime_directory_of_others_is_not_used(runtime: Path) -> None:
    runtime.chmod(0o777)
    assert runtime not in place.labs_root().parents


def test_down_removes_a_directory_that_was_never_written_to(runtime: Path) -> None:
    directory = place.create("t-lab-empty")
    assert down("t-lab-empty")
    assert not directory.exists()
    assert not down("t-lab-empty")


def test_down_says_what_to_do_when_the_file_is_damaged(runtime: Path) -> None:
    (place.create("t-lab-bad") / "lab.json").write_text("{")
    with pytest.raises(LabError, match="FABRICGAUGE_LAB_HOLDER"):
        down("t-lab-bad")
    assert state.names() == ("t-lab-bad",)


def test_load_fails_when_there_is_no_such_lab(runtime: Path) -> None:
    with pytest.raises(LabError, match="lab up --name t-lab-none"):
        state.load("t-lab-none")
