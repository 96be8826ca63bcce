"""Resolve two names on the command line to a comparison: runs, logs of other suites, references."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from fabricgauge.check.conclude import conclude
from fabricgauge.check.import_logs import MAX_COPY_BYTES, limit_contents
from fabricgauge.compare.comparing import compare
from fabricgauge.compare.copies import Samples, describe_shared, digest_text, identify_cases
from fabricgauge.compare.matching import Unlike, is_named
from fabricgauge.judge.stats.curves import merge_families, suite_curves
from fabricgauge.judge.thresholds import DEFAULTS, FOLD_FROM, Thresholds
from fabricgauge.logs.read_files import read_large_file
from fabricgauge.logs.references.interface import REFERENCE_PREFIX as REFERENCE
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.absence import Skipped
from fabricgauge.model.comparison import Comparison, Operand
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.judged import Judged
from fabricgauge.model.progress import SILENT
from fabricgauge.model.run import Run
from fabricgauge.model.suite import LIMITED, SuiteCurve, TableFamily, UnparsedLine
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words.figures import link_rate
from fabricgauge.store.files.reading import read_bytes, shown
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.store.run_files import load

#: A message quotes at most this many characters of a side's name.
MAX_SHOWN_CHARACTERS = 80

#: Outcomes of a run that need no note beside a comparison.
_CALM = (Outcome.PASS, Outcome.SKIPPED)


class Side(NamedTuple):
    """Hold an operand with its curves; ``judged`` is the judged run, None for a file.

    ``samples`` identify its measurements.
    """

    operand: Operand
    curves: tuple[SuiteCurve, ...]
    judged: Judged | None = None
    samples: Samples = Samples()


def compare_operands(
    a: str,
    b: str,
    root: Path,
    tolerance: float,
    only: str = "",
    thresholds: Thresholds = DEFAULTS,
    unlike: Sequence[Unlike] = (),
) -> Comparison:
    """Compare B with A; ``only`` narrows both to patterns or benchmarks, separated by commas.

    ``unlike`` narrows them to curves of these names, compared although they differ.

    Raises:
        UsageError: an operand names nothing, or no curve matches ``only`` or a pair of ``unlike``.
        CannotRun: a file has more tables than are read.
        StoreError: a run cannot be read.
    """
    sides = [find_side(name, root, thresholds) for name in (a, b)]
    if only:
        names = [name for word in only.split(",") if (name := word.strip())]
        curves = [curve for side in sides for curve in side.curves]
        if not _select_named(curves, names):
            patterns = dict.fromkeys(curve.pattern or curve.benchmark for curve in curves)
            available = ", ".join(patterns) or "nothing"
            raise UsageError(f"neither side has a curve of {only!r}; available: {available}")
        sides = [side._replace(curves=_select_named(side.curves, names)) for side in sides]
    if unlike:
        # Two unlike curves may be of one run: its samples identify nothing.
        narrowed = map(_narrow_to, sides, zip(*unlike, strict=True))
        sides = [side._replace(samples=Samples()) for side in narrowed]
    side_a, side_b = sides
    simulated = all(side.judged is not None and side.judged.run.fabric.simulated for side in sides)
    shared = describe_shared(
        side_a.samples, side_a.curves, side_b.samples, side_b.curves, simulated=simulated
    )
    return compare(
        with_doubts(side_a), side_a.curves, with_doubts(side_b), side_b.curves, tolerance, unlike,
        shared,
    )  # fmt: skip


def _narrow_to(operand_side: Side, names: Sequence[str]) -> Side:
    """Return a side with the curves of these names; each name must have one."""
    curves = operand_side.curves
    for name in names:
        if not _select_named(curves, [name]):
            available = ", ".join(dict.fromkeys(curve.benchmark for curve in curves)) or "nothing"
            what = f"{operand_side.operand.name} has no curve {name!r}"
            raise UsageError(f"{what}; available: {available}")
    return operand_side._replace(curves=_select_named(curves, names))


def _select_named(curves: Sequence[SuiteCurve], names: Sequence[str]) -> tuple[SuiteCurve, ...]:
    return tuple(curve for curve in curves if any(is_named(curve, name) for name in names))


def find_side(name: str, root: Path, thresholds: Thresholds = DEFAULTS) -> Side:
    """Find a file, a run, or a published result of that name, in this order.

    A directory is a run, or holds runs: then the last run is taken.

    Raises:
        UsageError: nothing has that name; the message lists what was looked for.
        StoreError: the run cannot be read.
    """
    if name.startswith(REFERENCE):
        return _reference(name, name.removeprefix(REFERENCE))
    path = Path(name)
    if path.is_dir():
        is_run = (path / "run.json").exists()
        return _run(name, find(root, name) if is_run else find(path, "latest"), thresholds)
    if path.exists():
        return _file(name, path)
    try:
        directory = find(root, name)
    except StoreError as no_run:
        try:
            return _reference(name, name)
        except UsageError as none:
            raise UsageError(f"{name!r}: no such file; {no_run}; {none}") from none
    return _run(name, directory, thresholds)


def _run(name: str, directory: RunDirectory, thresholds: Thresholds) -> Side:
    run = load(directory)
    judged = conclude(run, thresholds)
    library = next((launch.header.mpi_library for launch in run.launches if launch.header), "")
    facts = {
        "started": run.started_utc,
        "verdict": judged.overall.value,
        "networks": ", ".join(map(_describe_network, run.fabric.networks)),
        "launches": str(len(run.launches)),
        "MPI": " ".join(library.split()),  # some MPIs print a table
        "directory": str(directory.path),
    }
    return Side(
        _operand_with(name, "run", run.identity, facts, find_cautions(run)),
        suite_curves(run, settled=True),
        judged,
        Samples(identify_cases(run), _identify_logs(directory)),
    )


def _describe_network(network: Network) -> str:
    """Return a network with what must be alike: ``net1 (10 Gb/s, MTU 9000)``."""
    rate, known = network.rate_bit_s, list[str]()
    if not isinstance(rate, Skipped):
        known.append(link_rate(rate))
    if network.members or isinstance(network.stated_mtu_bytes, int):
        known.append(f"MTU {network.mtu_bytes}")
    return f"{network.name} ({', '.join(known)})" if known else network.name


def _identify_logs(directory: RunDirectory) -> dict[bytes, str]:
    """Return the logs that an import copied into the run, each by a digest of its text."""
    logs = {}
    for path in sorted((directory.path / "raw").glob("import-*/*")):
        with suppress(OSError):
            logs[digest_text(read_bytes(path, directory.path, MAX_COPY_BYTES))] = shown(path.name)
    return logs


def with_doubts(find_side: Side) -> Operand:
    """Return the operand with the verdicts against the curves that are compared.

    Others' logs are judged table by table: a table that is not compared does not count.
    """
    operand, judged = find_side.operand, find_side.judged
    if judged is None:
        return operand
    places = {curve.place for curve in find_side.curves}
    against = invalid_notes(judged.verdicts)
    if judged.tables:
        against = tuple(
            f"INVALID ({table.rule}, {table.where}): {table.summary}"
            for table in judged.tables
            if table.outcome is Outcome.INVALID and table.place in places
        )
    notes = operand.notes
    if judged.overall not in (*_CALM, Outcome.INVALID):
        worst = (verdict for verdict in judged.verdicts if verdict.outcome is judged.overall)
        why = next((f" ({v.rule}, {v.subject}): {v.summary}" for v in worst), "")
        notes = (f"its verdict is {judged.overall.value}{why}", *notes)
    return msgspec.structs.replace(operand, notes=notes, invalid=against)


def find_cautions(run: Run) -> tuple[str, ...]:
    """Return what makes a run's figures less reliable than they seem."""
    broken = "" if run.complete else "the run broke off: its missing figures are not compared"
    virtual = "measured in a lab: the figures describe this machine" if run.fabric.virtual else ""
    emulated = "measured on emulated processors: times mean nothing" if run.fabric.emulated else ""
    return tuple(filter(None, (broken, virtual, emulated)))


def invalid_notes(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return a note for each INVALID verdict: figures of another path are not comparable."""
    return tuple(
        f"INVALID ({verdict.rule}, {verdict.subject}): {verdict.summary}"
        for verdict in verdicts
        if verdict.outcome is Outcome.INVALID
    )


def _file(stated_name: str, path: Path) -> Side:
    name = shown(str(path))
    contents = list(limit_contents(read_large_file(path, name, None, FOLD_FROM), name, SILENT))
    curves = merge_families(
        [content for content in contents if isinstance(content, SuiteCurve)],
        [content for content in contents if isinstance(content, TableFamily)],
    )
    unparsed = [content for content in contents if isinstance(content, UnparsedLine)]
    if any(line.reason.startswith(LIMITED) for line in unparsed):
        raise CannotRun(f"{name} has more tables than are compared at once; split it")
    facts = {
        "suite": _listed(f"{curve.suite} {curve.version}".strip() for curve in curves),
        "benchmarks": _listed(curve.benchmark for curve in curves),
        "units": _listed(curve.unit_rule for curve in curves),
    }
    note = ""
    if unparsed:
        first, lines = unparsed[0], sum(line.count for line in unparsed)
        text = f": {first.text[:MAX_SHOWN_CHARACTERS]!r}" if first.text else ""
        count = "1 line was" if lines == 1 else f"{lines} lines were"
        note = f"{count} not understood, the first is {first.line} ({first.reason}){text}"
    operand = _operand_with(shown(stated_name), "file", name, facts, (note,))
    logs = dict[bytes, str]()
    with suppress(OSError):
        logs[digest_text(read_bytes(path, None, MAX_COPY_BYTES))] = name
    return Side(operand, curves, samples=Samples(logs=logs))


def _reference(stated_name: str, name: str) -> Side:
    published = reference(name)
    facts = {
        "title": published.title,
        "published in": published.provenance,
        "network": published.network,
    }
    notes = (published.caveat, published.audit)
    curves = tuple(
        curve if curve.source else msgspec.structs.replace(curve, source=name)
        for curve in published.curves
    )
    operand = _operand_with(stated_name, "reference", name, facts, notes)
    expected = published.expected
    if expected and expected.outcome is Outcome.INVALID:
        operand = msgspec.structs.replace(operand, invalid=(published.audit,))
    return Side(operand, curves)


def _operand_with(
    stated_name: str,
    kind: Literal["run", "file", "reference"],
    name: str,
    facts: dict[str, str],
    notes: Sequence[str],
) -> Operand:
    """Return an operand without empty facts and notes."""
    known_facts = {key: value for key, value in facts.items() if value}
    return Operand(stated_name, kind, name, known_facts, tuple(filter(None, notes)))


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
