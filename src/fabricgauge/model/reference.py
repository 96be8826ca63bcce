"""Published results for comparison with a run, and their sources."""

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The publication of a reference. ``year`` is None if the document has no date."""

    title: str
    authors: str
    year: int | None = None
    edition: str = ""
    url: str = ""


class PrintedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers and words as printed, for data that are not curves; column names have the units."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected verdict on a reference if its stated network is correct.

    ``outcome`` is the overall outcome, None if only some rules' outcomes are certain; ``rules`` are
    the outcomes that these rules must have.
    """

    reason: str
    outcome: Outcome | None = None
    rules: dict[str, Outcome] = {}


class PublishedFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The origin of one published table or set of headline figures.

    ``where`` is the place in the document, ``network`` the network in the words of ``--network``
    (empty if the figures belong to none), ``caveat`` a warning about the figures, ``expected`` the
    expected verdict on them. ``table`` holds data that are not curves: counts, link rates, shares.
    """

    name: str
    title: str
    where: str
    caveat: str
    hardware: str = ""
    software: str = ""
    network: str = ""
    table: PrintedTable | None = None
    expected: Expected | None = None


class Reference(PublishedFigures, frozen=True, kw_only=True):
    """Published figures with their document.

    Curves are in SI units; their lines count the rows of the printed table.
    """

    document: Document
    curves: tuple[SuiteCurve, ...] = ()

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
        """The outcome that the rules must have, and the reason; empty if none is certain."""
        if self.expected is None:
            return ""
        outcome = self.expected.outcome
        return f"{outcome.value}: {self.expected.reason}" if outcome else self.expected.reason
