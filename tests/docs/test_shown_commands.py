"""Every command that a page shows has a verb and options that exist, also where it is not run."""

import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest
from tests.docs.pages import PAGES, ROOT, fences, name

from fabricgauge.cli.verbs import cli

PROMPT = "$ fabricgauge "
#: Signs behind which a command of ours has ended.
ENDS = "|&;<>"


def shown(text: str) -> list[list[str]]:
    """Return the words of each shown command, up to a comment, a pipe or another command."""
    commands = (
        line.partition(PROMPT)[2]
        for fence in fences(text)
        for line in fence.text.replace("\\\n", " ").splitlines()
        if PROMPT in line
    )
    return [list(takewhile(lambda word: not set(word) <= set(ENDS), words(c))) for c in commands]


def words(command: str) -> shlex.shlex:
    """Return the words of a command line, and the signs of the shell between them."""
    split = shlex.shlex(command, posix=True, punctuation_chars=ENDS)
    split.whitespace_split = True
    return split


def parse(line: list[str]) -> None:
    """Parse a command line as far as its verb and the names of its options."""
    context = click.Context(cli, info_name="fabricgauge", help_option_names=["-h", "--help"])
    command: click.Command = cli
    while isinstance(command, click.Group) and line and not line[0].startswith("-"):
        found = command.get_command(context, line[0])
        if found is None and command.invoke_without_command:
            break
        assert found is not None, line
        context = click.Context(found, info_name=line[0], parent=context)
        command, line = found, line[1:]
    parser = command.make_parser(context)
    parser.parse_args(list(line))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_verbs_and_options_of_shown_commands_exist(page: Path) -> None:
    for line in shown(page.read_text(encoding="utf-8")):
        parse(line)


def test_a_command_with_an_unknown_option_or_verb_fails() -> None:
    with pytest.raises(click.NoSuchOption):
        parse(["check", "--hosts", "c1"])
    with pytest.raises(AssertionError):
        parse(["measure", "c1"])
    assert shown("```console\n$ fabricgauge runs -n 2 | head\n```\n") == [["runs", "-n", "2"]]


def test_every_command_of_the_readme_is_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 150
    assert [fence.comment for fence in fences(readme) if fence.comment.startswith("not run")] == []
    assert {fence.language for fence in fences(readme)} == {"console", "sh"}
