"""Records of another run in a run directory: INVALID, named, and all figures stay readable."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.hunt import logs

from fabricgauge.check.conclude import conclude
from fabricgauge.cli.verbs import cli
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

RUNS = Path(__file__).parents[1] / "fixtures/runs"
FILES = ("results.jsonl", "launches.jsonl")


def stored(case: str) -> Path:
    (run,) = (RUNS / f"0.1.0--{case}").iterdir()
    return run


def old_copy(case: str, place: Path) -> Path:
    shutil.copytree(stored(case), place)
    return place


def new_copy(case: str, root: Path) -> Path:
    """The run as this version writes it: each record has the name of its run."""
    run, directory = run_files.load(RunDirectory(stored(case))), RunDirectory.create(root)
    about = run_files.About(run.started_utc, run.command, run.environment)
    run_files.write_beginning(directory, about, run.fabric, run.plan)
    for launch in run.launches:
        parts = (launch.header, *launch.placements, *launch.measurements, *launch.curves)
        records = [record for record in parts if record is not None]
        run_files.append_records(directory, launch.number, 1, records)
        line = run_files.LaunchLine(
            launch.number, 1, launch.network, launch.nodes, launch.ended, ()
        )  # fmt: skip
        run_files.append_launch(directory, line)
    directory.finish()
    return directory.path


def judged(place: Path) -> Judged:
    return conclude(run_files.load(RunDirectory(place)), DEFAULTS)


def blamed(place: Path, rule: str = "completeness") -> Verdict:
    found = judged(place)
    assert found.overall is Outcome.INVALID
    assert found.curves or any(launch.curves for launch in found.run.launches)
    return next(
        verdict for verdict in found.verdicts
        if (verdict.rule, verdict.outcome) == (rule, Outcome.INVALID)
    )  # fmt: skip


def take_over(a: Path, b: Path, *names: str) -> None:
    for name in names:
        shutil.copyfile(b / name, a / name)


def append(a: Path, b: Path, *names: str) -> None:
    for name in names:
        with (a / name).open("ab") as file:
            file.write((b / name).read_bytes())


Mix = Callable[[Path, Path], None]
MIXES: dict[str, Mix] = {
    "all records of B": lambda a, b: take_over(a, b, *FILES),
    "the results of B": lambda a, b: take_over(a, b, "results.jsonl"),
    "the launches of B": lambda a, b: take_over(a, b, "launches.jsonl"),
    "both, one behind the other": lambda a, b: append(a, b, *FILES),
    "B's results behind A's": lambda a, b: append(a, b, "results.jsonl"),
    "B's run.json": lambda a, b: take_over(a, b, "run.json"),
}


@pytest.mark.parametrize("name", MIXES)
def test_records_of_two_runs_are_invalid(name: str, tmp_path: Path) -> None:
    a, b = (new_copy("healthy", tmp_path / root) for root in ("a", "b"))
    assert judged(a).overall is Outcome.PASS
    MIXES[name](a, b)
    verdict = blamed(a)
    assert ".jsonl" in verdict.summary
    assert any(a.name in line or b.name in line for line in verdict.evidence)
    assert "two runs" in verdict.cause
    assert CliRunner().invoke(cli, ("report", str(a))).exit_code == 3


def test_a_launch_of_another_run_is_named(tmp_path: Path) -> None:
    a, b = (new_copy("slow-link", tmp_path / root) for root in ("a", "b"))
    lines = (a / "results.jsonl").read_text().splitlines(keepends=True)
    last = max(json.loads(line)["launch"] for line in lines)
    kept = [line for line in lines if json.loads(line)["launch"] != last]
    more = [
        line for line in (b / "results.jsonl").read_text().splitlines(keepends=True)
        if json.loads(line)["launch"] == last
    ]  # fmt: skip
    (a / "results.jsonl").write_text("".join(kept + more))
    verdict = blamed(a)
    assert verdict.evidence[0].startswith(
        f"launch {last}: results.jsonl: {len(more)} records of run"
    )
    assert len(verdict.evidence) == 1


@pytest.mark.parametrize("rename", ["before", "after"])
def test_a_renamed_run_is_judged_as_before(rename: str, tmp_path: Path) -> None:
    """Its first part has its first name, and so has what a resumption adds."""
    path = new_copy("healthy", tmp_path / "a")
    if rename == "after":
        path = path.rename(tmp_path / "my run")
    else:
        partial = path.rename(tmp_path / "my run.partial")
        lines = (partial / "launches.jsonl").read_text()
        (partial / "launches.jsonl").write_text("")
        line = msgspec.json.decode(lines, type=run_files.LaunchLine)
        run_files.append_launch(RunDirectory(partial), line)
        path = partial.rename(tmp_path / "my run")
    assert judged(path).overall is Outcome.PASS


def test_a_run_of_an_earlier_version_may_be_resumed_by_this_one(tmp_path: Path) -> None:
    path = old_copy("healthy", tmp_path / "a.partial")
    line = msgspec.json.decode((path / "launches.jsonl").read_text(), type=run_files.LaunchLine)
    (path / "launches.jsonl").write_text("")
    run_files.append_launch(RunDirectory(path), line)
    assert judged(path).overall is not Outcome.INVALID
    renamed = path.rename(tmp_path / "b.partial")
    run_files.append_launch(RunDirectory(renamed), msgspec.structs.replace(line, attempt=2))
    assert not [mixed for launch in run_files.load(RunDirectory(renamed)).launches
                if (mixed := launch.mixed)]  # fmt: skip


@pytest.mark.parametrize(
    ("mix", "rule"),
    [
        (lambda a, b: append(a, b, "results.jsonl"), "completeness"),
        (lambda a, b: append(a, b, *FILES), "completeness"),
        (lambda a, b: take_over(a, b, "results.jsonl"), "placement"),
        (lambda a, b: take_over(a, b, *FILES), "placement"),
        (lambda a, b: take_over(a, b, "fabric.json"), "placement"),
    ],
)  # fmt: skip
def test_runs_of_earlier_versions_are_told_apart_by_their_launches_and_nodes(
    mix: Mix, rule: str, tmp_path: Path
) -> None:
    """They lie in labs of their own: one kernel, and other network namespaces."""
    a, b = (old_copy(case, tmp_path / case) for case in ("healthy", "slow-direction"))
    mix(a, b)
    verdict = blamed(a, rule)
    if rule == "placement":
        assert "network namespace is net:" in verdict.summary
        assert "another run" in verdict.cause
    else:
        assert "it began 2 times" in " ".join(verdict.evidence)


def test_no_stored_run_is_mixed() -> None:
    runs = [
        run_files.load(RunDirectory(folder))
        for folder in RUNS.glob("0.1.0--*/2*")
        if (folder / "results.jsonl").exists()
    ]
    assert len(runs) > 12
    assert [launch.mixed for run in runs for launch in run.launches if launch.mixed] == []


def imported(root: Path, name: str, text: str) -> Path:
    root.mkdir()
    (root / name).write_text(text)
    words = ("import", str(root / name), "--network", "edr", "--hosts", "c[1-2]")
    assert CliRunner().invoke(cli, (*words, "-o", str(root))).exit_code == 0
    (run,) = root.glob("2*")
    return run


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("name", ["a.log", "b.log"])
def test_tables_of_another_import_are_invalid(name: str, stamped: bool, tmp_path: Path) -> None:
    a = imported(tmp_path / "a", "a.log", logs.osu_bw())
    b = imported(tmp_path / "b", name, logs.osu_bw(logs.scaled(logs.EDR_MB_S, 1.001)))
    append(a, b, "results.jsonl")
    if not stamped:
        for file in ("run.json", *FILES):
            text = (a / file).read_text()
            for run in (a, b):
                text = text.replace(run.name, "")
            (a / file).write_text(text)
    found = judged(a)
    if stamped or name == "b.log":
        assert found.overall is Outcome.INVALID
        assert any("do not belong to this run" in verdict.summary for verdict in found.verdicts)
    assert found.run.launches[0].curves
