"""Define what the reports take and give: a subject and its kind in, text out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from fabricgauge.model.estimate import Curve
from fabricgauge.model.verdict import Strictness
from fabricgauge.report.document import Report

Subject = TypeVar("Subject")
Cell = str | int | float | None


class Setting(msgspec.Struct, frozen=True):
    """Describe where a report is shown.

    ``width`` is in columns. ``verbose`` shows every node in detail, ``whole_page`` all texts and
    tables of a page on a terminal. ``run_directory`` and
    ``html_file`` are paths to mention, or empty. ``pattern`` narrows the suites' layouts to the
    tables of one pattern, for readers that take the first row that fits. ``fail_on`` lists outcomes
    that count as a failure besides FAIL. ``printed`` is program and day, for reports whose subject
    does not have them.
    """

    width: int = 80
    colour: bool = False
    run_directory: str = ""
    html_file: str = ""
    pattern: str = ""
    verbose: bool = False
    whole_page: bool = False
    fail_on: tuple[Strictness, ...] = ()
    printed: str = ""


class Records(msgspec.Struct, frozen=True):
    """Hold figures in SI units for other programs; None is an empty cell, never 0."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[Cell]]


class OneLine(msgspec.Struct, frozen=True):
    """Mark a JSON document as too large for a line per number."""

    document: object


def versioned(name: str, version: str, **fields: object) -> dict[str, object]:
    """Return a JSON document; its readers accept any version of the same name and major number."""
    return {"format": f"fabricgauge-{name}", "version": version, **fields}


#: JUnit's element of an outcome; a pass has no element.
Element = Literal["", "failure", "error", "skipped"]


class TestCase(msgspec.Struct, frozen=True):
    """Hold one case of a JUnit suite: its subject, its outcome, and the lines about it.

    ``element`` is JUnit's name of the outcome, empty for a pass; ``id`` is the verdict's.
    """

    place: str
    name: str
    lines: tuple[str, ...] = ()
    element: Element = ""
    kind: str = ""
    message: str = ""
    id: str = ""


class TestSuite(msgspec.Struct, frozen=True):
    """Hold a suite with its properties; ``started_utc`` and the wall time cover the whole run."""

    name: str
    wall_s: float
    started_utc: str
    properties: dict[str, str]
    cases: tuple[TestCase, ...]


class Gauge(msgspec.Struct, frozen=True):
    """Hold one gauge with its series: labels, and the value in the metric's base unit."""

    name: str
    help: str
    series: Iterable[tuple[Mapping[str, str], float]]


class ConcurrentCase(msgspec.Struct, frozen=True):
    """Hold one case of many ranks: times in s per sample, rates in bytes/s and messages/s, summed.

    It is an entry of the JSON report as it is. Rates are 0 if messages are not counted.
    ``throughput_bytes_per_s`` is the sum of all pairs if messages are counted, else that of one
    rank or pair (``words.patterns.throughput``).

    The median is that of the launches' medians, ``low_s`` to ``high_s`` spans all their intervals.
    A percentile is the worst launch's, None if no launch had enough samples; late starts are summed
    over all launches. Launches whose median waits for processors made are left out unless it is so
    in all of them: then ``waiting`` is true.
    ``overlap`` is 0 to 1, None for a blocking operation.
    """

    network: str | None
    pattern: str
    ranks: int
    pairs: int
    load: str
    message_bytes: int
    window: int
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    p90_s: float
    p99_s: float | None
    p999_s: float | None
    minimum_s: float
    maximum_s: float
    samples: int
    launches: int
    clock: str
    clock_error_s: float
    late_starts: int
    waiting: bool
    overlap: float | None
    compute_s: float
    messages_per_s: float
    bytes_per_s: float
    load_bytes_per_s: float
    throughput_bytes_per_s: float | None


class Layout(msgspec.Struct, frozen=True):
    """Hold curves for another suite's layout, each with where it was measured.

    ``remarks`` stand above them; ``version`` is that of fabricgauge. ``crowds`` are the cases of
    many ranks in one pattern, by message size.
    """

    version: str
    remarks: tuple[str, ...]
    curves: tuple[tuple[str, Curve], ...]
    crowds: tuple[tuple[str, tuple[ConcurrentCase, ...]], ...] = ()


@dataclass(frozen=True)
class Kind(Generic[Subject]):
    """Define a kind of report: the source of each format, None if it lacks the format.

    ``document`` is for people; ``data`` is everything, for the JSON format; ``records`` are the
    rows of the CSV format, ``suite`` is for CI systems, ``gauges`` for a collector, ``layout`` for
    programs that read other suites, ``tables`` are rows on each table of others' logs, ``listing``
    is text in the layout of another tool.
    """

    name: str
    document: Callable[[Subject, Setting], Report]
    data: Callable[[Subject, Setting], object]
    records: Callable[[Subject, Setting], Records] | None = None
    suite: Callable[[Subject, Setting], TestSuite] | None = None
    gauges: Callable[[Subject, Setting], Iterable[Gauge]] | None = None
    layout: Callable[[Subject, Setting], Layout] | None = None
    tables: Callable[[Subject, Setting], Records] | None = None
    listing: Callable[[Subject, Setting], str] | None = None


class Format(msgspec.Struct, frozen=True):
    """Define one way to write a report; ``suffix`` is that of a file which holds it.

    ``part`` is the field of a ``Kind`` that it is made of.
    """

    name: str
    suffix: str
    part: str
    write: Callable[[Any, Setting], str]
