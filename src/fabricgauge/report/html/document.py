"""What every self-contained page needs: templates that escape, plots as data, scripts by hash.

The content security policy of a page names the hash of each of its scripts, so that a
script which came in with the data would not run even if it were not escaped.
"""

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricgauge.report import quantities
from fabricgauge.report.networks import listed, named
from fabricgauge.report.traffic import least_shares
from fabricgauge.report.visible import visible

if TYPE_CHECKING:
    from fabricgauge.report.html.drawing import Drawable

_HERE = "fabricgauge.report.html"


class Slot(NamedTuple):
    """Where a plot goes."""

    target: str
    title: str


def filled(
    template: str, documents: list[dict[str, Any]], package: str = _HERE, **values: Any
) -> str:
    """The page: a template of ``package`` with its values, plots, style and scripts."""
    scripts = _scripts(bool(documents))
    page: str = environment(package).get_template(template).render(
        plots=_embedded(documents), scripts=scripts, hashes=[_hash(one) for one in scripts],
        style=_source("style.css"), **values,
    )  # fmt: skip
    return page


def slot(picture: "Drawable", documents: list[dict[str, Any]]) -> Slot:
    """A place for a picture; its plot is added to ``documents``."""
    from fabricgauge.report.html.drawing import drawn

    target = f"plot-{len(documents)}"
    documents.append(drawn(picture, target))
    return Slot(target, picture.title)


def environment(package: str = _HERE) -> Any:
    """Templates of ``package``, then those of this folder; all text is escaped and visible."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    packages = dict.fromkeys((package, _HERE, "fabricgauge.report.render"))
    made = Environment(
        loader=ChoiceLoader([PackageLoader(one) for one in packages]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalized,
    )  # fmt: skip
    made.filters.update(
        amount=quantities.amount, digits=quantities.digits, duration=quantities.duration,
        link_rate=quantities.link_rate, megabytes_per_s=quantities.megabytes_per_s,
        microseconds=quantities.microseconds, of_unit=quantities.of_unit,
        percent=quantities.percent, size=quantities.size, named=named,
        ratio=quantities.ratio, listed=listed, least_shares=least_shares,
    )  # fmt: skip
    return made


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


def _finalized(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _source(name: str) -> str:
    templates = environment()
    return str(templates.loader.get_source(templates, name)[0])
