"""Print a report in a format, to the terminal or a file; return the exit status of a judged run.

Click's context keeps the file of ``-o`` and how much ``-v`` shows: each verb has both options, and
only the printing needs them.
"""

import contextlib
import os
import re
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fabricgauge.cli.overview import terminal_columns
from fabricgauge.model.answer import STATUSES, Form
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.features import report_module
from fabricgauge.model.verdict import Outcome, Strictness, exit_status

if TYPE_CHECKING:
    from fabricgauge.check.kept_screen import Screen
    from fabricgauge.check.run_context import RunContext
    from fabricgauge.model.judged import Judged
    from fabricgauge.report.interface import Setting


#: Formats by the suffix of a file.
SUFFIXES = {
    ".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".csv": "csv",
    ".xml": "junit", ".prom": "prometheus", ".txt": "terminal",
}  # fmt: skip

#: A suffix of letters belongs to a file; a directory may be called runs-1.2.
_SUFFIX = re.compile(r"\.[A-Za-z]{1,8}")

_FILE, _VERBOSE = "fabricgauge.report_file", "fabricgauge.verbose"


class ReportFile(msgspec.Struct, frozen=True):
    """A file that gets the report besides the terminal, and its format."""

    path: Path
    format: str


class OutputPath(click.Path):
    """The type of ``-o``: a directory, or a file, which ``report_file`` returns.

    A directory exists, ends with a slash, or has no suffix.
    """

    def __init__(self, only_file: bool = False) -> None:
        super().__init__(path_type=Path, file_okay=False)
        self._only_file = only_file

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(value)
        is_directory = str(value).endswith(os.sep) or path.is_dir()
        if not self._only_file and (is_directory or not _SUFFIX.fullmatch(path.suffix)):
            return super().convert(value, param, ctx)
        format_name = SUFFIXES.get(path.suffix.lower())
        if is_directory or format_name is None:
            suffixes = ", ".join(sorted(SUFFIXES))
            or_directory = "" if self._only_file else f"; a directory ends with /: {value}/"
            self.fail(f"{value}: a report file ends in {suffixes}{or_directory}", param, ctx)
        if not path.absolute().parent.is_dir():
            self.fail(f"{value}: there is no directory {path.parent}; make it first", param, ctx)
        if ctx is not None:
            ctx.meta[_FILE] = ReportFile(path, format_name)
        return None


def report_file(ctx: click.Context | None = None) -> ReportFile | None:
    """Return the file that ``-o`` names, None if it names none."""
    ctx = ctx or click.get_current_context(silent=True)
    return None if ctx is None else ctx.meta.get(_FILE)


def keep_verbose(ctx: click.Context, _: click.Parameter, verbose: bool) -> None:
    """Keep that the terminal gets all that a page holds."""
    ctx.meta[_VERBOSE] = verbose


def is_verbose() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_VERBOSE))


def refuse_report_file(option: str) -> None:
    """Refuse ``-o FILE`` next to an option with which there is no report.

    Raises:
        UsageError: ``-o`` names a file.
    """
    if file := report_file():
        raise UsageError(f"{option} makes no report, so -o {file.path} has no effect; leave it out")


class Printing(msgspec.Struct, frozen=True):
    """How a verb prints its report, and which outcomes its exit status counts as a failure."""

    format: str = "terminal"
    fail_on: tuple[Strictness, ...] = ()
    to: Path | None = None
    form: Form = "plain"


def formats(kind: str) -> dict[str, Callable[..., str]]:
    """Return the writers of a kind of report by the name of the format."""
    from fabricgauge.report.formats import formats_of

    return formats_of(import_module(report_module(kind)).KIND)


def require_format(kind: str, name: str) -> str:
    """Return the format's name if reports of that kind have it.

    Raises:
        UsageError: they do not have it; the message lists the formats that exist.
    """
    if name != "terminal" and name not in (known := formats(kind)):
        raise UsageError(f"no report format {name!r}; choose from {', '.join(known)}")
    return name


def print_report(
    kind: str, subject: object, format_name: str, to: Path | None = None, **fields: Any
) -> None:
    """Print a subject of that kind to the terminal, or to the file ``to``; write ``-o FILE`` too.

    ``fields`` are further fields of a ``Setting``.

    Raises:
        UsageError: the kind has no such format, or the file cannot be written.
    """
    file = report_file()
    if file:
        require_format(kind, file.format)
    setting = make_setting(to, **fields)
    deliver(formats(kind)[require_format(kind, format_name)](subject, setting), to)
    if file:
        write_report_file(kind, subject, file, **fields)


def make_setting(to: Path | None = None, **fields: Any) -> "Setting":
    """Return how the terminal, or the file ``to``, shows a report."""
    from fabricgauge.report.interface import Setting

    usual = {"width": width(), "whole_page": is_verbose(), "printed": _print_stamp()}
    return Setting(**{**usual, **fields}, colour=to is None and shows_colour())


def write_report_file(kind: str, subject: object, file: ReportFile, **fields: Any) -> None:
    """Write a subject of that kind to the file of ``-o``, and print its name."""
    deliver(formats(kind)[file.format](subject, make_setting(file.path, **fields)), file.path)
    # click would exit 1, a FAIL, for a reader of `2>&1 | head` that has left.
    with contextlib.suppress(BrokenPipeError):
        click.echo(f"Report file  {file.path}", err=True)


def shows_colour() -> bool:
    """Check whether standard output is a terminal with colours that the user wants.

    Sources: no-color.org (any value but an empty one), terminfo(5) for ``dumb``.
    """
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")
    return wanted and sys.stdout.isatty()


def page(kind: str, subject: object) -> bytes:
    from fabricgauge.report.interface import Setting

    return formats(kind)["html"](subject, Setting(width=width(), printed=_print_stamp())).encode()


def conclude(
    context: "RunContext", kind: str, file_name: str, result: object, outcome: Outcome,
    printing: Printing,
) -> int:  # fmt: skip
    """Store and print what a feature measured on a begun run; return the exit status."""
    context.progress.close()
    try:
        context.directory.finish_with(file_name, result, page(kind, result))
    except StoreError as error:
        context.progress.trouble(str(error))
    path = str(context.directory.path)
    print_report(kind, result, printing.format, printing.to, run_directory=path)
    return exit_status(outcome, printing.fail_on)


def show(judged: "Judged", run: Path, printing: Printing, pattern: str = "") -> int:
    """Print a judged run; return the exit status. ``pattern`` selects tables of OSU and IMB form.

    If a scheduler or a monitor asks, it gets one line; the report goes to a file only.

    Raises:
        UsageError: the file cannot be written.
    """
    fields = {**_run_fields(run, printing), "pattern": pattern}
    if printing.form == "plain":
        print_report("run", judged, printing.format, printing.to, **fields)
        return exit_status(judged.overall, printing.fail_on)
    from fabricgauge.report.content.monitoring import answer_run, apply_strictness

    write_files("run", judged, printing.format, printing.to, **fields)
    outcome = apply_strictness(judged.overall, printing.fail_on)
    return print_answer(printing.form, outcome, answer_run(judged, printing.form, outcome))


def show_screen(outcome: Outcome, screen: "Screen", run: Path, printing: Printing) -> int:
    """Print what is kept for a terminal of a judged run; return the exit status.

    Raises:
        UsageError: the file cannot be written.
    """
    from fabricgauge.check.kept_screen import render_screen
    from fabricgauge.report.visible import list_places, visible

    fields = _run_fields(run, printing)
    colour = printing.to is None and shows_colour()
    places = map(visible, list_places(fields["run_directory"], fields["html_file"]))
    text = render_screen(screen, width(), colour)
    deliver("\n".join((text, *(place.rstrip() for place in places), "")), printing.to)
    return exit_status(outcome, printing.fail_on)


def _run_fields(run: Path, printing: Printing) -> dict[str, Any]:
    html = run / "report.html"
    return {
        "run_directory": str(run), "html_file": str(html) if html.exists() else "",
        "fail_on": printing.fail_on, "printed": "",
    }  # fmt: skip


def write_files(
    kind: str, subject: object, format_name: str, to: Path | None, **fields: Any
) -> None:
    """Write a report to ``to`` and to the file of ``-o``, if there are such, and print none."""
    if to is not None:
        print_report(kind, subject, format_name, to, **fields)
    elif file := report_file():
        require_format(kind, file.format)
        write_report_file(kind, subject, file, **fields)


def print_answer(form: Form, outcome: Outcome, line: str) -> int:
    """Print the line for a scheduler or a monitor, if there is one; return its exit status."""
    deliver(f"{line}\n" if line else "", None)
    return STATUSES[form][outcome]


def _print_stamp() -> str:
    """Return program version and present time, for reports without a date."""
    from fabricgauge import __version__

    return f"fabricgauge {__version__} · {datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def width() -> int:
    """Return the columns of the terminal, at most 140: longer lines are hard to read."""
    return min(terminal_columns(100), 140)


def deliver(text: str, to: Path | None) -> None:
    """Write a text to standard output, or to the file ``to``.

    A reader of standard output that closes its end early does not change the exit status.

    Raises:
        UsageError: the file cannot be written.
    """
    if to is not None:
        try:
            to.write_text(text, "utf-8", "backslashreplace")
        except OSError as error:
            raise UsageError(f"cannot write {to}: {error.strerror}") from error
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
