"""What this stage takes and gives: a subject and its kind in, text out."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from fabricgauge.model.judged import Judged
from fabricgauge.report.document import Document

__all__ = ["Cell", "Format", "Judged", "Kind", "Records", "Setting", "Subject"]

Subject = TypeVar("Subject")
Cell = str | int | float | None


class Setting(msgspec.Struct, frozen=True):
    """Where a report is to be shown, which its subject cannot know.

    ``width`` is in columns. ``verbose`` asks for every node in detail. ``run_directory`` and
    ``html_file`` are paths to mention; empty when there is nothing to mention. ``pattern`` narrows
    the suites' layouts to the tables of one pattern, for readers that take the first row that fits.
    """

    width: int = 80
    colour: bool = False
    run_directory: str = ""
    html_file: str = ""
    pattern: str = ""
    verbose: bool = False


class Records(msgspec.Struct, frozen=True):
    """Figures in SI units for other programs; None is an empty cell, never 0."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[Cell]]


@dataclass(frozen=True)
class Kind(Generic[Subject]):
    """A kind of report: what each format is made of, None where it has none of it.

    ``document`` is for people; ``data`` is the whole of it for the JSON format, ``records`` are
    the rows of the CSV format.
    """

    name: str
    document: Callable[[Subject, Setting], Document]
    data: Callable[[Subject, Setting], object]
    records: Callable[[Subject, Setting], Records] | None = None


class Format(msgspec.Struct, frozen=True):
    """One way to write a report; ``suffix`` is that of a file which holds it.

    ``part`` is the field of a ``Kind`` that it is made of.
    """

    name: str
    suffix: str
    summary: str
    part: str
    write: Callable[[Any, Setting], str]
