"""The sources' digest stands for what is compiled."""

from pathlib import Path

import pytest

from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines import build


def make_sources(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "include" / "fabricgauge").mkdir(parents=True)
    (folder / "src" / "main.cpp").write_text("int main() {}\n")
    (folder / "src" / "own.hpp").write_text("#pragma once\n")
    (folder / "include" / "fabricgauge" / "a.hpp").write_text("#pragma once\n")
    return folder


@pytest.mark.parametrize("name", ["src/main.cpp", "src/own.hpp", "include/fabricgauge/a.hpp"])
def test_digest_changes_when_a_file_does(tmp_path: Path, name: str) -> None:
    folder = make_sources(tmp_path / "engine")
    before = build.digest(folder)
    (folder / name).write_text("// changed\n")
    assert build.digest(folder) != before


def test_digest_is_that_of_a_copy_elsewhere(tmp_path: Path) -> None:
    first = build.digest(make_sources(tmp_path / "one"))
    assert first == build.digest(make_sources(tmp_path / "two"))


def test_the_checkout_has_the_sources() -> None:
    names = {unit.name for unit in build.translation_units(build.source_folder())}
    assert {"main.cpp", "mpi_transport.cpp", "histogram.cpp"} <= names


def test_source_folder_fails_when_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "INSTALLED", tmp_path / "a")
    monkeypatch.setattr(build, "CHECKOUT", tmp_path / "b")
    with pytest.raises(CannotRun, match="install fabricgauge again"):
        build.source_folder()
