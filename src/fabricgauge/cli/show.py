"""Prints a report in the format that was asked for; the exit status of a judged run."""

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricgauge.cli.options import Printing, formats, known_format
from fabricgauge.model.errors import UsageError
from fabricgauge.model.verdict import exit_status

if TYPE_CHECKING:
    from fabricgauge.model.judged import Judged


def print_report(
    kind: str, subject: object, name: str, to: Path | None = None, **setting: Any
) -> None:
    """Print a subject of that kind to the terminal, or to the file ``to``.

    ``setting`` are further fields of a ``Setting``.

    Raises:
        UsageError: the kind has no such format, or the file cannot be written.
    """
    from fabricgauge.report.interface import Setting

    colour = to is None and sys.stdout.isatty()
    where = Setting(**{"width": width(), "colour": colour, "printed": _printed(), **setting})
    deliver(formats(kind)[known_format(kind, name)](subject, where), to)


def page(kind: str, subject: object) -> bytes:
    """The subject as a page of HTML, for the directory that it was kept in."""
    from fabricgauge.report.interface import Setting

    return formats(kind)["html"](subject, Setting(width=width(), printed=_printed())).encode()


def show(judged: "Judged", run: Path, printing: Printing, pattern: str = "") -> int:
    """Print a judged run; returns the exit status. ``pattern`` narrows the suites' layouts.

    Raises:
        UsageError: the file cannot be written.
    """
    html = run / "report.html"
    print_report(
        "run", judged, printing.format, printing.to, run_directory=str(run),
        html_file=str(html) if html.exists() else "", pattern=pattern, fail_on=printing.fail_on,
        printed="",
    )  # fmt: skip
    return exit_status(judged.overall, printing.fail_on)


def _printed() -> str:
    """Program and time, for reports that have no day of their own."""
    from fabricgauge import __version__

    return f"fabricgauge {__version__} · {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def width() -> int:
    """Columns of a page of text: the terminal's, as long as lines can be read."""
    return min(shutil.get_terminal_size((100, 24)).columns, 140)


def deliver(text: str, to: Path | None) -> None:
    """Write a text to standard output, or to the file ``to``.

    A reader of standard output that goes away early does not change the exit status.

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
