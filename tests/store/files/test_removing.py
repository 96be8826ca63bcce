"""A folder is removed whole, or not at all."""

import os
import subprocess
from pathlib import Path

import pytest

from fabricgauge.store.files.writing import mounts_below, remove_folder


def test_folder_of_known_names_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    (folder / "table").mkdir(parents=True)
    (folder / "console.c1").write_text("x")
    (folder / "link").symlink_to(tmp_path)
    assert remove_folder(folder, ("table", "console.*", "link")) == ()
    assert not folder.exists()
    assert tmp_path.exists()


def test_folder_with_a_strangers_file_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "thesis.tex").write_text("x")
    (reason,) = remove_folder(tmp_path, ("table",))
    assert str(tmp_path / "thesis.tex") in reason
    assert {entry.name for entry in tmp_path.iterdir()} == {"table", "thesis.tex"}


def test_mounts_at_and_below_a_folder_are_recognised(tmp_path: Path) -> None:
    top = tmp_path / "a lab"
    top.mkdir()
    (tmp_path / "link").symlink_to(top)
    octal = str(top).replace(" ", "\\040")
    lines = [
        f"{number} 1 0:1 / {place} rw - tmpfs tmpfs rw"
        for number, place in enumerate([octal, f"{octal}/hosts", f"{octal}2", "/", str(tmp_path)])
    ]
    expected = (str(top), f"{top}/hosts")
    assert mounts_below(top, "\n".join([*lines, "", "damaged"])) == expected
    assert mounts_below(tmp_path / "link", "\n".join(lines)) == expected


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts without a namespace of its own")
def test_what_is_mounted_below_a_folder_is_kept(tmp_path: Path) -> None:
    elsewhere, below = tmp_path / "elsewhere", tmp_path / "lab" / "hosts"
    elsewhere.mkdir()
    below.mkdir(parents=True)
    (elsewhere / "precious").write_text("x")
    subprocess.run(["mount", "--bind", elsewhere, below], check=True)
    try:
        (reason,) = remove_folder(tmp_path / "lab")
    finally:
        subprocess.run(["umount", below], check=True)
    assert str(below) in reason
    assert (elsewhere / "precious").exists()
    assert remove_folder(tmp_path / "lab") == ()
