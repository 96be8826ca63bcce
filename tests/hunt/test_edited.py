"""Outcomes that somebody edited in a stored run: lists do not show them, `report` tells."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.typed import typed
from tests.hunt import logs

from fabricgauge.cli.verbs import cli


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A run that fails, alone in its directory."""
    log = tmp_path / "a.log"
    log.write_text(logs.osu_bw(logs.scaled(logs.EDR_MB_S, 0.5)))
    root = tmp_path / "runs"
    words = ("import", str(log), "--network", "edr", "--hosts", "c[1-2]", "-o", str(root))
    assert CliRunner().invoke(cli, words).exit_code == 1
    (run,) = root.iterdir()
    return run


def ask(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def edit(run: Path, *names: str) -> None:
    for name in names:
        text = (run / name).read_text()
        assert '"FAIL"' in text
        (run / name).write_text(text.replace('"FAIL"', '"PASS"'))


@pytest.mark.parametrize("name", ["report.json", "verdicts.json"])
def test_no_list_shows_an_outcome_that_another_file_contradicts(failed: Path, name: str) -> None:
    edit(failed, name)
    root = str(failed.parent)
    index = str(failed.parent.parent / "index")
    for words in (("runs", "-o", root), ("history", "list", "-o", root, "--index", index)):
        shown = ask(*words, "--format", "json")
        assert '"PASS"' not in shown.stdout
        assert "report.json says" in shown.stdout


@pytest.mark.parametrize(
    "names", [("report.json",), ("verdicts.json",), ("report.json", "verdicts.json")]
)
def test_report_names_an_outcome_that_the_records_do_not_give(
    failed: Path, names: tuple[str, ...]
) -> None:
    sound = ask("report", str(failed))
    assert (sound.exit_code, sound.stderr) == (1, "")
    edit(failed, *names)
    shown = ask("report", str(failed))
    assert shown.exit_code == 1
    assert "report.json says" in shown.stderr and "edited" in shown.stderr


@pytest.mark.parametrize("name", ["report.json", "verdicts.json"])
def test_no_escape_sequence_of_a_stored_outcome_reaches_a_terminal(failed: Path, name: str) -> None:
    text = (failed / name).read_text()
    (failed / name).write_text(text.replace('"FAIL"', '"PASS\\u001b]0;owned\\u0007"'))
    root, index = str(failed.parent), str(failed.parent.parent / "index")
    shown = ask("report", str(failed))
    assert shown.exit_code == 1
    assert name in shown.stderr
    assert "\x1b" not in shown.output
    for words in (("runs",), ("history", "list", "--index", index)):
        assert "\x1b" not in ask(*words, "-o", root).output


def test_runs_and_history_show_one_outcome_of_an_imported_run(tmp_path: Path) -> None:
    log, root = tmp_path / "a.log", tmp_path / "runs"
    log.write_text(logs.osu_bw())
    ask("import", str(log), "--network", "edr", "--hosts", "c[1-2]", "-o", str(root))
    index = str(tmp_path / "index")
    for words in (("runs",), ("history", "list", "--index", index)):
        assert '"PASS"' in ask(*words, "-o", str(root), "--format", "json").stdout


def test_a_pattern_is_refused_where_it_has_no_effect(failed: Path) -> None:
    words = ("report", str(failed), "--pattern", "bandwidth")
    for form in ("terminal", "json"):
        assert "--format osu or imb" in str(ask(*words, "--format", form).exception)
    assert ask(*words, "--format", "osu").exit_code == 1


@pytest.mark.parametrize("where", ["variable", "file"])
def test_a_pattern_set_for_all_reports_leaves_other_formats_alone(
    failed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    words = ("report", str(failed))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if where == "variable":
        monkeypatch.setenv("FABRICGAUGE_REPORT_PATTERN", "latency")
    else:
        (tmp_path / "fabricgauge").mkdir()
        (tmp_path / "fabricgauge" / "config.toml").write_text('[report]\npattern = "latency"\n')
    shown = typed(*words)
    assert (shown.status, shown.output.split()[0]) == (1, "FAIL")
    assert typed(*words, "--format", "json").status == 1
    assert typed(*words, "--pattern", "bandwidth").status == 2
