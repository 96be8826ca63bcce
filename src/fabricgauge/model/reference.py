"""Published results that a run can be held against, with where they come from."""

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reference was published in. ``year`` is None where the document has no date."""

    title: str
    authors: str
    year: int | None = None
    edition: str = ""
    url: str = ""


class PrintedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers and words as printed, units in the columns' names: what no curve can hold."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What our rules are to make of a reference when its stated network is believed.

    ``outcome`` is that of the whole, None where only some rules' words are certain;
    ``rules`` are those that must say exactly this.
    """

    reason: str
    outcome: Outcome | None = None
    rules: dict[str, Outcome] = {}


class Reference(msgspec.Struct, frozen=True):
    """One published table or set of headline figures.

    ``where`` is the place in the document, ``network`` the network in the words of
    ``--network`` (empty where the figures belong to none), ``caveat`` what to know before
    leaning on a figure, ``audit`` what we hold of the figures' claim (empty: nothing).
    Curves are in SI units; their lines count the rows of the printed table. ``table``
    is what cannot be a curve: counts, link rates, shares.
    """

    name: str
    title: str
    document: Document
    where: str
    hardware: str
    software: str
    network: str
    caveat: str
    curves: tuple[SuiteCurve, ...] = ()
    table: PrintedTable | None = None
    expected: Expected | None = None

    @property
    def provenance(self) -> str:
        """Document, place, hardware and software in one line."""
        document = self.document
        issued = document.edition or (str(document.year) if document.year else "")
        parts = (
            f'{document.authors}: "{document.title}"',
            issued,
            document.url,
            f"at {self.where}",
            self.hardware,
            self.software,
        )
        return "; ".join(part for part in parts if part)

    @property
    def audit(self) -> str:
        """The outcome that our rules must come to, and why; empty where none is certain."""
        if self.expected is None:
            return ""
        outcome = self.expected.outcome
        return f"{outcome.value}: {self.expected.reason}" if outcome else self.expected.reason
