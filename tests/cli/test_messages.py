"""A message to a person names what is wrong and where, in the words of the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fabricgauge.cli.verbs import cli
from fabricgauge.model.errors import FabricgaugeError

CONFIGURATION = {
    '[check]\nprofle = "quick"\n': "check has no option 'profle'",
    '[check]\nprofile = "slow"\n': "[check] profile = 'slow': 'slow' is not one of",
    '[[network]]\nname = "x"\nsubnet = "10.0.0.0/24"\nrate = "quick"\n':
        "network 'x': 'quick' is not a link rate",
}  # fmt: skip


def said(*words: str) -> str:
    """The message that a command ends with."""
    done = CliRunner().invoke(cli, words)
    assert isinstance(done.exception, FabricgaugeError), done.output
    return str(done.exception)


@pytest.mark.parametrize("content", CONFIGURATION)
def test_what_a_configuration_file_says_wrongly_is_told_with_the_file(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(content)
    monkeypatch.setenv("FABRICGAUGE_SITE_FILE", str(file))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    assert said("check", "--lab", "--dry-run").startswith(f"{file}: {CONFIGURATION[content]}")


@pytest.mark.parametrize(("words", "told"), [
    (("check", "-w", "^/none/nodes"), "cannot read the nodes in '/none/nodes': No such file"),
    (("check", "-w", "@none:group"), "no source of groups is named 'none'"),
    (("import", "guide-1gbe-osu-put-bw", "--hosts", "a=c;d"), "--hosts 'c;d' is no list of nodes"),
    (("profile", "--", "/none/app"), "no program found in `/none/app`"),
])  # fmt: skip
def test_a_wrong_word_of_the_command_line_is_told_as_it_was_written(
    words: tuple[str, ...], told: str
) -> None:
    assert told in said(*words)


def test_a_place_without_runs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    runs = tmp_path / "fabricgauge" / "runs"
    runs.mkdir(parents=True)
    assert said("report", "latest").startswith(f"{runs} holds no run")
