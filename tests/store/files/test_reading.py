"""What is read is a regular file, of bounded length, inside what was named."""

import os
from pathlib import Path

import pytest

from fabricgauge.store.files.reading import opened, read_bytes, read_end, shown


@pytest.fixture
def named(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    named = tmp_path / "named"
    named.mkdir()
    (named / "own").write_text("own")
    return named


def test_a_link_that_stays_inside_is_followed(named: Path) -> None:
    (named / "link").symlink_to("own")
    assert read_bytes(named / "link", named) == b"own"


@pytest.mark.parametrize("leads_to", ["../secret", "/proc/self/environ", "/dev/zero", "link"])
def test_a_link_that_leads_out_is_not(named: Path, leads_to: str) -> None:
    (named / "link").symlink_to(leads_to)
    with pytest.raises(OSError, match="link"):
        read_bytes(named / "link", named)


def test_nor_is_one_of_a_folder_on_the_way(named: Path) -> None:
    (named / "out").symlink_to("..")
    with pytest.raises(OSError, match="leads out of"):
        read_bytes(named / "out" / "secret", named)


def test_a_link_that_is_put_there_between_looking_and_opening_is_not_followed(
    named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (named / "folder").mkdir()
    (named / "folder" / "file").write_text("own")
    (named.parent / "elsewhere").mkdir()
    (named.parent / "elsewhere" / "file").write_text("secret")
    real = os.open

    def swap(path: object, flags: int) -> int:
        (named / "folder").rename(named / "was")
        (named / "folder").symlink_to("../elsewhere")
        return real(path, flags)  # type: ignore[arg-type]

    monkeypatch.setattr("fabricgauge.store.files.reading.os.open", swap)
    with pytest.raises(OSError, match="leads out of"):
        opened(named / "folder" / "file", named)


@pytest.mark.parametrize("what", ["pipe", "device", "directory"])
def test_what_is_no_regular_file_is_refused_at_once(named: Path, what: str) -> None:
    place = named / what
    if what == "pipe":
        os.mkfifo(place)
    elif what == "directory":
        place.mkdir()
    else:
        place = Path("/dev/zero")
    with pytest.raises(OSError, match=f"it is a {what}, no regular file"):
        read_bytes(place)


def test_a_file_of_the_kernels_that_would_be_waited_for_is_refused(
    named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/proc/kmsg and trace_pipe say that they are regular; reading nothing from them is no end."""

    def nothing_yet(*_: object) -> bytes:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    (named / "file").write_text("x")
    monkeypatch.setattr("fabricgauge.store.files.reading.os.pread", nothing_yet)
    with pytest.raises(OSError, match="temporarily unavailable"):
        read_bytes(named / "file")


def test_a_file_that_is_too_long_is_refused_before_it_fills_the_memory(named: Path) -> None:
    with (named / "long").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match=r"longer than 1\.0 MB"):
        read_bytes(named / "long", most_bytes=1_000_000)
    assert read_end(named / "long", 3) == b"\0\0\0"


def test_a_name_that_is_no_utf_8_is_spelled_out() -> None:
    assert shown("a\udcff.txt") == "a\\xff.txt"
    shown("a\udcff").encode()
