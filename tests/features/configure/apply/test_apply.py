"""Steps made and undone on this machine's files: what stops them, and what is left behind."""

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

from fabricgauge.features.configure.apply.hosts import PlanHosts
from fabricgauge.features.configure.apply.making import apply_plan, undo_journal
from fabricgauge.features.configure.files import NoFile, write_change
from fabricgauge.features.configure.job import Configuration, Step, Verification
from fabricgauge.features.configure.journal import LINES, Journal, JournalEntry, journals_lock, read
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.finding import Command
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest

ACCESS, HERE = HostAccess("local", ()), MeasurementRequest()


class Told(list[str]):
    def __call__(self, text: str) -> None:
        self.append(text)


def plan(*steps: Step) -> Configuration:
    return Configuration("ip", (), steps, ())


def made(tmp_path: Path, *steps: Step, consents: tuple[str, ...] = ()) -> tuple[int, Told, Path]:
    told = Told()
    status = apply_plan(plan(*steps), ACCESS, HERE, tmp_path / "journals", consents, told)
    journals = sorted((tmp_path / "journals").glob("*"), key=lambda one: one.stat().st_mtime_ns)
    return status, told, journals[-1] if journals else tmp_path


def undo(journal: Path, told: Told) -> int:
    return undo_journal(journal, ACCESS, "", told, apply=True)


def text(path: Path, old: str | None, new: str) -> Step:
    held = NoFile() if old is None else old
    return write_change("", str(path), new, held).step(f"write {path.name}", "a test")


def sh(script: str, *words: str) -> Command:
    return Command("", ("sh", "-c", script, "sh", *words))


def test_a_new_file_has_its_mode_and_goes_again(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "it's"
    step = write_change("", str(path), "a\n'b'\n", NoFile()).step("t", "r")
    status, _, journal = made(tmp_path, step)
    assert (status, path.read_text(), path.stat().st_mode & 0o777) == (0, "a\n'b'\n", 0o644)
    assert undo(journal, Told()) == 0
    assert not path.exists()


def test_a_file_that_changed_since_the_plan_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("somebody's\n")
    status, told, journal = made(tmp_path, text(path, "old\n", "new\n"))
    assert status == 1 and path.read_text() == "somebody's\n"
    assert any("it has changed since the plan was made" in one for one in told)
    assert undo(journal, told) == 0  # nothing was begun
    assert path.read_text() == "somebody's\n"


def test_undoing_spares_what_somebody_changed_and_undoes_the_rest(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        path.write_text("old\n")
    status, _, journal = made(tmp_path, text(one, "old\n", "new\n"), text(two, "old\n", "new\n"))
    assert status == 0
    two.write_text("somebody's\n")
    told = Told()
    assert undo(journal, told) == 1
    assert (one.read_text(), two.read_text()) == ("old\n", "somebody's\n")
    assert any(line.startswith("not undone: step 2 (write two): 'sh") for line in told)
    two.write_text("new\n")  # it was put right: undoing once more does what is left
    told = Told()
    assert undo(journal, told) == 0
    assert told[-1] == "steps undone: 2" and two.read_text() == "old\n"


def test_links_and_owners_of_a_file_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old\n")
    real.chmod(0o640)
    link.symlink_to(real)
    assert made(tmp_path, text(link, "old\n", "new\n"))[0] == 0
    assert (
        link.is_symlink() and real.read_text() == "new\n" and real.stat().st_mode & 0o777 == 0o640
    )


def test_a_verification_may_take_its_time(tmp_path: Path) -> None:
    late = tmp_path / "late"
    slowly = sh('(sleep 3; touch "$1") >/dev/null 2>&1 &', str(late))
    there = Command("", ("test", "-e", str(late)))
    steps = [
        Step("t", "r", (slowly,), (Verification(there, "", patience_s=s),), ()) for s in (0, 30)
    ]
    assert made(tmp_path, steps[0])[0] == 1
    late.unlink(missing_ok=True)
    assert made(tmp_path, steps[1])[0] == 0


def test_what_follows_is_due_only_after_a_change(tmp_path: Path) -> None:
    count, file = tmp_path / "count", tmp_path / "file"
    file.write_text("old\n")
    again = Step("count", "r", (sh('echo x >>"$1"', str(count)),), (Verification(
        Command("", ("true",)), ""),), (), follows=True)  # fmt: skip
    assert made(tmp_path, text(file, "old\n", "new\n"), again)[0] == 0
    assert made(tmp_path, text(file, "old\n", "new\n"), again)[0] == 0
    assert count.read_text() == "x\n"


def test_what_the_plan_calls_fulfilled_is_never_made(tmp_path: Path) -> None:
    """A reviewer saw it among what is so already; it must not run because of another step."""
    count, file = tmp_path / "count", tmp_path / "file"
    file.write_text("old\n")
    so = Step("count", "r", (Command("", ("touch", str(count))),), (), (), fulfilled="it is so",
              follows=True)  # fmt: skip
    assert made(tmp_path, text(file, "old\n", "new\n"), so)[0] == 0
    assert file.read_text() == "new\n" and not count.exists()


def test_nothing_is_begun_without_all_programs(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    lacking = Step("t", "r", (Command("", ("no such program",)),), (), ())
    status, told, _ = made(tmp_path, text(file, "old\n", "new\n"), lacking)
    assert status == 3 and file.read_text() == "old\n"
    assert told[0] == "the head has no no such program"
    assert not (tmp_path / "journals").exists()


def test_consent_is_by_name(tmp_path: Path) -> None:
    file = tmp_path / "file"
    step = Step("t", "r", (Command("", ("touch", str(file))),), (), (), consent="reboot")
    status, told, _ = made(tmp_path, step, consents=("power",))
    assert status == 3 and "needs --consent reboot" in told[-2] and not file.exists()
    assert made(tmp_path, step, consents=("reboot",))[0] == 0 and file.exists()


def test_a_journal_that_was_cut_off_can_be_undone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    _, _, journal = made(tmp_path, text(file, "old\n", "new\n"))
    lines = (journal / LINES).read_bytes()
    cut = (
        lines.index(b'"event":"command"') + 20
    )  # it died while the command's line was write_change
    (journal / LINES).write_bytes(lines[:cut])
    assert undo(journal, Told()) == 0
    assert file.read_text() == "old\n"
    told = Told()
    assert undo(journal, told) == 0 and told == ["steps undone: none"]


def test_a_journal_that_is_damaged_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is no journal: it has no plan\.json"):
        read(tmp_path)
    with pytest.raises(StoreError, match="cannot read"):
        read(tmp_path / "none")
    _, _, journal = made(tmp_path, Step("t", "r", (Command("", ("true",)),), (), ()))
    (journal / LINES).write_bytes(b"{}\n{}\n")
    with pytest.raises(StoreError, match="line 1 is damaged"):
        read(journal)


def test_the_journal_is_on_disk_before_the_next_command(tmp_path: Path) -> None:
    """The second command reads the journal's line of the first."""
    journals = tmp_path / "journals"
    find = sh('grep -q "first command" "$1"/*/journal.jsonl', str(journals))
    first = Command("", ("echo", "first command said this"))
    assert made(tmp_path, Step("t", "r", (first, find), (), ()))[0] == 0
    os.sync()


@pytest.mark.parametrize("step", [-1, 0, 2])
def test_a_journal_of_another_plan_is_refused(tmp_path: Path, step: int) -> None:
    """A line for a step that there is not must not run the undoing of another."""
    file = tmp_path / "file"
    file.write_text("old\n")
    _, _, journal = made(tmp_path, text(file, "old\n", "new\n"))
    (journal / LINES).write_text(f'{{"event":"begun","step":{step}}}\n')
    with pytest.raises(StoreError, match=f"has step {step}, but plan.json has 1 step"):
        undo(journal, Told())
    assert file.read_text() == "new\n"


def test_an_interrupt_says_how_to_undo_what_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    run = PlanHosts.run

    def interrupted(self: PlanHosts, command: Command, *rest: object) -> object:
        if command.argv[0] == "sleep":
            raise KeyboardInterrupt
        return run(self, command, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(PlanHosts, "run", interrupted)
    long = Step("t", "r", (Command("", ("sleep", "9")),), (), ())
    told = Told()
    with pytest.raises(KeyboardInterrupt):
        making = plan(text(file, "old\n", "new\n"), long)
        apply_plan(making, ACCESS, HERE, tmp_path / "journals", (), told)
    (journal,) = (tmp_path / "journals").iterdir()
    assert told[-1] == f"interrupted; to undo: fabricgauge configure --undo {journal} --apply"
    assert undo(journal, Told()) == 0 and file.read_text() == "old\n"


def test_two_makings_at_once_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    _, _, journal = made(tmp_path, text(file, "old\n", "new\n"))
    with journals_lock(tmp_path / "journals"), pytest.raises(StoreError, match="another configure"):
        made(tmp_path, text(file, "new\n", "newer\n"))
    with closing(Journal(journal)), pytest.raises(StoreError, match="another configure"):
        undo(journal, Told())
    assert file.read_text() == "new\n"
    assert undo(journal, Told()) == 0


def test_undoing_says_what_somebody_changed_since(tmp_path: Path) -> None:
    file = tmp_path / "file"
    shows = Command("", ("cat", str(file)))
    step = Step("write", "r", (sh('echo new >"$1"', str(file)),), (Verification(shows, "new"),),
                (sh('echo old >"$1"', str(file)),))  # fmt: skip
    file.write_text("old\n")
    _, _, journal = made(tmp_path, step)
    file.write_text("another's\n")
    told = Told()
    assert undo(journal, told) == 0 and file.read_text() == "old\n"
    (changed,) = [one for one in told if "it has changed since this step" in one]
    assert f"'cat {file}' on the head shows" in changed and "another's" in changed
    _, _, journal = made(tmp_path, step)
    told = Told()
    assert undo(journal, told) == 0 and not any("has changed" in one for one in told)


def test_verifications_of_many_nodes_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Each ends only once all others have begun."""
    count = 8
    script = 'touch "$1/$2"; until [ "$(ls "$1" | wc -l)" -ge "$3" ]; do sleep 0.02; done'
    checks = tuple(Verification(sh(script, str(tmp_path / "all"), str(one), str(count)), "")
                   for one in range(count))  # fmt: skip
    (tmp_path / "all").mkdir()
    status, _, journal = made(tmp_path, Step("look", "r", (), checks, ()))
    assert status == 0
    assert [one.argv[-2] for one in read(journal)[1] if one.event == "check"] == [
        str(one) for one in range(count)
    ]


def test_no_undoing_cuts_off_the_way_to_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be reached by the very address that the step gave it."""
    tool, called = tmp_path / "bin" / "ip", tmp_path / "called"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$*" >>{called}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    taken = Command("", ("ip", "addr", "flush", "dev", "eth1", "to", "10.99.0.1/32"))
    back = Command("", ("ip", "addr", "replace", "10.99.0.9/24", "dev", "eth1"))
    step = Step("give", "r", (Command("", ("true",)),), (), (taken, back))
    _, _, journal = made(tmp_path, step)
    monkeypatch.setenv("SSH_CONNECTION", "10.99.0.250 4711 10.99.0.1 22")
    assert undo(journal, told := Told()) == 1 and not called.exists()
    assert any("the head is reached by 10.99.0.1, and" in one for one in told)
    monkeypatch.setenv("SSH_CONNECTION", "10.1.0.250 4711 10.1.0.1 22")
    assert undo(journal, told) == 0 and len(called.read_text().splitlines()) == 2


#: What makes a journal somebody else's to change: the journal itself, its files, what is above it.
FOREIGN: tuple[tuple[str, int], ...] = (
    (".", 0o777), (".", 0o770), ("plan.json", 0o666), ("journal.jsonl", 0o662), ("..", 0o777),
)  # fmt: skip


@pytest.mark.parametrize(("place", "mode"), FOREIGN)
def test_nothing_is_run_of_a_journal_that_others_may_write(
    tmp_path: Path, place: str, mode: int
) -> None:
    file, proof = tmp_path / "file", tmp_path / "proof"
    file.write_text("old\n")
    hostile = Step("t", "r", (Command("", ("true",)),), (), (Command("", ("touch", str(proof))),))
    _, _, journal = made(tmp_path, hostile)
    if mode & 0o020:
        os.chown(journal / place, -1, 1 if os.geteuid() == 0 else os.getegid())
    (journal / place).chmod(mode)
    with pytest.raises(StoreError, match=r"is not provably yours: .*none of its commands is run"):
        undo(journal, Told())
    assert not proof.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("place", [".", "plan.json", "journal.jsonl"])
def test_nothing_is_run_of_somebody_elses_journal(tmp_path: Path, place: str) -> None:
    proof = tmp_path / "proof"
    hostile = Step("t", "r", (Command("", ("true",)),), (), (Command("", ("touch", str(proof))),))
    _, _, journal = made(tmp_path, hostile)
    os.chown(journal / place, 1, -1)
    with pytest.raises(StoreError, match="is not provably yours"):
        undo(journal, Told())
    assert not proof.exists()


def test_an_undoing_is_shown_and_run_only_with_apply(tmp_path: Path) -> None:
    """A journal that was unpacked from somebody's archive belongs to the user."""
    proof = tmp_path / "proof"
    step = Step("t", "r", (Command("", ("true",)),), (), (Command("", ("touch", str(proof))),))
    _, _, journal = made(tmp_path, step)
    before = sorted((one.name, one.read_bytes()) for one in journal.iterdir())
    told = Told()
    assert undo_journal(journal, ACCESS, "", told, apply=False) == 0 and not proof.exists()
    assert told[:2] == ["to undo step 1 (t):", f"  touch {proof}"] and "--apply" in told[2]
    assert before == sorted((one.name, one.read_bytes()) for one in journal.iterdir())
    assert undo(journal, told) == 0 and proof.exists()


@pytest.mark.parametrize(("made_in", "undone_in"), [("", "two"), ("two", ""), ("two", "three")])
def test_a_plan_is_undone_only_where_it_was_made(
    tmp_path: Path, made_in: str, undone_in: str
) -> None:
    """What a lab's head got must not be taken from this machine."""
    proof = tmp_path / "proof"
    step = Step("t", "r", (Command("", ("true",)),), (), (Command("", ("touch", str(proof))),))
    place = MeasurementRequest(lab=made_in)
    apply_plan(plan(step), ACCESS, place, tmp_path / "journals", (), Told())
    (journal,) = (tmp_path / "journals").iterdir()
    with pytest.raises(UsageError, match=f"with {f'--lab {made_in}' if made_in else 'no --lab'}:"):
        undo_journal(journal, ACCESS, undone_in, Told(), apply=True)
    assert not proof.exists()
    assert undo_journal(journal, ACCESS, made_in, Told(), apply=True) == 0 and proof.exists()


def test_a_node_that_the_command_line_does_not_reach_is_refused(tmp_path: Path) -> None:
    step = Step("t", "r", (Command("", ("true",)),), (), (Command("c1", ("true",)),))
    _, _, journal = made(tmp_path, step)
    with pytest.raises(UsageError, match="c1 cannot be reached; name the nodes"):
        undo(journal, Told())


def test_a_line_that_a_full_disk_cut_off_is_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write may take a part, and the next one fail; what comes once there is room is whole."""
    _, _, path = made(tmp_path, Step("t", "r", (Command("", ("true",)),), (), ()))
    with closing(Journal(path)) as journal:
        real, room = journal._file, [5, 0]

        class Filling:
            def write(self, data: bytes) -> int:
                if not room:
                    return real.write(data)
                if room[0] == 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return real.write(data[: room.pop(0)])

            def __getattr__(self, name: str) -> object:
                return getattr(real, name)

        monkeypatch.setattr(journal, "_file", Filling())
        with pytest.raises(StoreError, match="No space left"):
            journal.write(JournalEntry("begun", 1))
        room.clear()
        journal.write(JournalEntry("undone", 1))
    assert [one.event for one in read(path)[1]][-2:] == ["made", "undone"]


def test_a_link_does_not_lead_to_another_journals_lines(tmp_path: Path) -> None:
    _, _, journal = made(tmp_path, Step("t", "r", (Command("", ("true",)),), (), ()))
    (journal / LINES).rename(tmp_path / "elsewhere")
    (journal / LINES).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="leads out of"):
        undo(journal, Told())


def test_no_plan_is_made_whose_journal_could_not_be_undone(tmp_path: Path) -> None:
    file, shared = tmp_path / "file", tmp_path / "journals"
    file.write_text("old\n")
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(StoreError, match="name a directory that only you can change"):
        made(tmp_path, text(file, "old\n", "new\n"))
    assert file.read_text() == "old\n"


def test_what_an_undoing_will_run_and_where_is_told_before_it_runs(tmp_path: Path) -> None:
    steps = [Step(name, "r", (Command("", ("true",)),), (), (Command("", ("echo", name)),))
             for name in ("one", "two")]  # fmt: skip
    _, _, journal = made(tmp_path, *steps)
    told = Told()
    assert undo(journal, told) == 0
    assert told[:4] == [
        "to undo step 2 (two):", "  echo two", "to undo step 1 (one):", "  echo one",
    ]  # fmt: skip
    far = PlanHosts(HostAccess("ssh", (Host("c1", ("ssh", "-a", "--", "c1")),)))
    assert far.shown(Command("c1", ("sh", "-c", "one\ntwo", "x"))) == "ssh -a -- c1 sh -c 'one …' x"
