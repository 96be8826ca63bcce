"""Killed at any of its writes, a making leaves a journal that can be read, and undone."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.features.configure.apply.test_apply import ACCESS, HERE, Told, plan, text, undo

from fabricgauge.features.configure.apply.making import apply_plan
from fabricgauge.features.configure.journal import LINES, PLAN, Journal, JournalEntry, read
from fabricgauge.model.errors import StoreError

#: Events of the interpreter (PEP 578) that change a file, or start a program that does.
CHANGING = ("os.mkdir", "os.rename", "os.truncate", "os.remove", "os.link", "subprocess.Popen")


class Killer:
    """A layer below all files: the k-th change, or the middle of a line, is the process's last."""

    def __init__(self, last: int) -> None:
        self.left = last

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(self, event: str, words: tuple[object, ...]) -> None:
        writes = (
            event == "open" and isinstance(words[2], int) and words[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if event in CHANGING or writes:
            self.count()

    def install(self) -> None:
        write, killer = Journal.write, self

        def halves(journal: Journal, entry: JournalEntry) -> None:
            killer.count()
            if killer.left == 1:
                (journal.path / LINES).open("ab").write(b'{"event":"ma')
            killer.count()
            write(journal, entry)

        setattr(Journal, "write", halves)  # noqa: B010
        sys.addaudithook(self.hook)


def killed(last: int, work: Callable[[], object]) -> bool:
    """Whether the work, in a process of its own, was killed at its k-th change."""
    child = os.fork()
    if child == 0:
        try:
            Killer(last).install()
            work()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def prepared(folder: Path) -> tuple[Path, Path]:
    folder.mkdir()
    (folder / "hosts").write_text("old\n")
    return folder / "hosts", folder / "new"


def making(folder: Path) -> Callable[[], object]:
    hosts, new = folder / "hosts", folder / "new"
    steps = text(hosts, "old\n", "old\nadded\n"), text(new, None, "made\n")
    return lambda: apply_plan(plan(*steps), ACCESS, HERE, folder / "journals", (), Told())


def assert_as_before(hosts: Path, new: Path) -> None:
    assert hosts.read_text() == "old\n" and not new.exists()
    assert {one.name for one in hosts.parent.iterdir()} <= {"hosts", "journals"}


def undone(hosts: Path, new: Path) -> None:
    """Whatever journal there is can be read, and undoing it leaves nothing of the plan."""
    for journal in (hosts.parent / "journals").glob("*"):
        if not (journal / PLAN).exists():  # nothing was begun
            with pytest.raises(StoreError, match="is no journal"):
                undo(journal, Told())
        else:
            read(journal)
            assert undo(journal, Told()) == 0
    assert_as_before(hosts, new)


def test_a_making_that_is_killed_at_any_write_can_be_undone(tmp_path: Path) -> None:
    for last in range(1, 100):
        hosts, new = prepared(tmp_path / str(last))
        was = killed(last, making(hosts.parent))
        undone(hosts, new)
        if not was:
            break
    assert 20 < last < 99


@pytest.mark.slow
def test_an_undoing_that_is_killed_at_any_write_can_be_gone_on_with(tmp_path: Path) -> None:
    for last in range(1, 100):
        hosts, new = prepared(tmp_path / str(last))
        making(hosts.parent)()
        (journal,) = (hosts.parent / "journals").iterdir()
        was = killed(last, lambda journal=journal: undo(journal, Told()))  # type: ignore[misc]
        undone(hosts, new)
        if not was:
            break
    assert 8 < last < 99
