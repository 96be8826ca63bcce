"""The file format of a reference, as written: docs/reference/references.md."""

from typing import Literal

import msgspec

from fabricgauge.model.measurement import Pattern
from fabricgauge.model.reference import Expected, PrintedTable
from fabricgauge.model.suite import Besides, Quantity, Statistic

#: ``-`` is a size that the document does not tell, or a cell that a row does not have.
ReferenceCell = int | float | str


class ReferenceColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column behind the size: a curve, or what is said besides about the curve's figure.

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
