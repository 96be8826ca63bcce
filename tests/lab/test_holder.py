"""Only a lab's own processes are ever taken for the lab's."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.lab import holder
from fabricgauge.lab.state import Marks, NodeHolder


@pytest.fixture
def bystander() -> Iterator[int]:
    child = subprocess.Popen(["sleep", "60"])
    yield child.pid
    child.kill()
    child.wait()


@given(st.text(alphabet=st.characters(exclude_characters="\n")), st.integers(0, 2**63))
def test_start_time_is_read_whatever_the_program_is_called(name: str, ticks: int) -> None:
    fields = " ".join(["S", *map(str, range(18)), str(ticks), "0", "0"])
    assert holder.parse_stat(f"12 ({name}) {fields}\n", 22) == ticks


def test_process_is_alive_until_it_ends(bystander: int) -> None:
    found = holder.identify(bystander)
    assert holder.is_alive(found)
    os.kill(bystander, signal.SIGKILL)
    os.waitpid(bystander, 0)
    assert not holder.is_alive(found)


def test_process_is_not_the_holder_when_its_id_was_recycled(bystander: int) -> None:
    found = holder.identify(bystander)
    successor = NodeHolder(found.pid, found.start_ticks - 1, found.net_inode)
    assert not holder.is_alive(successor)


def test_machines_own_processes_survive_when_the_file_names_their_namespace(
    bystander: int,
) -> None:
    own = holder.net_inode(bystander)
    assert own is not None
    entered = subprocess.Popen(["sleep", "60"], env={**os.environ, holder.ENTERED_MARK: "feed"})
    try:
        assert holder.members(Marks("feed", holder.boot_id(), (own,))) == frozenset()
    finally:
        entered.kill()
        entered.wait()


def test_process_without_the_token_survives_when_the_namespace_number_is_reused(
    bystander: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holder, "own_net_inodes", frozenset)  # as if it were another's
    reused = holder.net_inode(bystander)
    assert reused is not None
    marks = Marks("0123456789abcdef", holder.boot_id(), (reused,))
    assert holder.kill(marks) == 0
    assert holder.start_ticks(bystander) is not None


def test_process_survives_when_the_lab_is_of_an_earlier_boot() -> None:
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, holder.HOLDER_MARK: "feed"})
    try:
        assert holder.members(Marks("feed", "another boot")) == frozenset()
        assert holder.members(Marks("feed", holder.boot_id())) == {child.pid}
    finally:
        child.kill()
        child.wait()


def test_entered_process_outside_the_labs_namespaces_survives() -> None:
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, holder.ENTERED_MARK: "feed"})
    try:
        assert holder.members(Marks("feed", holder.boot_id(), ())) == frozenset()
    finally:
        child.kill()
        child.wait()
