"""The help text of every verb, as docs/reference/cli.md has it."""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from fabricgauge.cli.verbs import cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
MARK = "<!-- What follows is written by scripts/write-cli-reference. -->\n"
COLUMNS = 80


def page(written: str) -> str:
    """The page with what follows the mark replaced by today's help texts."""
    head, mark, _ = written.partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE} has lost the line {MARK!r}")
    return head + MARK + "".join(_section(words) for words in _verbs(cli, ()))


def _verbs(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from _verbs(found, (*words, name))


def _section(words: tuple[str, ...]) -> str:
    asked = CliRunner().invoke(
        cli, [*words, "--help"], prog_name="fabricgauge", terminal_width=COLUMNS
    )
    assert asked.exit_code == 0, asked.output
    return f"\n## {' '.join(('fabricgauge', *words))}\n\n```text\n{asked.output.rstrip()}\n```\n"
