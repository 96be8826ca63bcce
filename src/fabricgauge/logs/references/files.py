"""Read the data files beside this module: one per document, each when first needed.

Their format as written: docs/development/references-format.md.
"""

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.reference import Document, Expected, PrintedTable
from fabricgauge.model.suite import Besides, Quantity, Statistic
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


class ReferenceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[reference]]``: ``columns`` with ``points``, a ``table``, or both."""

    name: str
    title: str
    where: str
    caveat: str
    hardware: str = ""
    software: str = ""
    network: str = ""
    suite: str = ""
    version: str = ""
    benchmark: str = ""
    heading: str = ""
    transport: Literal["tcp", "rdma", ""] = ""
    ranks: int | None = None
    pairs: int = 1
    settings: dict[str, str] = {}
    hosts: tuple[str, ...] = ()
    cut_off: str = ""
    columns: tuple[ReferenceColumn, ...] = ()
    points: tuple[tuple[ReferenceCell, ...], ...] = ()
    table: PrintedTable | None = None
    expected: Expected | None = None


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
