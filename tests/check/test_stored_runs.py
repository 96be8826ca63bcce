"""Runs that earlier versions stored: each is read, judged as then, and shown in every format.

Beside a run, ``VERSION--CASE.json`` has what the version that made it found: exit status, overall
verdict, and rule, subject and outcome of each verdict; beside a bundle, the findings. Only a rule
that judges otherwise on purpose changes such a file, with a line in CHANGELOG.md.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fabricgauge.cli.verbs import cli
from fabricgauge.report.content import run as runs
from fabricgauge.report.formats import FORMATS, formats_of

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
BUNDLES = sorted(path.parent.name for path in RUNS.glob("*/bundle.json"))
JUDGED = sorted(path.parents[1].name for path in RUNS.glob("*/*/run.json"))
COMPARED = sorted(path.stem for path in RUNS.glob("*--compared-*.json"))


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither this site's thresholds nor this person's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(tmp_path / "none"))


def fabricgauge(*words: str) -> Result:
    done = CliRunner().invoke(cli, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def document(*words: str) -> tuple[int, Any]:
    """Exit status and document of a command that prints JSON."""
    done = fabricgauge(*words, "--format", "json")
    return done.exit_code, json.loads(done.stdout)


def expected(case: str) -> Any:
    return json.loads((RUNS / f"{case}.json").read_text())


def stored(case: str) -> Path:
    (run,) = (RUNS / case).iterdir()
    return run


def test_each_stored_run_says_where_it_is_from_and_what_was_found_then() -> None:
    assert {"0.1.0--healthy", "0.1.0--slow-node"} <= set(JUDGED)
    assert BUNDLES
    for case in (*JUDGED, *BUNDLES):
        assert (RUNS / f"{case}.meta").read_text().startswith("tool: fabricgauge")
        assert (RUNS / f"{case}.json").is_file()


@pytest.mark.parametrize("case", JUDGED)
def test_a_stored_run_is_judged_as_on_its_day(case: str) -> None:
    status, report = document("report", str(stored(case)))
    then = expected(case)
    spoke = {rule for rule, _, _ in then["verdicts"]}
    verdicts = [
        [one["rule"], one["subject"], one["outcome"]]
        for one in report["verdicts"]
        if one["rule"] in spoke  # a newer rule may add verdicts, but not another outcome
    ]
    assert {"exit": status, "overall": report["overall"], "verdicts": verdicts} == then


@pytest.mark.parametrize("case", JUDGED)
def test_a_stored_run_is_shown_in_every_format_and_left_as_it_is(case: str, tmp_path: Path) -> None:
    run = tmp_path / stored(case).name
    shutil.copytree(stored(case), run)
    for name in formats_of(runs.KIND):
        written = tmp_path / f"{name}{FORMATS[name].suffix}"
        done = fabricgauge("report", str(run), "--format", name, "--to", str(written))
        assert done.exit_code == expected(case)["exit"], name
        assert written.stat().st_size, name
    kept = {path.relative_to(run) for path in run.rglob("*")}
    assert kept == {path.relative_to(stored(case)) for path in stored(case).rglob("*")}


@pytest.mark.parametrize("case", BUNDLES)
def test_a_stored_bundle_has_the_findings_of_its_day(case: str) -> None:
    status, report = document("doctor", "-q", "--from", str(RUNS / case))
    findings = [[one["check"], one["where"], one["severity"]] for one in report["findings"]]
    assert {"exit": status, "findings": findings} == expected(case)
    assert document("discover", "--from", str(RUNS / case))[0] == 0


@pytest.mark.parametrize("case", COMPARED)
def test_two_stored_runs_compare_as_on_their_day(case: str) -> None:
    said = expected(case)
    status, report = document("compare", str(RUNS / said["a"]), str(RUNS / said["b"]))
    pairs = [
        [one["a"]["title"], one["basis"], bool(one["regression"])]
        for one in report["comparison"]["pairs"]
    ]
    found = {"exit": status, "outcome": report["comparison"]["outcome"], "pairs": pairs}
    assert found == {name: said[name] for name in found}


def rule(case: str, name: str) -> list[dict[str, Any]]:
    """A rule's verdicts on a stored run."""
    verdicts = document("report", str(stored(case)))[1]["verdicts"]
    return [one for one in verdicts if one["rule"] == name]


@pytest.mark.parametrize("case", ["slow-link", "iperf3-slow-link"])
def test_a_link_at_a_tenth_of_its_rate_fails_with_cause_and_remedy(case: str) -> None:
    found = rule(f"0.1.0--{case}", "fraction")
    assert {one["outcome"] for one in found} == {"FAIL"}
    assert all(one["figure"]["value"] < 0.11 for one in found)
    assert all("100 Mb/s" in one["cause"] and one["remedy"] for one in found)


def test_one_end_with_a_smaller_mtu_is_named() -> None:
    (found,) = rule("0.1.0--small-mtu", "mtu")
    assert found["outcome"] == "FAIL"
    assert "c2:eth0" in str(found)


@pytest.mark.parametrize(
    ("case", "named"),
    [
        ("sound-nodes", []),
        ("slow-node", ["net1, c3, in both directions"]),
        ("slow-node-sending", ["net1, c3, sending"]),
        ("simulated", ["simulated, node-3, in both directions"]),
    ],
)
def test_who_is_slow_is_named_and_nobody_else(case: str, named: list[str]) -> None:
    found = rule(f"0.1.0--{case}", "outliers")
    assert [one["subject"] for one in found if one["outcome"] == "FAIL"] == named
