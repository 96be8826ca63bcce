"""Everything about a judged run for other programs: the JSON document."""

import math

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.evidence import WireLedger
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.pairs import (
    NodeRank,
    PairAnalysis,
    PairFinding,
    Quantity,
    Spectrum,
    Suspect,
    matrix_keys,
)
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.topology import Group
from fabricgauge.model.verdict import Outcome, Verdict, distinct, finding_subject, identity
from fabricgauge.report.content.conclusion import headline, is_simulated
from fabricgauge.report.content.fabric_cases import Joint, joint
from fabricgauge.report.interface import OneLine, Setting
from fabricgauge.words.networks import named

VERSION = "1.5"

#: The file of the run directory that holds the matrices.
MATRICES = "matrices.npz"


class IdentifiedFinding(PairFinding, frozen=True):
    """A finding with the id by which it is found again in other runs."""

    id: str = ""


class MatrixDocument(msgspec.Struct, frozen=True):
    """One matrix without its cells: where they are, and what they say.

    ``unit`` is that of every figure of the quantity. ``array`` is the name under which
    ``file`` holds the values; ``between`` has null where nothing was measured.
    """

    network: str
    quantity: Quantity
    message_bytes: int
    unit: str
    file: str
    array: str
    nodes: tuple[str, ...]
    coverage: float
    typical: float
    noise: float
    grouped_by: str
    groups: tuple[Group, ...]
    between: tuple[tuple[float | None, ...], ...]
    order: tuple[int, ...]
    ranking: tuple[NodeRank, ...]
    spectrum: Spectrum
    findings: tuple[IdentifiedFinding, ...]
    suspects: tuple[Suspect, ...]


class RunDocument(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-report"):
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
    wire: tuple[WireLedger, ...] = ()
    tables: tuple[TableVerdict, ...] = ()


def data(judged: Judged, _setting: Setting) -> OneLine:
    """On one line: histograms would fill a line per number otherwise."""
    document = RunDocument(
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
        wire=judged.ledgers,
        tables=judged.tables,
    )
    return OneLine(document)


def _without_rounds(run: Run) -> Run:
    """Every pair of every round would be most of the document; the matrices hold them."""
    bare = tuple(msgspec.structs.replace(one, rounds=()) for one in run.launches)
    return msgspec.structs.replace(run, launches=bare)


def matrices(judged: Judged) -> tuple[MatrixDocument, ...]:
    analyses = judged.fabric.analyses
    keys = matrix_keys([one.matrix for one in analyses])
    return tuple(_matrix(one, key) for one, key in zip(analyses, keys, strict=True))


def _matrix(one: PairAnalysis, key: str) -> MatrixDocument:
    matrix = one.matrix
    return MatrixDocument(
        network=matrix.network,
        quantity=matrix.quantity,
        message_bytes=matrix.message_bytes,
        unit="s" if matrix.quantity == "latency" else "bytes/s",
        file=MATRICES,
        array=f"{key}.values",
        nodes=matrix.nodes,
        coverage=matrix.coverage,
        typical=one.typical,
        noise=one.noise,
        grouped_by=one.grouped_by,
        groups=one.groups,
        between=tuple(tuple(map(_known, row)) for row in one.between.tolist()),
        order=one.order,
        ranking=one.ranking,
        spectrum=one.spectrum,
        findings=identified(one),
        suspects=one.suspects,
    )


def identified(one: PairAnalysis) -> tuple[IdentifiedFinding, ...]:
    """Each finding with an id of its own, unique within the run."""
    network = named(one.matrix.network or None)
    ids = distinct(identity("outliers", finding_subject(network, each)) for each in one.findings)
    return tuple(
        IdentifiedFinding(
            **{name: getattr(each, name) for name in PairFinding.__struct_fields__}, id=own
        )
        for each, own in zip(one.findings, ids, strict=True)
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
