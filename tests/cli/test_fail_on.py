"""What counts as a failure beside a FAIL: the exit status, and JUnit by the same rule."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from fabricgauge.cli.verbs import cli
from fabricgauge.compare import comparing
from fabricgauge.features.vary import varying
from fabricgauge.model.verdict import Outcome, Strictness, exit_status

STRICT: tuple[Strictness, ...] = ("warn", "inconclusive")
RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
WARNS, UNDECIDED, FAILS, PASSES = (
    str(next((RUNS / f"0.1.0--{case}").iterdir()))
    for case in ("sound-nodes", "unpinned", "slow-link", "healthy")
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(tmp_path / "none"))


def reported(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["report", *words])
    return done.exit_code, done.stdout


@pytest.mark.parametrize(
    ("run", "plain", "on_warn", "on_inconclusive"),
    [(PASSES, 0, 0, 0), (WARNS, 0, 1, 0), (UNDECIDED, 3, 3, 1), (FAILS, 1, 1, 1)],
)
def test_the_exit_status_follows_from_verdict_and_option(
    run: str, plain: int, on_warn: int, on_inconclusive: int
) -> None:
    assert reported(run)[0] == plain
    assert reported(run, "--fail-on", "warn")[0] == on_warn
    assert reported(run, "--fail-on", "inconclusive")[0] == on_inconclusive
    both = reported(run, "--fail-on", "warn", "--fail-on", "inconclusive")[0]
    assert both == max(on_warn % 3, on_inconclusive)


@pytest.mark.parametrize("run", [PASSES, WARNS, UNDECIDED, FAILS])
@pytest.mark.parametrize("words", [(), ("--fail-on", "warn"), ("--fail-on", "inconclusive")])
def test_junit_is_clean_where_the_exit_status_is_0_and_nowhere_else(
    run: str, words: tuple[str, ...]
) -> None:
    status, text = reported(run, "--format", "junit", *words)
    counts = ET.fromstring(text.encode()).attrib  # noqa: S314
    failures, errors = counts["failures"] != "0", counts["errors"] != "0"
    assert (failures or errors) == (status != 0)
    assert failures == (status == 1)
    assert errors or status != 3


def test_an_unknown_strictness_is_wrong_usage() -> None:
    assert reported(PASSES, "--fail-on", "noise")[0] == 2


def test_a_comparison_that_decides_nothing_can_fail(tmp_path: Path) -> None:
    log = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8 {}\n1024 {}\n"
    for name, values in (("a.out", (1.0, 2.0)), ("b.out", (1.0, 2.0))):
        (tmp_path / name).write_text(log.format(*values))
    for words, status in (((), 0), (("--fail-on", "inconclusive"), 0)):
        both = ["compare", str(tmp_path / "a.out"), str(tmp_path / "b.out"), *words]
        assert CliRunner().invoke(cli, both).exit_code == status
    assert exit_status(comparing.AS_OF_A_RUN["undecided"]) == 3
    assert exit_status(comparing.AS_OF_A_RUN["undecided"], STRICT) == 1
    assert exit_status(varying.AS_OF_A_RUN["different"], STRICT) == 1
    assert exit_status(varying.AS_OF_A_RUN["different"]) == 0


@pytest.mark.parametrize("outcome", Outcome)
def test_what_decided_nothing_never_passes(outcome: Outcome) -> None:
    for strict in ((), ("warn",), ("inconclusive",), ("warn", "inconclusive")):
        passes = exit_status(outcome, strict) == 0  # type: ignore[arg-type]
        assert passes <= (outcome in (Outcome.PASS, Outcome.WARN))
