"""Print a report in a format; return the exit status of a judged run."""

import contextlib
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.options import Printing, formats, require_format
from fabricgauge.cli.overview import terminal_columns
from fabricgauge.cli.printing import ReportFile, is_verbose, report_file
from fabricgauge.model.answer import STATUSES, Form
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.verdict import Outcome, exit_status

if TYPE_CHECKING:
    from fabricgauge.check.kept_screen import Screen
    from fabricgauge.check.run_context import RunContext
    from fabricgauge.model.judged import Judged
    from fabricgauge.report.interface import Setting


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
    from fabricgauge.report.content.answer import answer_run, apply_strictness

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
    """Return the fields of a ``Setting`` for the report of a run."""
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
