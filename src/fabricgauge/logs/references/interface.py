"""Find published results by name, as values of the model.

The data files beside this module, one per document, are read when first needed. Their format as
written: docs/development/references-format.md. An entry's printed table becomes curves in SI units,
each column by a stated rule.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec

from fabricgauge.model.errors import FabricgaugeError, UsageError
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.reference import Document, PublishedFigures, Reference
from fabricgauge.model.suite import Besides, Quantity, Statistic, SuiteCurve, SuitePoint
from fabricgauge.store.files import toml

#: ``-`` is a size that the document does not state, or a cell that a row does not have.
ReferenceCell = int | float | str


class ReferenceColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column behind the size: a curve, or a further figure of the curve's points.

    Just one of ``quantity``, ``besides`` and ``samples`` is given. A ``besides`` column
    belongs to the first curve of its entry and has that curve's unit.
    """

    quantity: Quantity | None = None
    besides: Besides | None = None
    samples: bool = False
    unit: str = ""
    unit_rule: str = ""
    statistic: Statistic = "single"
    what: str = ""
    pattern: Pattern | None = None
    directions: Literal[1, 2] = 1
    benchmark: str = ""


class ReferenceEntry(PublishedFigures, frozen=True, kw_only=True):
    """One ``[[reference]]``: ``columns`` with ``points``, a ``table``, or both."""

    suite: str = ""
    version: str = ""
    benchmark: str = ""
    heading: str = ""
    transport: Literal["tcp", "rdma", ""] = ""
    ranks: int | None = None
    pairs: int = 1
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    cut_off: str = ""
    columns: tuple[ReferenceColumn, ...] = ()
    points: tuple[tuple[ReferenceCell, ...], ...] = ()


class ReferenceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: the document and its entries, in the file's order."""

    document: Document
    reference: tuple[ReferenceEntry, ...] = ()

    @property
    def entries(self) -> dict[str, ReferenceEntry]:
        return {entry.name: entry for entry in self.reference}


@cache
def stems() -> tuple[str, ...]:
    """Return the files' names without ``.toml``; each reference's name begins with its file's."""
    file_names = (file.name for file in (files(__package__) / "data").iterdir())
    return tuple(sorted(name[:-5] for name in file_names if name.endswith(".toml")))


@cache
def content(stem: str) -> ReferenceFile:
    """Return the content of the file ``stem``.

    Raises:
        FabricgaugeError: the file is invalid; the message names it and the place in it.
    """
    return read(stem, (files(__package__) / "data" / f"{stem}.toml").read_text(encoding="utf-8"))


def read(stem: str, text: str) -> ReferenceFile:
    """Parse the content of a file of this name; pure. Errors are as for ``content``."""
    try:
        return msgspec.convert(toml.loads(text), ReferenceFile)
    except (toml.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FabricgaugeError(
            f"references/data/{stem}.toml: {error}; mend the file, or reinstall fabricgauge if you"
            " did not change it"
        ) from error


class PrintedUnit(NamedTuple):
    """Printed values times ``factor`` are seconds, bytes/s or messages/s."""

    quantity: Quantity
    factor: float
    rule: str


#: Units whose meaning does not depend on who printed them.
PLAIN: dict[str, PrintedUnit] = {
    "s": PrintedUnit("time", 1.0, "s"),
    "ms": PrintedUnit("time", 1e-3, "ms"),
    "us": PrintedUnit("time", 1e-6, "µs"),
    "usec": PrintedUnit("time", 1e-6, "µs"),
    "ns": PrintedUnit("time", 1e-9, "ns"),
    "MiB/s": PrintedUnit("bandwidth", 2.0**20, "MiB = 2^20 bytes"),
    "GiB/s": PrintedUnit("bandwidth", 2.0**30, "GiB = 2^30 bytes"),
    "Gb/s": PrintedUnit("bandwidth", 1e9 / 8, "Gb = 10^9 bits"),
    "Gbps": PrintedUnit("bandwidth", 1e9 / 8, "Gb = 10^9 bits"),
    "msg/s": PrintedUnit("message_rate", 1.0, "messages/s"),
    "Msg/sec": PrintedUnit("message_rate", 1.0, "messages/s (IMB)"),
    "M msg/s": PrintedUnit("message_rate", 1e6, "M = 10^6 messages/s"),
    "Mpps": PrintedUnit("message_rate", 1e6, "M = 10^6 messages/s (perftest)"),
}

#: Units that suites define differently: the rule must be stated, before " (suite)".
RULED: dict[str, tuple[PrintedUnit, ...]] = {
    printed: (
        PrintedUnit("bandwidth", 1e6, f"{name} = 10^6 bytes"),
        PrintedUnit("bandwidth", 2.0**20, f"{name} = 2^20 bytes"),
    )
    for printed, name in (("MB/s", "MB"), ("MB/sec", "MB"), ("Mbytes/sec", "Mbyte"))
}


def unit(printed: str, rule: str) -> PrintedUnit:
    """Return the meaning of a printed unit under a rule, empty for units with one meaning.

    Raises:
        ValueError: the unit is not known, or its rule is missing, unknown or needless.
    """
    if printed in PLAIN and not rule:
        return PLAIN[printed]
    for reading in RULED.get(printed, ()):
        if rule.partition(" (")[0] == reading.rule:
            return reading._replace(rule=rule)
    rules = " or ".join(repr(reading.rule) for reading in RULED.get(printed, ()))
    if rules:
        raise ValueError(f"unit {printed!r} needs a unit_rule that begins {rules}, not {rule!r}")
    if printed in PLAIN:
        raise ValueError(f"unit {printed!r} has one meaning; leave unit_rule out")
    raise ValueError(f"unit {printed!r} is not known: {', '.join((*PLAIN, *RULED))}")


def curves(entry: ReferenceEntry) -> Iterator[SuiteCurve]:
    """Yield one curve per column with a quantity, in the columns' order.

    Further figures belong to the first curve of the entry.
    """
    places = [place for place, column in enumerate(entry.columns, 1) if column.quantity]
    for place in places:
        column = entry.columns[place - 1]
        printed = unit(column.unit, column.unit_rule)
        points = _points(entry, printed, place, is_first=place == places[0])
        yield SuiteCurve(
            suite=entry.suite, version=entry.version, benchmark=column.benchmark or entry.benchmark,
            title=entry.heading or entry.title, what=column.what, quantity=printed.quantity,
            statistic=column.statistic, unit_rule=printed.rule, first_line=1,
            last_line=len(entry.points), points=tuple(points),
            pattern=column.pattern, directions=column.directions, pairs=entry.pairs,
            ranks=entry.ranks, transport=entry.transport, settings=entry.settings,
            hosts=entry.hosts, cut_off=entry.cut_off, source=entry.name,
        )  # fmt: skip


def _points(
    entry: ReferenceEntry, printed: PrintedUnit, place: int, is_first: bool
) -> Iterator[SuitePoint]:
    for line, row in enumerate(entry.points, 1):
        size, value = row[0] if isinstance(row[0], int) else None, row[place]
        # An empty message has no bandwidth, and the suites print 0.00 for it.
        nothing = value == 0 and size == 0 and printed.quantity == "bandwidth"
        if isinstance(value, str) or nothing:
            continue
        cells = list(zip(entry.columns, row[1:], strict=True))
        counts = (cell for column, cell in cells if column.samples and isinstance(cell, int))
        besides: dict[Besides, float] = {
            column.besides: cell * printed.factor
            for column, cell in cells
            if is_first and column.besides and not isinstance(cell, str)
        }
        si = value * printed.factor
        estimate = Estimate(si, si, si, 0.0, 1, next(counts, 0))
        yield SuitePoint(size, estimate, line, besides)


def names() -> tuple[str, ...]:
    """Return all names, document by document, in the documents' order."""
    return tuple(name for stem in stems() for name in content(stem).entries)


#: Prefix of a reference's name if a file or a run has the same name.
REFERENCE_PREFIX = "ref:"


def is_reference(name: str) -> bool:
    """Check whether a name, with or without the prefix, is that of a published result."""
    plain = name.removeprefix(REFERENCE_PREFIX)
    return any(plain in content(stem).entries for stem in stems() if plain.startswith(f"{stem}-"))


def reference(name: str) -> Reference:
    """Return the reference of that name; only its own document's file is read.

    Raises:
        UsageError: there is none; the message has the names that come close.
    """
    for stem in stems():
        if name.startswith(f"{stem}-") and name in content(stem).entries:
            document, entry = content(stem).document, content(stem).entries[name]
            figures = {key: getattr(entry, key) for key in PublishedFigures.__struct_fields__}
            return Reference(**figures, document=document, curves=tuple(curves(entry)))
    longer_names = [longer for longer in names() if name and name in longer]
    close_names = get_close_matches(name, names(), n=3, cutoff=0.5) or longer_names[:3]
    hint = f"did you mean {' or '.join(close_names)}?"
    hint = hint if close_names else f"the names are: {', '.join(names())}"
    raise UsageError(f"no reference is called {name!r}; {hint}")
