"""The page: a template filled with a judged run, and everything that it needs inside it."""

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import conclusion, quantities
from fabricgauge.report.html import suite_sections
from fabricgauge.report.html.sections import case_tables, key_figures, rows_of_sum
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.networks import named
from fabricgauge.report.omissions import omissions
from fabricgauge.report.sweep import networks
from fabricgauge.report.traffic import traffic
from fabricgauge.report.visible import visible

if TYPE_CHECKING:
    from fabricgauge.report.html.series import Picture


class Slot(NamedTuple):
    """Where a plot goes."""

    target: str
    title: str


def render(judged: Judged, setting: Setting) -> str:
    """One HTML file that asks nothing of any network and runs no script but its own.

    The content security policy names the hash of each of its scripts, so that a script
    which came in with the data would not run even if it were not escaped.
    """
    slots, suite_slots, documents = _plots(judged)
    environment = _environment()
    scripts = _scripts(bool(documents))
    page = environment.get_template("page.html.j2")
    filled: str = page.render(
        judged=judged, setting=setting, run=judged.run, Ceiling=Ceiling, Outcome=Outcome,
        headline=conclusion.headline(judged), tally=conclusion.tally(judged.verdicts),
        meaning=conclusion.MEANING, virtual_note=conclusion.VIRTUAL,
        verdicts=conclusion.worst_first(judged.verdicts), steps=conclusion.next_steps(judged),
        key_figures=key_figures(judged), rows_of_sum=rows_of_sum, slots=slots,
        plots=_embedded(documents), scripts=scripts, hashes=[_hash(one) for one in scripts],
        traffic=traffic(judged.run), tables=case_tables(judged), omissions=omissions(judged),
        style=_source("style.css"), suite_slots=suite_slots, **suite_sections.filled(judged),
    )  # fmt: skip
    return filled


_Slots = dict[str | None, list[Slot]]


def _plots(judged: Judged) -> tuple[_Slots, list[Slot], list[dict[str, Any]]]:
    """Slots of our own curves by network, those of other suites' curves, and all plots."""
    from fabricgauge.report.html.series import pictures
    from fabricgauge.report.html.suite_pictures import suite_pictures

    documents: list[dict[str, Any]] = []
    slots: _Slots = {}
    for network in networks(judged):
        drawn = pictures(judged, network)
        if drawn:
            slots[network] = [_slot(picture, documents) for picture in drawn]
    return slots, [_slot(one, documents) for one in suite_pictures(judged)], documents


def _slot(picture: "Picture", documents: list[dict[str, Any]]) -> Slot:
    """A place for a picture; its plot is added to ``documents``."""
    from fabricgauge.report.html.plots import document

    target = f"plot-{len(documents)}"
    documents.append(document(picture, target))
    return Slot(target, picture.title)


def _scripts(with_plots: bool) -> list[str]:
    if not with_plots:
        return [_source("boot.js")]
    from fabricgauge.report.html.plots import library

    return [library(), _source("boot.js")]


def _embedded(documents: list[dict[str, Any]]) -> str:
    """JSON for a data block: no character in it can end the block or begin a tag."""
    from fabricgauge.report.html.palette import DARK

    text = json.dumps({"plots": documents, "dark": DARK}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fabricgauge.report.html"), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalized,
    )  # fmt: skip
    environment.filters.update(
        amount=quantities.amount, digits=quantities.digits, duration=quantities.duration,
        link_rate=quantities.link_rate, megabytes_per_s=quantities.megabytes_per_s,
        microseconds=quantities.microseconds, of_unit=quantities.of_unit,
        percent=quantities.percent, size=quantities.size, named=named,
        ratio=quantities.ratio,
    )  # fmt: skip
    return environment


def _finalized(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _source(name: str) -> str:
    environment = _environment()
    return str(environment.loader.get_source(environment, name)[0])
