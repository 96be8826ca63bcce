"""From two names on the command line to a comparison: runs, logs of other suites, references."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from fabricgauge.app.import_logs import kept
from fabricgauge.app.progress import SILENT
from fabricgauge.app.read_files import found_in
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.compare.comparing import compare
from fabricgauge.files.reading import shown
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.model.comparison import Comparison, Operand
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.run import Run
from fabricgauge.model.suite import LIMITED, SuiteCurve, UnparsedLine
from fabricgauge.model.verdict import Outcome
from fabricgauge.references.interface import reference
from fabricgauge.stats.curves import suite_curves
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import load

#: In front of a reference's name where a file or a run has the same.
REFERENCE = "ref:"

SHOWN_CHARACTERS = 80

Side = tuple[Operand, tuple[SuiteCurve, ...]]


def compared(a: str, b: str, root: Path, tolerance: float, only: str = "") -> Comparison:
    """B held against A; ``only`` is a pattern or a benchmark to which both are narrowed.

    Raises:
        UsageError: an operand names nothing, or no curve is of ``only``.
        CannotRun: a file has more tables than are read.
        StoreError: a run cannot be read.
    """
    (one, of_one), (other, of_other) = side(a, root), side(b, root)
    if only:
        _require((*of_one, *of_other), only)
        of_one, of_other = _of(of_one, only), _of(of_other, only)
    return compare(one, of_one, other, of_other, tolerance)


def side(asked: str, root: Path) -> Side:
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
        return _run(asked, find(root, asked) if is_run else find(path, "latest"))
    if path.exists():
        return _file(asked, path)
    try:
        directory = find(root, asked)
    except StoreError as no_run:
        try:
            return _reference(asked, asked)
        except UsageError as none:
            raise UsageError(f"{asked!r} is no file; {no_run}; and {none}") from none
    return _run(asked, directory)


def _run(asked: str, directory: RunDirectory) -> Side:
    run = load(directory)
    library = next((one.header.mpi_library for one in run.launches if one.header), "")
    facts = {
        "started": run.started_utc,
        "networks": ", ".join(network.name for network in run.fabric.networks),
        "launches": str(len(run.launches)),
        "MPI": " ".join(library.split()),  # some write a table
        "directory": str(directory.path),
    }
    return _operand(asked, "run", run.identity, facts, cautions(run)), suite_curves(run)


def cautions(run: Run) -> tuple[str, ...]:
    """What makes a run's figures doubtful, or less than they seem."""
    broken = "" if run.complete else "the run was broken off: what it lacks is not compared"
    virtual = "measured in a lab: the figures describe this machine" if run.fabric.virtual else ""
    emulated = "measured on emulated processors: times mean nothing" if run.fabric.emulated else ""
    return tuple(filter(None, (*invalid(run), broken, virtual, emulated)))


def invalid(run: Run) -> tuple[str, ...]:
    """Figures that describe another path are not worth comparing, and this says so."""
    context = Context(run, ceilings(run.fabric.networks, run.launches))
    return tuple(
        f"INVALID ({one.rule}, {one.subject}): {one.summary}"
        for one in judgement(context).verdicts
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
    return _operand(shown(asked), "file", name, facts, _unparsed(unparsed)), curves


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
    return _operand(asked, "reference", name, facts, notes), curves


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
    wanted = only.casefold()
    return tuple(
        one
        for one in curves
        if wanted in ((one.pattern or "").casefold(), one.benchmark.casefold())
    )
