"""Outcome by form: status and first line of the script, the same as those of check and doctor."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.docs.pages import ROOT
from tests.features.health.node import Node, build_node

from fabricgauge.features.health.script import ScriptSettings, write_script
from fabricgauge.model.answer import (
    FORMS,
    MOST_OCTETS,
    STATUSES,
    TAG,
    PerformanceFigure,
    find_form,
    format_answer,
)
from fabricgauge.model.verdict import Outcome

OUTCOMES = (Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.INCONCLUSIVE)
LONG = "eth0 link down; " * 20
PAGE = ROOT / "docs/reference/health.md"


def plant(node: Node, outcome: Outcome) -> None:
    if outcome is Outcome.FAIL:
        node.net("carrier", 0)
        node.net("operstate", "down")
    elif outcome is Outcome.INCONCLUSIVE:
        node.net("speed", -1)
    elif outcome is Outcome.WARN:
        node.net("mtu", 1500)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_script_and_the_program_answer_alike(
    tmp_path: Path, form: str, outcome: Outcome
) -> None:
    node = build_node(tmp_path)
    plant(node, outcome)
    text = node.check().text.partition(": ")[2].strip()
    status, line, _ = node.check("--for", form)
    asked = next(known for known in FORMS if known == form)
    assert status == STATUSES[asked][outcome]
    expected = format_answer(asked, outcome, text)
    assert line.partition(" | ")[0].strip() == expected
    assert line.count("\n") <= 1
    assert len(expected) <= MOST_OCTETS.get(asked, 999) + len(f" {TAG}")


@given(st.sampled_from(FORMS), st.sampled_from(list(Outcome)), st.text())
def test_an_answer_is_one_line_that_nobody_interprets(
    form: str, outcome: Outcome, text: str
) -> None:
    asked = next(known for known in FORMS if known == form)
    line = format_answer(asked, outcome, text)
    assert not set(line) & set("\n\r\"'`$\\<>|&*!~{}\0\x1b")


def test_a_long_text_is_cut_as_each_contract_asks() -> None:
    assert len(format_answer("npd", Outcome.FAIL, LONG)) == 80
    slurm = format_answer("slurm", Outcome.FAIL, LONG)
    assert slurm.startswith("eth0 link down")
    assert slurm.endswith(f"... {TAG}")


@pytest.mark.parametrize(
    ("form", "most", "end"), [("npd", 80, "..."), ("slurm", 114, f"... {TAG}")]
)
def test_a_node_with_many_faults_is_answered_in_one_line_that_fits(
    tmp_path: Path, form: str, most: int, end: str
) -> None:
    """node-problem-detector takes all of stdout, trims it, and cuts it after 80 octets."""
    node = build_node(tmp_path)
    plant(node, Outcome.FAIL)
    node.port("state", "1: DOWN")
    node.port("phys_state", "3: Disabled")
    node.write("sys/class/infiniband/mlx5_0/fw_ver", "20.31.1014")
    assert len(node.check().text) > most + 20
    status, text, error = node.check("--for", form)
    assert (status, error, text.count("\n")) == (1, "", 1)
    assert len(text.strip().encode()) <= most
    assert text.startswith("eth0 link down")
    assert text.strip().endswith(end)


#: Monitoring Plugins, Development Guidelines, "Performance data".
PERFORMANCE = re.compile(r"'[^'=|]+'=-?[0-9.]+(?:s|%|B|c)?(?:;[0-9.]*){0,4}|time=[0-9.]+s;;\d+;0")


def test_figures_follow_the_guidelines(tmp_path: Path) -> None:
    line = node_line(tmp_path)
    data = line.partition(" | ")[2].strip()
    words = re.findall(r"'[^']*'=\S+|\S+", data)
    assert len(words) == 5
    assert all(PERFORMANCE.fullmatch(word) for word in words), words
    figures = [PerformanceFigure("net1 a=b|c", 99.4, "%")]
    assert format_answer("nagios", Outcome.PASS, "ok", figures).endswith("| 'net1 a?b?c'=99.4%")


def node_line(folder: Path) -> str:
    return build_node(folder).check("--for", "nagios").text


def test_monitoring_plugins_read_the_line(tmp_path: Path) -> None:
    """Perl's Monitoring::Plugin reads the figures, negate the status (Debian has both)."""
    if not Path("/usr/share/perl5/Monitoring/Plugin.pm").exists():
        pytest.skip("libmonitoring-plugin-perl is not installed")
    program = (
        "use Monitoring::Plugin::Performance;"
        "print join(',', map { $_->label.'='.$_->value.$_->uom.'>'.$_->critical }"
        " Monitoring::Plugin::Performance->parse_perfstring($ARGV[0]));"
    )
    data = node_line(tmp_path).partition("|")[2].strip()
    done = subprocess.run(["perl", "-e", program, data], capture_output=True, text=True, check=True)
    figures = done.stdout.split(",")
    assert re.fullmatch(r"time=[0-9.]+s>4", figures[0])
    assert figures[1:] == [
        "eth0 flaps=0>", "eth0 errors=0>100", "mlx5_0:1 flaps=0>", "mlx5_0:1 errors=0>360",
    ]  # fmt: skip
    negate = Path("/usr/lib/nagios/plugins/negate")
    if negate.exists():
        script = tmp_path / "health.sh"
        script.write_text(write_script(None, ScriptSettings("nagios", state=f"{tmp_path}/other")))
        script.chmod(0o755)
        argv = [str(negate), "-s", "-o", "CRITICAL", str(script)]
        negated = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert negated.returncode == 2
        assert negated.stdout.startswith("FABRICGAUGE CRITICAL - 3 checks")


def test_a_form_is_found_on_a_command_line() -> None:
    assert find_form(["check", "--for", "slurm"], {}) == "slurm"
    assert find_form(["check", "--for=nagios", "-q"], {}) == "nagios"
    assert find_form(["check", "--for", "x"], {}) == "plain"
    assert find_form(["check", "--for"], {}) == "plain"
    assert find_form(["check"], {"FABRICGAUGE_CHECK_FOR": "npd"}) == "npd"
    assert find_form(["check", "--for=plain"], {"FABRICGAUGE_CHECK_FOR": "npd"}) == "plain"
    assert find_form([], {"FABRICGAUGE_CHECK_FOR": "npd"}) == "plain"


def test_the_page_has_status_and_first_line_of_each_outcome_and_form() -> None:
    rows = {
        cells[0]: cells[1:5]
        for line in PAGE.read_text("utf-8").splitlines()
        if (cells := [cell.strip(" `") for cell in line.strip("|").split("|")])[0] in list(Outcome)
    }
    for outcome in Outcome:
        for form, cell in zip(FORMS, rows[outcome.value], strict=True):
            status, line = STATUSES[form][outcome], format_answer(form, outcome, "TEXT")
            assert cell == (f"{status} `{line}" if line else f"{status}"), (outcome, form)


@pytest.mark.parametrize(
    ("words", "form", "status"),
    [
        (["--limit", "0"], "slurm", 0), (["--limit", "x"], "nagios", 3), (["--bogus"], "npd", 2),
        (["--limit", "08"], "plain", 3),
    ],
)  # fmt: skip
def test_a_mistake_in_the_call_is_no_failure(
    tmp_path: Path, words: list[str], form: str, status: int
) -> None:
    answer = build_node(tmp_path).check("--for", form, *words)
    assert answer.status == status
    assert "usage:" in answer.error
