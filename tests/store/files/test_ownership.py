"""What is provably the user's own, and what others could have put there."""

import os
from pathlib import Path

import pytest

from fabricgauge.store.files import ownership
from fabricgauge.store.files.ownership import not_own

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    inside = tmp_path / "mine" / "run.json"
    inside.parent.mkdir(mode=0o700)
    inside.write_text("{}")
    inside.chmod(0o600)
    return inside


def test_a_file_that_nobody_else_can_change_is_the_users_own(file: Path) -> None:
    assert not_own(file) == not_own(file.parent) == ""


@pytest.mark.parametrize("mode", [0o602, 0o666])
def test_a_file_that_others_may_write_is_not(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert not_own(file) == f"{file} may be written by others"


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_nor_one_in_a_folder_where_others_may_replace_it(file: Path, mode: int) -> None:
    file.parent.chmod(mode)
    assert not_own(file) == f"{file.parent} may be written by others"


def test_nobody_replaces_a_file_of_ours_in_a_sticky_folder(file: Path) -> None:
    file.parent.chmod(0o1777)
    assert not_own(file) == ""
    assert not_own(file.parent) != ""


@root_only
def test_another_users_file_or_folder_is_not_ours_nor_is_what_is_below_it(file: Path) -> None:
    os.chown(file, 4321, 4321)
    assert not_own(file) == f"{file} belongs to user 4321"
    os.chown(file, 0, 0)
    os.chown(file.parent, 4321, 4321)
    assert not_own(file) == f"{file.parent} belongs to user 4321"


def test_roots_files_are_a_sites_and_not_ones_own(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = file.stat().st_uid
    monkeypatch.setattr("fabricgauge.store.files.ownership.os.geteuid", lambda: here + 7)
    monkeypatch.setattr(ownership, "_root_ids", lambda: {0, here})
    assert "belongs to" in not_own(file)
    assert not_own(file, or_roots=True) == ""


@root_only
def test_a_group_of_others_counts_as_others_and_a_private_one_does_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.chmod(0o660)
    os.chown(file, 0, 4321)
    assert "may be written" in not_own(file)
    os.chown(file, 0, 0)
    monkeypatch.setattr(ownership, "_is_private", lambda group, user: (group, user) == (0, 0))
    assert not_own(file) == ""


def test_a_link_is_asked_for_what_it_leads_to(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file)
    assert not_own(link) == ""
    file.chmod(0o666)
    assert "may be written" in not_own(link)


def test_whoever_may_turn_a_link_on_the_way_decides_what_is_found(
    file: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    (shared / "way").symlink_to(file.parent)
    (tmp_path / "to").symlink_to("shared/way")
    for path in (shared / "way" / file.name, tmp_path / "to" / file.name):
        shared.chmod(0o700)
        assert not_own(path) == ""
        shared.chmod(0o777)
        assert not_own(path) == f"{shared} may be written by others"


@root_only
def test_a_link_that_belongs_to_another_user_leads_where_that_one_wants(
    file: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "way").symlink_to(file.parent)
    assert not_own(tmp_path / "way" / file.name) == ""
    os.chown(tmp_path / "way", 4321, 4321, follow_symlinks=False)
    assert not_own(tmp_path / "way" / file.name) == f"{tmp_path}/way belongs to user 4321"


def test_what_is_not_there_is_not_ours(tmp_path: Path) -> None:
    assert "cannot be examined" in not_own(tmp_path / "none")
    (tmp_path / "a").symlink_to("a")
    assert not_own(tmp_path / "a") != ""
