"""What lies in a directory of logs, and what a disk does, cannot harm an import or its reader."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.logs.test_import import OSU_PUT

from fabricgauge.check import import_logs
from fabricgauge.cli.verbs import cli
from fabricgauge.logs.read_files import read_large_file
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import load

PRIVATE = "# secret: 65536   116.06\n"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither this site's thresholds nor this person's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(tmp_path / "none"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A directory with one log that only its owner may read, and a secret beside it."""
    (tmp_path / "secret").write_text(PRIVATE)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "put.out").write_text(OSU_PUT)
    (logs / "put.out").chmod(0o640)
    return logs


def fabricgauge(logs: Path, *words: str) -> tuple[Result, RunDirectory]:
    runs = logs.parent / "runs"
    argv = ["import", str(logs), "--network", "1GbE", "-o", str(runs), *words]
    done = CliRunner().invoke(cli, argv)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done, find(runs, "latest")


def test_no_link_leads_out_of_the_directory_that_was_named(logs: Path) -> None:
    for name, leads_to in {
        "a.out": "../secret", "b.out": "/proc/self/environ", "c.out": "/dev/zero", "d": "..",
        "e.out": "e.out", "inside.out": "put.out",
    }.items():  # fmt: skip
        (logs / name).symlink_to(leads_to)
    done, run = fabricgauge(logs)
    assert done.exit_code == 0
    kept = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert b"# secret" not in kept
    assert b"PATH=" not in kept
    assert b"leads out of" in kept
    copied = sorted(path.name for path in run.path.glob("raw/*/*"))
    assert copied == ["inside.out", "put.out"]


def test_a_run_is_its_owners_alone_and_a_copy_keeps_its_mode(logs: Path) -> None:
    _, run = fabricgauge(logs)
    modes = {path.name: path.stat().st_mode & 0o777 for path in run.path.rglob("*")}
    assert modes.pop("put.out") == 0o640
    assert modes.pop("raw") == modes.pop("import-001") == 0o700
    assert set(modes.values()) == {0o600}
    assert run.path.stat().st_mode & 0o777 == 0o700


def test_a_name_that_is_no_utf_8_and_a_pipe_end_nothing(logs: Path) -> None:
    strange = os.fsdecode(b"\xff\x1b[2J.out")
    (logs / strange).write_text(OSU_PUT)
    os.mkfifo(logs / "pipe")
    done, run = fabricgauge(logs, "--format", "json")
    assert done.exit_code == 0
    loaded = load(run)
    names = {curve.source for launch in loaded.launches for curve in launch.curves}
    assert names == {"logs/put.out", "logs/\\xff\x1b[2J.out"}
    again = CliRunner().invoke(cli, ["report", str(run.path), "--format", "json"])
    assert again.exit_code == 0


@pytest.mark.parametrize("form", ["terminal", "json", "html"])
def test_such_a_name_may_stand_on_the_command_line(logs: Path, form: str) -> None:
    strange = logs / os.fsdecode(b"\xff.out")
    strange.write_text(OSU_PUT)
    runs = str(logs.parent / "runs")
    for words in (["import", str(strange), "-o", runs], ["compare", str(strange), str(strange)]):
        done = CliRunner().invoke(cli, [*words, "--format", form])
        assert done.exit_code == 3, done.exception


def test_a_full_disk_costs_the_reports_and_not_the_verdict(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) > 20_000:  # the reports
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    monkeypatch.setattr("fabricgauge.store.files.writing.os.write", full)
    done, run = fabricgauge(logs)
    assert done.exit_code == 0
    assert "PASS" in done.stdout
    assert "No space left on device" in done.stderr
    assert not run.complete
    assert not [path for path in run.path.rglob("*") if path.name.endswith(".new")]


def test_behind_the_last_table_that_is_kept_nothing_is_read_and_that_is_said(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logs / "put.out").write_text(OSU_PUT * 10)
    read: list[object] = []
    real = read_large_file

    def counted(*words: Any) -> Iterator[object]:
        for one in real(*words):
            read.append(one)
            yield one

    monkeypatch.setattr(import_logs, "read_large_file", counted)
    done, run = fabricgauge(logs, "--max-tables", "3")
    assert len(read) == 4
    said = "a run keeps 3 tables of a file; --max-tables of import raises this"
    assert f"logs/put.out: lines from 22 on are not read: {said}" in done.stderr
    (launch,) = load(run).launches
    assert len(launch.curves) == 3
    assert [one for one in launch.unparsed if one.reason.endswith(said)]
