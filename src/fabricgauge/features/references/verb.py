"""``fabricgauge references``: list the published results that ship, or show one."""

from collections.abc import Iterator
from pathlib import Path

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.logs.references.interface import is_reference, names, reference
from fabricgauge.model.errors import UsageError
from fabricgauge.model.reference import Reference
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.published import curve_sizes, curve_table, reference_blocks
from fabricgauge.report.content.suites import SHOWN, suite_marks
from fabricgauge.report.interface import Kind, Records, Setting, versioned
from fabricgauge.report.picture import Picture, PlotCurve
from fabricgauge.report.visible import visible


@click.command(context_settings=HELP_OPTIONS)
@click.argument("name", default="")
@cli_options.format_option("references")
@cli_options.to_option
def references(name: str, format: str, to: Path | None) -> None:
    """List the published results that ship, or show the one called NAME.

    NAME may also be the beginning of several names, e.g. `guide`.
    """
    if name and not is_reference(name):
        chosen = [known for known in names() if known.startswith(name)]
        if not chosen:
            reference(name)  # its message has the names that come close
            raise UsageError(f"no reference is called {name!r}")
    else:
        chosen = [name] if name else list(names())
    print_report("references", tuple(map(reference, chosen)), format, to)


Published = tuple[Reference, ...]

COLUMNS = (
    "reference", "document", "network", "benchmark", "what", "quantity", "message_bytes", "value",
    "unit_rule",
)  # fmt: skip


def data(published: Published, _setting: Setting) -> dict[str, object]:
    return versioned("references", "1.0", references=published)


def records(published: Published, _setting: Setting) -> Records:
    """Return a row for each published figure, in SI units."""
    rows = (
        (reference.name, reference.document.title, reference.network, curve.benchmark, curve.what,
         curve.quantity, point.message_bytes, point.estimate.value, curve.unit_rule)
        for reference in published for curve in reference.curves for point in curve.points
    )  # fmt: skip
    return Records(COLUMNS, rows)


def document(published: Published, _setting: Setting) -> doc.Report:
    """Show one reference with everything, several as a list."""
    if len(published) == 1:
        (reference,) = published
        return doc.Report(
            "REFERENCE", "", reference.title, f"fabricgauge references {reference.name}",
            reference.provenance, tuple(_one(reference)),
            closing="MB is 10⁶ bytes, KiB is 2¹⁰ and MiB 2²⁰ bytes.",
        )  # fmt: skip
    rows = []
    for reference in published:
        parts = [counted(len(reference.curves), "curve")] if reference.curves else []
        if reference.table:
            parts.append(f"a table of {counted(len(reference.table.rows), 'row')}")
        content = ", ".join(parts)
        rows.append((reference.name, reference.network or "–", content, reference.title))
    table = doc.Table(doc.heads("=name", "network", "holds", "title"), tuple(rows))
    shown = doc.Paragraph("Show one with: fabricgauge references NAME.")
    headline = f"{counted(len(published), 'published result')} ship with this program"
    section = doc.Section("references", "Published results", (table, shown))
    return doc.Report("REFERENCES", "", headline, "fabricgauge references", headline, (section,))


def _one(reference: Reference) -> Iterator[doc.Section]:
    facts = (
        ("published in", reference.provenance), ("place", reference.where),
        ("network", reference.network), ("hardware", reference.hardware),
        ("software", reference.software),
    )  # fmt: skip
    known = tuple((label, text) for label, text in facts if text)
    yield doc.Section("source", "Source", (doc.FactList(known),))
    sized = [curve for curve in reference.curves if curve_sizes(curve)]
    pictures = doc.side_by_side(
        Picture(
            visible(curve.what), SHOWN[curve.quantity][0], curve.quantity != "bandwidth",
            (PlotCurve(visible(curve.benchmark), suite_marks(curve.points, curve)),),
        )
        for curve in sized
    )  # fmt: skip
    tables = (curve_table(sized),) if sized else ()
    yield doc.Section("figures", "Figures", (pictures, *tables, *reference_blocks(reference)))


KIND = Kind("references", document, data, records)
