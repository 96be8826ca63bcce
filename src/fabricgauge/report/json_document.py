"""Everything about a judged run as one JSON document for other programs."""

import msgspec
import numpy as np

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.conclusion import headline, is_simulated
from fabricgauge.report.fabric_cases import Joint, joint
from fabricgauge.report.fabric_document import MatrixDocument, matrices
from fabricgauge.report.interface import Judged, Setting

VERSION = "1.2"


class Document(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-report"):
    """The JSON report; docs/reference/report.md describes each field.

    All quantities are bytes, seconds, bit/s and bytes/s, as in the model. A reader
    accepts every document of the same major version.
    """

    version: str
    overall: Outcome
    headline: str
    virtual: bool
    judged_utc: str
    rules_version: str
    verdicts: tuple[Verdict, ...]
    ceilings: dict[str, Ceiling | Skipped]
    curves: tuple[Curve, ...]
    run: Run
    against: tuple[SuiteCurve, ...]
    simulated: bool = False
    matrices: tuple[MatrixDocument, ...] = ()
    together: tuple[Joint, ...] = ()


def render(judged: Judged, _setting: Setting) -> str:
    """The document as JSON on one line: histograms would fill a line per number otherwise."""
    document = Document(
        version=VERSION,
        overall=judged.overall,
        headline=headline(judged),
        virtual=judged.run.fabric.virtual,
        judged_utc=judged.judged_utc,
        rules_version=judged.rules_version,
        verdicts=judged.verdicts,
        ceilings=judged.ceilings,
        curves=judged.curves,
        run=_without_rounds(judged.run),
        against=judged.against,
        simulated=is_simulated(judged),
        matrices=matrices(judged),
        together=joint(judged.run),
    )
    return msgspec.json.encode(document, enc_hook=_plain).decode() + "\n"


def _plain(value: object) -> object:
    """A number of numpy's as Python's own, which it prints as well as any other."""
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"no JSON for {type(value)}")


def _without_rounds(run: Run) -> Run:
    """Every pair of every round would be most of the document; the matrices hold them."""
    bare = tuple(msgspec.structs.replace(one, rounds=()) for one in run.launches)
    return msgspec.structs.replace(run, launches=bare)
