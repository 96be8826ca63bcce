"""Help texts come from the page that ships, as click would write them."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabricgauge.cli.overview import help_text
from fabricgauge.cli.verbs import cli

WORDS = (("check",), ("lab", "up"), ("import",), ("engine", "build"))


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("FABRICGAUGE_SITE_FILE", raising=False)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_a_help_text_is_that_of_click(words: tuple[str, ...], option: str) -> None:
    asked = CliRunner().invoke(cli, [*words, "--help"], prog_name="fabricgauge", terminal_width=80)
    assert help_text([*words, option], 100) == asked.output


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (["check"], 80),
        (["check", "--lab", "--help"], 80),  # an option, no verb: click decides
        (["nothing", "--help"], 80),
        (["check", "--help"], 60),
    ],
)
def test_click_writes_any_other_text(words: list[str], columns: int) -> None:
    assert help_text(words, columns) is None


def test_a_configuration_file_has_defaults_that_only_click_knows(tmp_path: Path) -> None:
    file = tmp_path / "fabricgauge" / "config.toml"
    file.parent.mkdir()
    file.write_text('[check]\nprofile = "full"\n')
    assert help_text(["check", "--help"], 80) is None


def test_help_loads_neither_click_nor_a_verb() -> None:
    look = (
        "import sys; sys.argv = ['fabricgauge', 'check', '--help']\n"
        "from fabricgauge.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code\n"
        "known = {'click', 'msgspec', 'numpy', 'fabricgauge.cli.check'} & set(sys.modules)\n"
        "print(status, sorted(known), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stderr.split("\n")[0] == "0 []"
    assert done.stdout.startswith("Usage: fabricgauge check")
