"""Prints a judged run in the format that was asked for."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.model.judged import Judged


def require_format(name: str) -> None:
    """Refuse an unknown format before anything is measured.

    Raises:
        UsageError: the message lists the formats that there are.
    """
    from fabricgauge.report.formats import FORMATS

    if name not in FORMATS:
        raise UsageError(f"no report format {name!r}; there is {', '.join(FORMATS)}")


def show(
    judged: "Judged", run: Path, format_: str, to: Path | None = None, pattern: str = ""
) -> None:
    """To the terminal, or to the file ``to``; ``pattern`` narrows the suites' layouts.

    Raises:
        UsageError: the file cannot be written.
    """
    from fabricgauge.report.formats import report
    from fabricgauge.report.interface import Setting

    html = run / "report.html"
    setting = Setting(
        width=width(),
        colour=to is None and sys.stdout.isatty(),
        run_directory=str(run),
        html_file=str(html) if html.exists() else "",
        pattern=pattern,
    )
    deliver(report(judged, format_, setting), to)


def width() -> int:
    """Columns of a page of text: the terminal's, as long as lines can be read."""
    return min(shutil.get_terminal_size((100, 24)).columns, 140)


def deliver(text: str, to: Path | None) -> None:
    """Write a text to standard output, or to the file ``to``.

    Raises:
        UsageError: the file cannot be written.
    """
    if to is None:
        _print(text)
        return
    try:
        to.write_text(text, "utf-8", "backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror}") from error


def _print(text: str) -> None:
    """To standard output; a reader that goes away early does not change the exit status."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
