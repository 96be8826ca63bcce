import errno
from pathlib import Path

import msgspec
import pytest

from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.measurement import Footer
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import Ended
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import (
    About,
    LaunchLine,
    append_launch,
    append_records,
    load,
    stored_request,
    write_beginning,
    write_preflight,
)

ABOUT = About("2026-11-21T20:00:00Z", ("fabricgauge", "check"), {"python": "3.11"})
FABRIC = Fabric((), (), ())
PLAN = Plan("quick", Stopping(0.01, 0.95), False, ())
ENDED = Ended("ok", 0, "", ("mpiexec",), 1.0)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory.create(tmp_path)
    write_beginning(made, ABOUT, FABRIC, PLAN)
    return made


def test_a_run_can_be_loaded_from_its_first_moment(directory: RunDirectory) -> None:
    run = load(directory)
    assert run.command == ABOUT.command
    assert not run.complete


@pytest.mark.parametrize("written", ["", '"version":"1.9",'])
def test_a_run_of_the_first_version_is_read(directory: RunDirectory, written: str) -> None:
    file = directory.path / "run.json"
    text = file.read_text()
    assert '"version":"1.0"' in "".join(text.split())
    stated = msgspec.json.decode(text)
    del stated["version"]
    file.write_text("{" + written + msgspec.json.encode(stated).decode()[1:])
    assert load(directory).command == ABOUT.command


def test_a_run_of_another_major_version_is_refused_with_both(directory: RunDirectory) -> None:
    file = directory.path / "run.json"
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(ABOUT, version="2.0")))
    for read in (load, stored_request):
        with pytest.raises(StoreError, match=r"run\.json has version 2\.0; .* reads 1\.0"):
            read(directory)


def test_a_run_without_a_preflight_loads_and_one_with_it_keeps_its_findings(
    directory: RunDirectory,
) -> None:
    assert load(directory).preflight == ()
    command = Command("c2", ("ip", "link", "set", "dev", "eth0", "up"))
    found = Finding(
        "link", Severity.FAIL, "c2:eth0", "is switched off", ("c2:eth0 is not UP",), "why", "mend",
        ("c2",), "net1", (command,),
    )  # fmt: skip
    write_preflight(directory, (found,))
    assert load(directory).preflight == (found,)


def test_a_finished_run_loses_its_suffix_and_keeps_its_identity(directory: RunDirectory) -> None:
    identity = directory.identity
    directory.finish()
    assert directory.path.name == identity
    assert load(directory).complete


def test_a_line_cut_off_by_a_kill_costs_only_itself(directory: RunDirectory) -> None:
    append_records(directory, 1, 1, (Footer(1, 0.5),))
    append_launch(directory, LaunchLine(1, 1, "net1", ("c1", "c2"), ENDED, ()))
    with (directory.path / "results.jsonl").open("ab") as file:
        file.write(b'{"launch":1,"attempt":1,"rec')
    run = load(directory)
    assert len(run.launches) == 1
    assert run.launches[0].ended == ENDED
    assert "line 2" in run.notes[0]


def test_what_is_appended_after_a_torn_line_is_not_glued_to_it(directory: RunDirectory) -> None:
    with (directory.path / "results.jsonl").open("ab") as file:
        file.write(b'{"launch":1,"attempt":1,"rec')
    append_records(directory, 1, 2, (Footer(1, 0.5),))
    run = load(directory)
    assert len(run.launches) == 1
    assert len(run.notes) == 1


def test_a_line_nested_too_deeply_is_named_not_fatal(directory: RunDirectory) -> None:
    (directory.path / "results.jsonl").write_bytes(b'{"record":' + b"[" * 200_000 + b"\n")
    assert "line 1" in load(directory).notes[0]


def test_a_launch_without_an_end_is_called_broken(directory: RunDirectory) -> None:
    append_records(directory, 1, 1, (Footer(1, 0.5),))
    assert load(directory).launches[0].ended.status == "broken"


def test_attempts_of_a_launch_stay_apart(directory: RunDirectory) -> None:
    for attempt in (1, 2):
        append_launch(directory, LaunchLine(1, attempt, "net1", ("c1", "c2"), ENDED, ()))
    assert [launch.number for launch in load(directory).launches] == [1, 1]


def test_a_hostile_node_name_cannot_leave_the_raw_folder(directory: RunDirectory) -> None:
    directory.keep_raw("discover", "../../etc/$(reboot)<b>", "raw")
    kept = list((directory.path / "raw" / "discover").iterdir())
    assert len(kept) == 1
    assert kept[0].read_text() == "raw"


def test_damaged_json_names_the_file(directory: RunDirectory) -> None:
    (directory.path / "plan.json").write_text("{")
    with pytest.raises(StoreError, match="plan.json is damaged"):
        load(directory)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="run.json"):
        load(RunDirectory(tmp_path))


def test_a_root_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--output"):
        RunDirectory.create(tmp_path / "file" / "runs")


def test_a_full_disk_is_a_clear_error(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fabricgauge.store.files.writing.os.write", full)
    with pytest.raises(StoreError, match="No space left on device"):
        append_records(directory, 1, 1, (Footer(1, 0.5),))


def test_a_run_is_found_by_identity_beginning_and_latest(
    tmp_path: Path, directory: RunDirectory
) -> None:
    for name in (directory.identity, directory.identity[:12], "latest", str(directory.path)):
        assert find(tmp_path, name).path == directory.path


def test_a_run_is_found_by_the_name_that_it_had_before_it_was_complete(
    tmp_path: Path, directory: RunDirectory
) -> None:
    before = str(directory.path)
    directory.finish()
    assert find(tmp_path, before).path == directory.path


def test_an_unknown_run_lists_those_there_are(tmp_path: Path, directory: RunDirectory) -> None:
    with pytest.raises(StoreError, match=directory.identity):
        find(tmp_path, "1999")
