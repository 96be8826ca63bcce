"""``--for``: one line and the status that a scheduler or a monitor expects, errors included."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.report import sample, sample_verdicts

from fabricgauge.check.conclude import conclude
from fabricgauge.cli.show import Printing, show
from fabricgauge.cli.verbs import cli
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.answer import FORMS, STATUSES, Form, format_answer
from fabricgauge.model.finding import Checked, Diagnosis, Finding, Severity
from fabricgauge.model.verdict import Outcome, Strictness
from fabricgauge.report.content.conclusion import headline
from fabricgauge.report.content.monitoring import answer_preflight, apply_strictness, find_outcome
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS, SLOW_LOG = FIXTURES / "runs", FIXTURES / "osu" / "7.3--bw-ompi-noconn.out"
PROGRAM = Path(sys.executable).with_name("fabricgauge")
NODES = ("c1", "c2")


def test_only_a_failure_is_an_alarm_to_slurm() -> None:
    assert [outcome for outcome in Outcome if STATUSES["slurm"][outcome]] == [Outcome.FAIL]


@pytest.mark.parametrize("form", FORMS)
def test_a_failed_run_is_answered_in_one_line(
    form: Form, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = sample.judged(verdicts=sample_verdicts.failing(NODES))
    status = show(judged, tmp_path, Printing(form=form))
    text = capsys.readouterr().out
    assert status == {"plain": 1, "slurm": 1, "nagios": 2, "npd": 1}[form]
    assert (text.count("\n") == 1) == (form != "plain")


def test_a_passed_run_is_silent_to_slurm_and_has_figures_for_nagios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = sample.judged()
    passed = judged.overall
    assert passed is Outcome.PASS
    assert show(judged, tmp_path, Printing(form="slurm")) == 0
    assert capsys.readouterr().out == ""
    assert show(judged, tmp_path, Printing(form="nagios")) == 0
    text = capsys.readouterr().out
    assert text.startswith("FABRICGAUGE OK - ")
    assert "'net1 bandwidth c1-c2'=99." in text
    assert "'net1 latency c1-c2'=" in text


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("healthy", Outcome.PASS), ("sound-nodes", Outcome.WARN), ("slow-link", Outcome.FAIL),
        ("one-node", Outcome.INVALID), ("host-limited", Outcome.INCONCLUSIVE),
    ],
)  # fmt: skip
def test_a_stored_run_has_status_and_line_of_its_outcome(
    name: str, outcome: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = (RUNS / f"0.1.0--{name}").iterdir()
    judged = conclude(run_files.load(RunDirectory(path)), DEFAULTS)
    assert judged.overall is outcome
    for form in FORMS[1:]:
        assert show(judged, path, Printing(form=form)) == STATUSES[form][outcome]
        line, _, figures = capsys.readouterr().out.partition(" | ")
        assert line.rstrip("\n") == format_answer(form, outcome, headline(judged))
        assert "?" not in line
        assert not figures or (form == "nagios" and outcome is not Outcome.INVALID)


@pytest.mark.parametrize("form", FORMS)
def test_an_imported_log_has_the_status_of_its_form(form: Form, tmp_path: Path) -> None:
    words = ["import", str(SLOW_LOG), "--network", "100GbE", "--hosts", "c1,c2", "-o"]
    done = CliRunner().invoke(cli, [*words, f"{tmp_path}/", "--for", form])
    assert done.exit_code == STATUSES[form][Outcome.FAIL]
    assert (done.stdout.count("\n") == 1) == (form != "plain")


@pytest.mark.parametrize(
    ("outcome", "fail_on", "expected"),
    [
        (Outcome.WARN, ("warn",), Outcome.FAIL), (Outcome.WARN, (), Outcome.WARN),
        (Outcome.INVALID, ("inconclusive",), Outcome.FAIL),
        (Outcome.INCONCLUSIVE, ("warn",), Outcome.INCONCLUSIVE),
    ],
)  # fmt: skip
def test_strictness_makes_failures(
    outcome: Outcome, fail_on: tuple[Strictness, ...], expected: Outcome
) -> None:
    assert apply_strictness(outcome, fail_on) is expected


def diagnosis(*severities: Severity) -> Diagnosis:
    findings = tuple(
        Finding("link", severity, "c2:eth0", "is down", (), "", "", ("c2",))
        for severity in severities
    )
    return Diagnosis((Checked("link", "links", findings),), NODES, ("net1",), 2.0, {})


@pytest.mark.parametrize(
    ("severities", "outcome"),
    [
        ((), Outcome.PASS), ((Severity.NOTE,), Outcome.PASS),
        ((Severity.NOTE, Severity.WARN), Outcome.WARN),
        ((Severity.WARN, Severity.FAIL), Outcome.FAIL),
    ],
)  # fmt: skip
def test_findings_of_doctor_are_an_outcome(
    severities: tuple[Severity, ...], outcome: Outcome
) -> None:
    found = diagnosis(*severities)
    assert find_outcome(found) is outcome
    line = answer_preflight(found, "nagios")
    assert f"'FAIL findings'={severities.count(Severity.FAIL)} " in line
    assert (outcome is Outcome.PASS) == line.startswith("FABRICGAUGE OK - ")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("slurm", ["import", "/nonexistent"]), ("nagios", ["import", "--bogus"]),
        ("npd", ["doctor", "--only", "bogus"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_mistake_is_no_alarm(form: Form, words: list[str], by_variable: bool) -> None:
    asked = () if by_variable else ("--for", form)
    env = {f"FABRICGAUGE_{words[0].upper()}_FOR": form} if by_variable else {}
    done = subprocess.run(
        [PROGRAM, *words, *asked], capture_output=True, text=True, check=False,
        env={**os.environ, **env},
    )  # fmt: skip
    assert done.returncode == STATUSES[form][Outcome.INCONCLUSIVE]
    assert done.stdout.count("\n") == 1
    assert done.stderr


@pytest.mark.parametrize("verb", ["check", "doctor", "import"])
def test_a_report_that_nobody_would_get_is_refused(verb: str) -> None:
    words = [verb, "--for", "slurm", "--format", "json", *(["x"] if verb == "import" else [])]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code != 0
    assert "--for prints one line" in str(done.exception)
