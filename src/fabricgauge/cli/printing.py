"""Where a report goes besides the terminal (``-o FILE``), and how much of it is shown (``-v``).

Click's context keeps both, since each verb has them and only the printing needs them.
"""

import os
import re
from pathlib import Path
from typing import Any

import click
import msgspec

from fabricgauge.model.errors import UsageError

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
