"""From two names on the command line to a comparison: runs, logs of other suites, references."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from fabricgauge.app.conclude import conclude
from fabricgauge.app.import_logs import kept
from fabricgauge.app.progress import SILENT
from fabricgauge.app.read_files import found_in
from fabricgauge.compare.comparing import compare
from fabricgauge.files.reading import shown
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.comparison import Comparison, Operand
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Run
from fabricgauge.model.suite import LIMITED, SuiteCurve, UnparsedLine
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.references.interface import reference
from fabricgauge.stats.curves import suite_curves
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import load

#: In front of a reference's name where a file or a run has the same.
REFERENCE = "ref:"

SHOWN_CHARACTERS = 80

#: Outcomes of a run that leave nothing to say beside a comparison.
_CALM = (Outcome.PASS, Outcome.SKIPPED)


class Side(NamedTuple):
    """An operand with its curves; ``judged`` is what the rules say of a run, None for a file."""

    operand: Operand
    curves: tuple[SuiteCurve, ...]
    judged: Judged | None = None


def compared(
    a: str, b: str, root: Path, tolerance: float, only: str = "", thresholds: Thresholds = DEFAULTS
) -> Comparison:
    """B held against A; ``only`` are patterns or benchmarks, with commas, to narrow both to.

    Raises:
        UsageError: an operand names nothing, or no curve is of ``only``.
        CannotRun: a file has more tables than are read.
        StoreError: a run cannot be read.
    """
    sides = [side(asked, root, thresholds) for asked in (a, b)]
    if only:
        _require([curve for one in sides for curve in one.curves], only)
        sides = [one._replace(curves=_of(one.curves, only)) for one in sides]
    (one, of_one), (other, of_other) = ((with_doubts(each), each.curves) for each in sides)
    return compare(one, of_one, other, of_other, tolerance)


def side(asked: str, root: Path, thresholds: Thresholds = DEFAULTS) -> Side:
    """What an operand names: a file, a run, or a published result, looked for in this order.

    A directory is a run, or holds runs: then the last run is taken.

    Raises:
        UsageError: nothing has that name; the message says what was looked for.
        StoreError: the run cannot be read.
    """
    if asked.startswith(REFERENCE):
        return _reference(asked, asked.removeprefix(REFERENCE))
    path = Path(asked)
    if path.is_dir():
        is_run = (path / "run.json").exists()
        return _run(asked, find(root, asked) if is_run else find(path, "latest"), thresholds)
    if path.exists():
        return _file(asked, path)
    try:
        directory = find(root, asked)
    except StoreError as no_run:
        try:
            return _reference(asked, asked)
        except UsageError as none:
            raise UsageError(f"{asked!r} is no file; {no_run}; and {none}") from none
    return _run(asked, directory, thresholds)


def _run(asked: str, directory: RunDirectory, thresholds: Thresholds) -> Side:
    run = load(directory)
    judged = conclude(run, thresholds)
    library = next((one.header.mpi_library for one in run.launches if one.header), "")
    facts = {
        "started": run.started_utc,
        "verdict": judged.overall.value,
        "networks": ", ".join(network.name for network in run.fabric.networks),
        "launches": str(len(run.launches)),
        "MPI": " ".join(library.split()),  # some write a table
        "directory": str(directory.path),
    }
    return Side(
        _operand(asked, "run", run.identity, facts, cautions(run)), suite_curves(run), judged
    )


def with_doubts(side: Side) -> Operand:
    """The operand with what its verdicts say against the curves that are compared.

    Others' logs are judged table by table: a table that is not compared says nothing.
    """
    operand, judged = side.operand, side.judged
    if judged is None:
        return operand
    places = {(one.source, one.first_line) for one in side.curves}
    against = invalid(judged.verdicts)
    if judged.tables:
        against = tuple(
            f"INVALID ({one.rule}, {one.where}): {one.summary}"
            for one in judged.tables
            if one.outcome is Outcome.INVALID and (one.source, one.line) in places
        )
    notes = operand.notes
    if judged.overall not in (*_CALM, Outcome.INVALID):
        first = next((one for one in judged.verdicts if one.outcome is judged.overall), None)
        why = f" ({first.rule}, {first.subject}): {first.summary}" if first else ""
        notes = (f"its verdict is {judged.overall.value}{why}", *notes)
    return msgspec.structs.replace(operand, notes=notes, invalid=against)


def cautions(run: Run) -> tuple[str, ...]:
    """What makes a run's figures less than they seem."""
    broken = "" if run.complete else "the run was broken off: what it lacks is not compared"
    virtual = "measured in a lab: the figures describe this machine" if run.fabric.virtual else ""
    emulated = "measured on emulated processors: times mean nothing" if run.fabric.emulated else ""
    return tuple(filter(None, (broken, virtual, emulated)))


def invalid(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Figures that describe another path are not worth comparing, and this says so."""
    return tuple(
        f"INVALID ({one.rule}, {one.subject}): {one.summary}"
        for one in verdicts
        if one.outcome is Outcome.INVALID
    )


def _file(asked: str, path: Path) -> Side:
    name = shown(str(path))
    found = list(kept(found_in(path), name, SILENT))
    curves = tuple(one for one in found if isinstance(one, SuiteCurve))
    unparsed = [one for one in found if isinstance(one, UnparsedLine)]
    if any(one.reason.startswith(LIMITED) for one in unparsed):
        raise CannotRun(f"{name} has more tables than are compared at once; split it")
    facts = {
        "suite": _listed(f"{one.suite} {one.version}".strip() for one in curves),
        "benchmarks": _listed(one.benchmark for one in curves),
        "units": _listed(one.unit_rule for one in curves),
    }
    return Side(_operand(shown(asked), "file", name, facts, _unparsed(unparsed)), curves)


def _unparsed(unparsed: Sequence[UnparsedLine]) -> tuple[str, ...]:
    """How many lines were not understood, and the first of them."""
    if not unparsed:
        return ()
    first, lines = unparsed[0], sum(one.count for one in unparsed)
    text = f": {first.text[:SHOWN_CHARACTERS]!r}" if first.text else ""
    many = "1 line was" if lines == 1 else f"{lines} lines were"
    return (f"{many} not understood, the first is {first.line} ({first.reason}){text}",)


def _reference(asked: str, name: str) -> Side:
    found = reference(name)
    facts = {"title": found.title, "published in": found.provenance, "network": found.network}
    notes = (found.caveat, found.audit)
    curves = tuple(
        one if one.source else msgspec.structs.replace(one, source=name) for one in found.curves
    )
    operand = _operand(asked, "reference", name, facts, notes)
    expected = found.expected
    if expected and expected.outcome is Outcome.INVALID:
        operand = msgspec.structs.replace(operand, invalid=(found.audit,))
    return Side(operand, curves)


def _operand(
    asked: str,
    kind: Literal["run", "file", "reference"],
    name: str,
    facts: dict[str, str],
    notes: Sequence[str],
) -> Operand:
    """With those facts and notes that say something."""
    told = {key: value for key, value in facts.items() if value}
    return Operand(asked, kind, name, told, tuple(filter(None, notes)))


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _require(curves: Sequence[SuiteCurve], only: str) -> None:
    if not _of(curves, only):
        known = dict.fromkeys(one.pattern or one.benchmark for one in curves)
        listed = ", ".join(known) or "nothing"
        raise UsageError(f"neither side has a curve of {only!r}; there is {listed}")


def _of(curves: Sequence[SuiteCurve], only: str) -> tuple[SuiteCurve, ...]:
    wanted = {one.strip().casefold() for one in only.split(",")} - {""}
    return tuple(
        one
        for one in curves
        if not wanted.isdisjoint(((one.pattern or "").casefold(), one.benchmark.casefold()))
    )
