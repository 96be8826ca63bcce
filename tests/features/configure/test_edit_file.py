"""A file is edited whole or not at all, and each edit is taken back alone, in any order."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.features.configure import files
from fabricgauge.features.configure.files import Change, Content, NoFile
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command

UNREAD = Skipped("not UTF-8")
TOOLS = ("awk", "cat", "chmod", "cmp", "cp", "diff", "grep", "mkdir", "mktemp", "mv", "readlink",
         "rm", "sed", "stat", "sync", "tail", "tr", "wc")  # fmt: skip


@pytest.fixture(params=["system", "busybox"])
def tools(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The machine's own programs, and busybox's in their place."""
    if request.param == "busybox":
        busybox = shutil.which("busybox")
        if busybox is None:
            pytest.skip("busybox is not installed")
        (tmp_path / "busybox").mkdir()
        for name in ("sh", "test", *TOOLS):
            (tmp_path / "busybox" / name).symlink_to(busybox)
        monkeypatch.setenv("PATH", str(tmp_path / "busybox"))
    return str(request.param)


def run(
    command: Command, stdin: bytes | None = None, env: Mapping[str, str] = MappingProxyType({})
) -> "subprocess.CompletedProcess[bytes]":
    given = command.stdin.encode() if stdin is None else stdin
    return subprocess.run(
        command.argv, input=given, capture_output=True, env={**os.environ, **env}, check=False
    )


def make(*changes: Change) -> None:
    for change in changes:
        for command in (*(check.command for check in change.before), *change.commands):
            done = run(command)
            assert done.returncode == 0, done.stderr


def undo(change: Change) -> int:
    return max(run(command).returncode for command in change.undo)


def held(path: Path) -> Content:
    if not path.exists():
        return NoFile()
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return UNREAD


def adding(path: Path, line: str) -> Change:
    """A plan that puts a line behind a file as it is now."""
    old = held(path)
    if isinstance(old, Skipped):
        return files.append_change("", str(path), (line,))
    text = old if isinstance(old, str) else ""
    return files.write_change("", str(path), files.joined([*files.split(text), line]), old)


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("old", [b"a\nb\n", b"a\nb", b"", b"\xe9t\xe9\n", None])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_each_plan_takes_back_its_own_lines_in_any_order(
    tmp_path: Path, old: bytes | None, order: Iterable[int]
) -> None:
    path = tmp_path / "it's a file"
    if old is not None:
        path.write_bytes(old)
    made = []
    for line in ("one", "two", "three"):
        made.append(adding(path, line))
        make(made[-1])
    left = ["one", "two", "three"]
    for number in order:
        assert undo(made[number]) == 0
        left.remove(("one", "two", "three")[number])
        if left:
            whole = old if old is None or not old or old.endswith(b"\n") else old + b"\n"
            assert path.read_bytes() == (whole or b"") + files.joined(left).encode()
    if old is not None:
        assert path.read_bytes().removesuffix(b"\n") == old.removesuffix(b"\n")
    else:  # the first plan's undoing removes it, if nothing else is in it by then
        assert path.exists() == (order == (0, 1, 2)) and not (path.exists() and path.read_bytes())
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


LINE = st.text(st.sampled_from("ab #\\/é\t\r"), max_size=3)
LINES = st.lists(LINE, max_size=6)


@settings(max_examples=25)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_change_that_stands_is_taken_back_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str], after: list[str], open_before: bool, open_after: bool,
) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("edit") / "file"
    old, new = ("\n".join(lines) + ("" if lines and unended else "\n" * bool(lines))
                for lines, unended in ((before, open_before), (after, open_after)))  # fmt: skip
    path.write_bytes(old.encode())
    change = files.write_change("", str(path), new, old)
    make(change)
    assert path.read_bytes() == new.encode()
    assert undo(change) == 0 and path.read_bytes() == old.encode()
    assert undo(change) == 0 and path.read_bytes() == old.encode()  # once more changes nothing


@pytest.mark.usefixtures("tools")
def test_lines_that_were_replaced_come_back_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("127.0.1.1 c1\nx\n10.0.0.9 c2\nlast\n")
    change = files.write_change(
        "", str(path), "10.0.0.1 c1\nx\nlast\n10.0.0.2 c2\n", path.read_text()
    )
    make(change)
    path.write_text(f"# somebody's\n{path.read_text()}# and more\n")
    assert undo(change) == 0
    assert path.read_text() == (
        "# somebody's\n127.0.1.1 c1\nx\n10.0.0.9 c2\nlast\n# and more\n"
    )  # fmt: skip


@pytest.mark.usefixtures("tools")
def test_what_a_later_plan_replaced_is_not_called_undone(tmp_path: Path) -> None:
    path = tmp_path / "limits.conf"
    path.write_text("memlock 1\n")
    first = files.write_change("", str(path), "memlock 2\n", "memlock 1\n")
    make(first)
    second = files.write_change("", str(path), "memlock 3\n", "memlock 2\n")
    make(second)
    said = run(first.undo[0])
    assert said.returncode == 1 and b"undo later plans first" in said.stderr
    assert path.read_text() == "memlock 3\n"
    assert undo(second) == 0 and undo(first) == 0 and path.read_text() == "memlock 1\n"


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("old", [b"old\n", b"\xff old\n", None])
@pytest.mark.parametrize("come", [0, 3])
def test_a_text_that_comes_in_parts_changes_nothing(
    tmp_path: Path, old: bytes | None, come: int
) -> None:
    """As after ssh broke off: the input of the far side just ends."""
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    change = adding(path, "10.0.0.1 c1")
    (command,) = change.commands
    said = run(command, command.stdin.encode()[:come])
    assert said.returncode == 1 and b"not all of the" in said.stderr
    assert (path.read_bytes() if path.exists() else None) == old
    assert undo(change) == 0 and (path.read_bytes() if path.exists() else None) == old


SHIM = """#!/bin/sh
printf x >>"$COUNT"
if [ "$(/usr/bin/wc -c <"$COUNT")" -eq "$KILL" ]; then
    [ "$WHEN" = before ] || PATH=/usr/bin:/bin {name} "$@"
    kill -9 $PPID
    exit 1
fi
PATH=/usr/bin:/bin exec {name} "$@"
"""


def shims(folder: Path) -> Callable[[int, str], dict[str, str]]:
    """The k-th program that the script starts kills the script before or after its own work."""
    folder.mkdir()
    for name in TOOLS:
        (folder / name).write_text(SHIM.replace("{name}", name))
        (folder / name).chmod(0o755)

    def env(number: int, when: str) -> dict[str, str]:
        count = folder.parent / f"count-{number}-{when}"
        return {"PATH": f"{folder}:/usr/bin:/bin", "COUNT": str(count), "KILL": str(number),
                "WHEN": when, "TMPDIR": str(folder.parent)}  # fmt: skip

    return env


@pytest.mark.parametrize("old", [b"old\n", b"\xff old\n", None])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_of_its_programs_the_file_is_old_or_new_and_can_be_undone(
    tmp_path: Path, old: bytes | None, when: str
) -> None:
    env = shims(tmp_path / "bin")
    (tmp_path / "etc").mkdir()
    path = tmp_path / "etc" / "hosts"
    for number in range(1, 30):
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        change = adding(path, "10.0.0.1 c1")
        status = run(change.commands[0], env=env(number, when)).returncode
        now = path.read_bytes() if path.exists() else None
        assert now in (old, (old or b"") + b"10.0.0.1 c1\n"), number
        if status == 0:
            break
        assert undo(change) == 0 and (path.read_bytes() if path.exists() else None) == old
    assert 5 < number < 29


@pytest.mark.usefixtures("tools")
def test_a_file_of_two_names_is_written_in_place_says_so_and_is_restored_when_torn(
    tmp_path: Path,
) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("old\nlines\n")
    other.hardlink_to(path)
    change = files.write_change("", str(path), "new\nlines\nmore\n", "old\nlines\n")
    said = run(change.commands[0])
    assert said.returncode == 0 and b"written in place" in said.stderr
    assert other.read_text() == "new\nlines\nmore\n"
    for torn in ("new\nlines\nmo", "new\n", "n", "", "old\nlin"):
        path.write_text(torn)
        assert undo(change) == 0 and other.read_text() == "old\nlines\n"
    path.write_text("somebody's\n")
    assert undo(change) == 1 and path.read_text() == "somebody's\n"


@pytest.mark.usefixtures("tools")
def test_mode_and_owner_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old\n")
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 1, 2)
    owner = real.stat()
    link.symlink_to("real")
    change = files.write_change("", str(link), "new\n", "old\n")
    make(change)
    now = real.stat()
    assert link.is_symlink() and real.read_text() == "new\n" and now.st_ino != owner.st_ino
    assert (now.st_mode, now.st_uid, now.st_gid) == (owner.st_mode, owner.st_uid, owner.st_gid)
    assert undo(change) == 0 and real.read_text() == "old\n" and link.is_symlink()


@pytest.mark.usefixtures("tools")
def test_two_copies_tell_what_another_program_wrote(tmp_path: Path) -> None:
    path, before, after = (tmp_path / name for name in ("hosts", "before", "after"))
    back = Change((), (), (), (files.revert_command("", str(path), str(before), str(after)),))
    path.write_text("a\n")
    assert undo(back) == 0 and path.read_text() == "a\n"  # it never came so far
    before.write_text("a\nold\n")
    path.write_text("a\nnew\nb\n")
    assert undo(back) == 0 and path.read_text() == "a\nold\n"  # it ended before the second copy
    after.write_text("a\nnew\nb\n")
    path.write_text("a\nnew\nb\nsomebody's\n")
    assert undo(back) == 0 and path.read_text() == "a\nold\nsomebody's\n"


@pytest.mark.usefixtures("tools")
def test_what_is_no_regular_file_or_holds_a_nul_is_left(tmp_path: Path) -> None:
    assert run(files.write_change("", str(tmp_path), "x\n", NoFile()).commands[0]).returncode == 1
    path = tmp_path / "file"
    path.write_bytes(b"a\0b\nline\n")
    assert undo(files.append_change("", str(path), ("line",))) == 1
    assert path.read_bytes() == b"a\0b\nline\n"


@pytest.mark.usefixtures("tools")
def test_copies_of_two_plans_are_taken_back_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_bytes(b"\xe9\n")
    backs = []
    for number in (1, 2):
        before, after = (tmp_path / f"{number}-{when}" for when in ("before", "after"))
        before.write_bytes(path.read_bytes())
        path.write_bytes(path.read_bytes() + b"10.0.0.%d c%d\n" % (number, number))
        after.write_bytes(path.read_bytes())
        backs.append(files.revert_command("", str(path), str(before), str(after)))
    assert run(backs[0]).returncode == 0 and path.read_bytes() == b"\xe9\n10.0.0.2 c2\n"
    assert run(backs[1]).returncode == 0 and path.read_bytes() == b"\xe9\n"
