"""The page on configuration names what the program reads."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
from tests.docs.pages import ROOT, fences

from fabricgauge.cli.verbs import cli
from fabricgauge.judge.thresholds import BUILT_IN
from fabricgauge.nodes.launch.environment import MORE
from fabricgauge.store.settings import SITE_FILE_VARIABLE, load

PAGE = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")


def test_every_threshold_is_listed_with_value_and_unit() -> None:
    rows = re.findall(r"^\| `([\w.-]+)` \| (\S+) \| (\w+) \| \[", PAGE, re.MULTILINE)
    assert rows == [(name, f"{limit.value:g}", limit.unit) for name, limit in BUILT_IN.items()]


def test_every_environment_variable_that_is_named_is_read() -> None:
    named = set(re.findall(r"FABRICGAUGE_[A-Z_]+[A-Z_]", PAGE)) - {"FABRICGAUGE_"}
    assert len(named) >= 4
    assert named - set(_variables(cli, "FABRICGAUGE")) == {SITE_FILE_VARIABLE, MORE}


def test_the_example_of_a_file_is_accepted(tmp_path: Path) -> None:
    (example,) = (fence.text for fence in fences(PAGE) if fence.language == "toml")
    file = tmp_path / "config.toml"
    file.write_text(example, encoding="utf-8")
    options = {option.replace("-", "_") for option in load((file,)).verbs["check"]}
    check = cli.get_command(click.Context(cli), "check")
    assert check is not None
    long_names = {name[2:].replace("-", "_") for param in check.params for name in param.opts}
    assert options <= long_names


def _variables(command: click.Command, prefix: str) -> Iterator[str]:
    """The variables that click reads for every option, by its own rule."""
    for param in command.params:
        yield f"{prefix}_{(param.name or '').upper()}"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _variables(found, f"{prefix}_{name.upper().replace('-', '_')}")
