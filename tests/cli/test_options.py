"""Options from the command line, the environment and files; what is wrong is said at once."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.check.commands import PROGRAM

from fabricgauge.cli.verbs import cli

ROOT = Path(__file__).parents[2]


def run(*argv: str, home: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PROGRAM, *argv], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home), **env},
    )  # fmt: skip


def configure(home: Path, text: str) -> None:
    (home / "fabricgauge").mkdir(exist_ok=True)
    (home / "fabricgauge" / "config.toml").write_text(text)


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["check", "--format", "pdf"], "pdf"),
        (["check", "--profile", "slow"], "slow"),
        (["check", "--launcher", "ssh"], "-w"),
        (["check", "-w", "c[1-"], "c[1-"),
        (["check", "-w", "--oProxyCommand=x"], "host"),
        (["check", "--lab", "none-such", "--launcher", "local"], "--lab"),
        (["report", "--format", "pdf"], "pdf"),
        (["path", "--calls", "send", "--transport", "ofi"], "--calls"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_what_is_wrong_is_named_with_exit_status_2(
    argv: list[str], named: str, tmp_path: Path
) -> None:
    done = run(*argv, home=tmp_path)
    assert done.returncode == 2, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    configure(tmp_path, '[check]\nformat = "from-the-file"\n')
    env = {"FABRICGAUGE_CHECK_FORMAT": "from-the-environment"}
    assert "from-the-file" in run("check", home=tmp_path).stderr
    assert "from-the-environment" in run("check", home=tmp_path, **env).stderr
    done = run("check", "--format", "from-the-line", home=tmp_path, **env)
    assert "from-the-line" in done.stderr


def test_an_unknown_key_of_a_file_is_a_usage_error(tmp_path: Path) -> None:
    configure(tmp_path, "[check]\nprofiel = 3\n")
    done = run("check", home=tmp_path)
    assert done.returncode == 2
    assert "profiel" in done.stderr


@pytest.mark.parametrize(
    "line", ['profile = "nope"', 'launches = "many"', "case-budget = -1", "half-width = [1, 2]"]
)
def test_a_wrong_value_in_a_file_is_a_usage_error(line: str, tmp_path: Path) -> None:
    configure(tmp_path, f"[check]\n{line}\n")
    done = run("check", home=tmp_path)
    assert done.returncode == 2, done.stderr
    assert line.split()[0] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.engine
def test_lists_and_paths_of_a_file_arrive_as_the_options_do(tmp_path: Path) -> None:
    configure(
        tmp_path, f'[check]\nsizes = [8, "64K"]\noutput = "{tmp_path}/runs"\nnetwork = "no"\n'
    )
    done = run("check", "--launcher", "local", home=tmp_path)
    assert "no network" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "runs").is_dir()


def test_an_unknown_lab_says_how_to_bring_one_up(tmp_path: Path) -> None:
    done = run("check", "--lab", "none-such", home=tmp_path)
    assert done.returncode != 0
    assert "none-such" in done.stderr
    assert "lab up" in done.stderr


def test_a_report_of_no_run_says_where_it_looked(tmp_path: Path) -> None:
    done = run("report", home=tmp_path)
    assert done.returncode == 3
    assert str(tmp_path) in done.stderr


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        ((), {"numpy", "jinja2", "rich", "msgspec", "ClusterShell"}),
        (("check",), {"numpy"}),
    ],
)
def test_help_loads_no_stage(words: tuple[str, ...], heavy: set[str]) -> None:
    code = (
        "import sys; from fabricgauge.cli.main import main\n"
        f"sys.argv = ['fabricgauge', *{words}, '--help']\n"
        "try: main()\n"
        f"finally: print('loaded:', sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([PROGRAM.with_name("python"), "-c", code], capture_output=True, text=True)
    assert "loaded: []" in done.stdout, done.stdout + done.stderr


def test_the_list_of_checks_loads_no_numpy() -> None:
    code = (
        "import sys; from fabricgauge.cli.main import main\n"
        "sys.argv = ['fabricgauge', 'doctor', '--list']\n"
        "try: main()\n"
        "finally: print('numpy' in sys.modules)"
    )
    done = subprocess.run([PROGRAM.with_name("python"), "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("False\n"), done.stdout + done.stderr


@pytest.mark.parametrize("verb", ["check", "compare", "scale"])
@pytest.mark.parametrize("option", ["--lab-nodes", "-N", "--nodes"])
def test_the_size_of_a_lab_keeps_its_former_names(verb: str, option: str, tmp_path: Path) -> None:
    words = {"compare": ("--vary", "bind=core,none"), "scale": ("--", "app")}.get(verb, ())
    done = run(verb, option, "3", *words, home=tmp_path)
    assert done.returncode == 2
    assert "--lab-nodes" in done.stderr
    assert "--lab without a name" in done.stderr


@pytest.mark.parametrize("name", ["LAB_NODES", "NODES"])
def test_the_size_of_a_lab_is_read_from_the_environment(name: str, tmp_path: Path) -> None:
    done = run("check", home=tmp_path, **{f"FABRICGAUGE_CHECK_{name}": "3"})
    assert done.returncode == 2
    assert "--lab-nodes" in done.stderr


def test_a_former_name_stands_in_no_help_text(tmp_path: Path) -> None:
    help_text = run("check", "--help", home=tmp_path).stdout
    assert "--lab-nodes" in help_text
    assert not {"-N", "--nodes", "--place", "--streams"} & set(re.split(r"[\s,]+", help_text))


def test_a_wrong_value_is_reported_with_the_present_name(tmp_path: Path) -> None:
    done = run("check", "-N", "many", home=tmp_path)
    assert done.returncode == 2
    assert "--lab-nodes" in done.stderr
    assert "--nodes" not in done.stderr.replace("--lab-nodes", "")


def list_options(command: click.Command, context: click.Context) -> Iterator[tuple[Any, ...]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            verb = command.get_command(context, name)
            assert verb is not None
            yield from list_options(verb, click.Context(verb, context, name))
    for option in command.params:
        if isinstance(option, click.Option):
            yield context, option


def test_the_documentation_names_each_option_without_a_variable() -> None:
    without = [
        option.opts[0]
        for _, option in list_options(cli, click.Context(cli))
        if not option.allow_from_autoenv
    ]
    page = (ROOT / "docs/reference/configuration.md").read_text()
    (sentence,) = re.findall(r"^Every option has a variable, except (.*?)\.", page, re.MULTILINE)
    assert sorted(re.findall(r"`(--\S+)`", sentence)) == sorted(without)


def test_every_option_has_the_variable_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    root = click.Context(cli, auto_envvar_prefix="FABRICGAUGE")
    options = [
        entry
        for entry in list_options(cli, root)
        if entry[0] is not root and entry[1].allow_from_autoenv
    ]
    assert len(options) > 300
    for context, option in options:
        words = [word[2:].upper() for word in option.opts if word.startswith("--")]
        for word in words:
            name = f"{context.auto_envvar_prefix}_{word.replace('-', '_')}"
            monkeypatch.setenv(name, "value")
            assert option.resolve_envvar_value(context) == "value", name
            monkeypatch.delenv(name)
