"""What proves that this user wrote a file, whoever carried it here."""

import os
from pathlib import Path

import msgspec
import pytest

from fabricgauge.files import seals
from fabricgauge.files.seals import sealed, secret_file, unsealed

CONTENT = b'{"mpi":"openmpi","nodelist":"a,b"}'


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_what_is_sealed_is_the_same_object_and_proved() -> None:
    made = sealed(CONTENT, "run/run.json")
    assert unsealed(made, "run/run.json") == ""
    content = msgspec.json.decode(made)
    assert content.pop("seal") and content == msgspec.json.decode(CONTENT)


@pytest.mark.parametrize("at", range(0, 120, 7))
def test_a_seal_fails_when_anything_is_changed(at: int) -> None:
    made = bytearray(sealed(CONTENT, "run/run.json"))
    made[at % len(made)] ^= 1
    assert unsealed(bytes(made), "run/run.json")


@pytest.mark.parametrize("content", [b"", b"{}", CONTENT, b'{"seal":"00",', b'\xff{"seal":"'])
def test_what_has_no_seal_is_not_proved(content: bytes) -> None:
    assert unsealed(content, "run/run.json") == "has no seal"


def test_a_seal_is_of_one_file_of_one_run() -> None:
    made = sealed(CONTENT, "run/run.json")
    assert "another seal" in unsealed(made, "other/run.json")
    assert "another seal" in unsealed(made, "run/batch.json")


def test_another_users_or_machines_seal_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sealed(CONTENT, "run/run.json")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert "another seal" in unsealed(made, "run/run.json")
    assert not secret_file().exists()  # asking makes none
    sealed(CONTENT, "run/run.json")
    assert "another seal" in unsealed(made, "run/run.json")


def test_the_secret_is_the_users_alone_and_made_once(state: Path) -> None:
    before = os.umask(0)
    try:
        first = sealed(CONTENT, "a")
    finally:
        os.umask(before)
    file = state / "fabricgauge" / "seal.key"
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_size == 32
    assert [one.name for one in file.parent.iterdir()] == ["seal.key"]
    assert sealed(CONTENT, "a") == first


def test_of_two_programs_that_make_the_secret_at_once_both_have_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = sealed(CONTENT, "a")
    seals._new_secret()  # as one does that looked before it was there
    assert sealed(CONTENT, "a") == first


@pytest.mark.parametrize(
    ("mode", "size", "why"),
    [(0o640, 32, "read it"), (0o604, 32, "read it"), (0o602, 32, "written"), (0o600, 31, "damaged"),
     (0o600, 33, "longer")],
)  # fmt: skip
def test_a_secret_that_others_could_know_proves_nothing(mode: int, size: int, why: str) -> None:
    made = sealed(CONTENT, "a")
    secret_file().write_bytes(secret_file().read_bytes()[:size] + b"x" * (size - 32))
    secret_file().chmod(mode)
    assert why in unsealed(made, "a")
    assert sealed(CONTENT, "a") == CONTENT


def test_where_others_may_write_no_secret_is_made(state: Path) -> None:
    state.mkdir()
    state.chmod(0o777)
    assert sealed(CONTENT, "a") == CONTENT
    assert not secret_file().exists()
    assert (
        unsealed(CONTENT, "a")
        == f"has no seal, and none can be given: {state} may be written by others"
    )


def test_a_pipe_in_the_place_of_the_secret_is_not_waited_for() -> None:
    made = sealed(CONTENT, "a")
    secret_file().unlink()
    os.mkfifo(secret_file(), 0o600)
    assert "a pipe" in unsealed(made, "a")
