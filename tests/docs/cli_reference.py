"""The help text of every verb: whole for the program, without repetitions for cli.md."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from fabricgauge.cli import overview
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.verbs import cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
HELP_PAGES = Path(overview.PAGES)
MARK = "<!-- What follows is written by scripts/write-cli-reference. -->\n"
WIDTH = overview.COLUMNS - 2

#: Names of an option as help shows them, and its text.
Record = tuple[str, str]


def whole_pages() -> str:
    """Return the help texts of all verbs, as the program prints them."""
    return "".join(_section(context.command_path, context.get_help()) for context in _contexts())


def page(written: str) -> str:
    """Return the page with the text after the mark replaced by today's help, briefly.

    Raises:
        ValueError: the page has lost the mark.
    """
    head, mark, _ = written.partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE} has lost the line {MARK!r}")
    return head + MARK + "".join(_short_sections(_root(), {}))


def _root() -> click.Context:
    return click.Context(
        cli,
        info_name="fabricgauge",
        terminal_width=overview.COLUMNS,
        help_option_names=HELP_OPTIONS["help_option_names"],
    )


def _contexts() -> Iterator[click.Context]:
    """Yield the context of each command, groups before their verbs."""
    contexts = [_root()]
    while contexts:
        yield (context := contexts.pop(0))
        contexts[:0] = _verbs(context)


def _verbs(context: click.Context) -> Iterator[click.Context]:
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            verb = command.get_command(context, name)
            assert verb is not None, name
            yield click.Context(
                verb, info_name=name, parent=context, terminal_width=overview.COLUMNS
            )


def _short_sections(context: click.Context, shared: Mapping[str, Record]) -> Iterator[str]:
    """Yield the sections of a command and its verbs; a shared option has its text once."""
    verbs = list(_verbs(context))
    common = _shared_records(verbs, shared)
    text = _short_help(context, shared)
    if common:
        text += f"\n\nOptions of several verbs:\n{_list_text(common)}"
    yield _section(context.command_path, text)
    for verb in verbs:
        yield from _short_sections(verb, {**shared, **common})


def _shared_records(
    contexts: list[click.Context], known: Mapping[str, Record]
) -> dict[str, Record]:
    """Return the commonest text of each option of several verbs that is not yet known."""
    counts = Counter(record for context in contexts for _, record in _records(context))
    shared: dict[str, Record] = {}
    for record, count in counts.most_common():
        if count > 1 and known.get(name := _longest_name(record)) != record:
            shared.setdefault(name, record)
    return shared


def _records(context: click.Context) -> Iterator[tuple[click.Option, Record]]:
    for option in context.command.params:
        if isinstance(option, click.Option) and (record := option.get_help_record(context)):
            yield option, record


def _longest_name(record: Record) -> str:
    names = (word.strip(",") for word in record[0].split())
    return max((name for name in names if name.startswith("-")), key=len)


def _list_text(records: Mapping[str, Record]) -> str:
    formatter = click.HelpFormatter(width=overview.COLUMNS)
    formatter.indent()
    formatter.write_dl([records[name] for name in sorted(records)])
    return formatter.getvalue().rstrip()


def _short_help(context: click.Context, shared: Mapping[str, Record]) -> str:
    """Return the help of a command with only the names of its shared options; verbs follow it."""
    hidden = {
        _longest_name(record): option
        for option, record in _records(context)
        if shared.get(_longest_name(record)) == record
    }
    help_option = context.command.get_help_option(context)
    assert help_option is not None
    options = [*hidden.values(), *([help_option] if context.parent else ())]
    for option in options:
        option.hidden = True
    try:
        text = context.get_help().partition("\n\nCommands:\n")[0].rstrip()
    finally:
        for option in options:
            option.hidden = False
    if not hidden:
        return text
    names = textwrap.fill(f"Also: {' '.join(hidden)}", WIDTH, break_on_hyphens=False)
    return f"{text}\n\n{names}"


def _section(path: str, text: str) -> str:
    return f"\n## {path}\n\n```text\n{text.rstrip()}\n```\n"
