"""Write a document as one HTML file that opens offline, fetches nothing and runs no foreign script.

The template escapes all text. The content security policy names the hash of each script, so that a
script which came in with the data would not run even if it were not escaped. A document without
plots and tables to narrow has no script.
"""

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting
from fabricgauge.report.visible import COMMAND, visible

#: CSS Syntax Module Level 3, 4.3.7: an escape is up to six hexadecimal digits and one blank.
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 .,:()+-]")

if TYPE_CHECKING:
    from fabricgauge.report.picture import Drawable


def render(document: doc.Report, setting: Setting) -> str:
    """Fill the template with the document, its plots, the style and the scripts."""
    page = doc.cut_to_medium(document, doc.PAGE)
    plots = _Plots()
    templates = _environment(plots)
    parts = templates.get_template("parts.html.j2").module
    # Sections are rendered first: they collect the plots.
    sections = [str(parts.section(section)) for section in page.sections]
    text = "".join(sections)
    uses = {
        "draw.js": bool(plots.drawn), "filter.js": '<table class="filtered">' in text,
        "copy.js": '<pre class="lines">' in text or '<section id="next"' in text,
    }  # fmt: skip
    scripts = [_source(templates, name) for name, is_used in uses.items() if is_used]
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = [f"sha256-{base64.b64encode(digest).decode()}" for digest in digests]
    about = " · ".join(part for part in (page.about, setting.printed) if part)
    filled: str = templates.get_template("page.html.j2").render(
        document=page, about=about, page_head=_css_string(about),
        sections=sections, style=_source(templates, "style.css"),
        scripts=scripts, hashes=hashes, plots=_embedded(plots.drawn),
    )  # fmt: skip
    return filled


class _Plots:
    """Collect the plots of a page as data for draw.js, in the order of the sections."""

    def __init__(self) -> None:
        self.drawn: list[dict[str, Any]] = []

    def target(self, picture: "Drawable") -> str:
        """Add a picture and return the element to draw it into."""
        from fabricgauge.report.render.plots import plot_data

        target = f"plot-{len(self.drawn)}"
        self.drawn.append(plot_data(picture, target))
        return target


def _environment(plots: _Plots) -> Any:
    """Return templates that escape all text and spell out control characters."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fabricgauge.report.render"), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters.update(
        kind=lambda value: type(value).__name__, parts=doc.item_parts, target=plots.target,
        prose=_prose, rows=_table_rows, printed=lambda section: doc.PAPER in section.on,
    )  # fmt: skip
    return environment


def _prose(text: str) -> Any:
    """Return escaped text; text between two backticks becomes a command."""
    if "`" not in text:
        return escape(visible(text))
    parts = (
        Markup("<code>{}</code>" if place % 2 else "{}").format(part)  # noqa: S704
        for place, part in enumerate(COMMAND.split(visible(text)))
    )
    return Markup().join(parts)


def _table_rows(table: doc.Table) -> Any:
    """Return a table's rows; a template takes several times as long for thousands of cells."""
    classes = [
        ' class="n"' if column.right else ' class="how"' if column.loose else ""
        for column in table.columns
    ]
    last = len(table.rows) - 1 if table.total else -1
    rows = []
    for number, row in enumerate(table.rows):
        marked = ' class="pinned"' if number in table.marked else ""
        marked = ' class="total"' if number == last else marked
        cells = (
            f"<td{name}{_hint(cell)}>{_cell(cell)}</td>"
            for name, cell in zip(classes, row, strict=False)
        )
        rows.append(f"    <tr{marked}>{''.join(cells)}</tr>\n")
    return Markup("".join(rows))  # noqa: S704 -- each text in it is escaped


def _hint(cell: doc.Inline) -> str:
    if isinstance(cell, str) or not cell.hint:
        return ""
    return f' title="{_escaped(cell.hint)}"'


def _cell(cell: doc.Inline) -> str:
    if isinstance(cell, str):
        return str(_prose(cell))
    text = str(_prose(cell.text))
    if cell.tone:
        text = f'<span class="badge {cell.tone}">{_escaped(cell.text)}</span>'
    elif cell.strong:
        text = f"<b>{text}</b>"
    return f'<a href="#{_escaped(cell.link)}">{text}</a>' if cell.link else text


def _escaped(text: str) -> str:
    return str(escape(visible(text)))


def _css_string(text: str) -> str:
    """Return a string for a style sheet; unusual signs are escaped so that none ends it."""
    return f'"{_NOT_PLAIN.sub(lambda match: f"{chr(92)}{ord(match[0]):x} ", visible(text))}"'


def _source(templates: Any, name: str) -> str:
    return str(templates.loader.get_source(templates, name)[0])


def _embedded(plots: list[dict[str, Any]]) -> str:
    """Return JSON for a data block: no character in it can end the block or begin a tag."""
    if not plots:
        return ""
    from fabricgauge.report.render.plots import CALM, STEEP, UNMEASURED

    colours = {"heat": STEEP, "calm": CALM, "unmeasured": UNMEASURED}
    text = json.dumps({"plots": plots, **colours}, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
