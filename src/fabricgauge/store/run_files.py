"""Which value is in which file of a run directory."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding
from fabricgauge.model.measurement import Footer, Header, Measurement, Placement
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import CARRIED_BY, CountersAround, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.model.together import Round
from fabricgauge.store.run_directory import RunDirectory

_T = TypeVar("_T")


#: Of the files of a run; a reader accepts every version of the same major number.
VERSION = "1.0"


class About(msgspec.Struct, frozen=True):
    """run.json: what was started, when, and what was in force on the head.

    A resumption measures what ``request`` says, at the place and with the programs of its own
    command line.
    """

    started_utc: str
    command: tuple[str, ...]
    environment: dict[str, str]
    request: MeasurementRequest | None = None
    version: str = VERSION


Record = (
    Header | Placement | Round | Measurement | Footer | SuiteCurve | UnparsedLine | CountersAround
)


class ResultLine(msgspec.Struct, frozen=True):
    """One line of results.jsonl: a record of the engine or of a suite, and its launch."""

    launch: int
    attempt: int
    record: Record


class Started(msgspec.Struct, frozen=True):
    """One line of launches.jsonl, written when a launch has ended."""

    launch: int
    attempt: int
    network: str | None
    nodes: tuple[str, ...]
    ended: Ended
    not_understood: tuple[str, ...]


_LOST = Ended("broken", None, "the program that measured was ended before this launch was", (), 0.0)


def write_beginning(directory: RunDirectory, about: About, fabric: Fabric, plan: Plan) -> None:
    """The files that a run needs from its first moment: it can be resumed from here on."""
    write_found(directory, fabric, plan)
    directory.write("run.json", about)


def write_found(directory: RunDirectory, fabric: Fabric, plan: Plan) -> None:
    """Fabric and plan alone, where it was written down before what the run is about."""
    directory.write("fabric.json", fabric)
    directory.write("plan.json", plan)


def write_facts(directory: RunDirectory, facts: dict[str, str]) -> None:
    """Add what became known of the environment after the run was begun."""
    about = _about(directory)
    environment = {**about.environment, **facts}
    directory.write("run.json", msgspec.structs.replace(about, environment=environment))


def _about(directory: RunDirectory) -> About:
    about = directory.read("run.json", About)
    if about.version.partition(".")[0] != VERSION.partition(".")[0]:
        raise StoreError(
            f"{directory.path}/run.json is of version {about.version}; this program reads"
            f" {VERSION}: take the fabricgauge that wrote it, or a newer one"
        )
    return about


def write_libraries(directory: RunDirectory, hashes: dict[str, str]) -> dict[str, str]:
    """Libraries that carried messages, by real path, with the beginning of their SHA-256.

    Returns them as facts of the environment.
    """
    directory.write(_LIBRARIES, hashes)
    return _library_facts(hashes)


def write_preflight(directory: RunDirectory, findings: tuple[Finding, ...]) -> None:
    """What was found wrong before anything was measured."""
    directory.write(_PREFLIGHT, findings)


def write_ways(directory: RunDirectory, ways: dict[str, str]) -> dict[str, str]:
    """By network, what the MPI itself said that it used; returns facts of the environment."""
    directory.write(_WAYS, ways)
    return _way_facts(ways)


def stored_request(directory: RunDirectory) -> MeasurementRequest:
    """Return what a stored run was asked to measure, and where.

    Raises:
        StoreError: the directory holds no run, or one that no check has begun.
    """
    about = _about(directory)
    if about.request is None:
        raise StoreError(
            f"{directory.path} cannot be resumed: run.json has no request; measure a new run"
        )
    return about.request


def append_records(
    directory: RunDirectory, launch: int, attempt: int, records: Iterable[Record]
) -> None:
    """What a launch said; it is on disk when this returns."""
    append_results(directory, (ResultLine(launch, attempt, one) for one in records))


def append_results(directory: RunDirectory, lines: Iterable[ResultLine]) -> None:
    """The same of several launches at once."""
    directory.append_all("results.jsonl", lines)


def append_launch(directory: RunDirectory, *started: Started) -> None:
    directory.append_all("launches.jsonl", started)


def load(directory: RunDirectory) -> Run:
    """A stored run, complete or broken off.

    Raises:
        StoreError: the directory holds no run, or a file of it cannot be read.
    """
    about = _about(directory)
    if not (directory.path / "plan.json").exists():
        raise StoreError(
            f"nothing has been measured in {directory.path}; what the jobs of a submitted run"
            f" have left is taken with fabricgauge collect {directory.path}"
        )
    entries, bad_results = directory.read_lines("results.jsonl", ENTRIES.decode)
    started, bad_launches = directory.read_lines("launches.jsonl", STARTED.decode)
    plan = directory.read("plan.json", Plan)
    return Run(
        identity=directory.identity,
        started_utc=about.started_utc,
        command=about.command,
        environment={
            **about.environment,
            **_way_facts(_if_there(directory, _WAYS, dict[str, str], {})),
            **_library_facts(_if_there(directory, _LIBRARIES, dict[str, str], {})),
        },
        fabric=directory.read("fabric.json", Fabric),
        plan=plan,
        launches=_launches(plan, entries, started),
        complete=directory.complete,
        notes=tuple(bad_results + bad_launches),
        preflight=_if_there(directory, _PREFLIGHT, tuple[Finding, ...], ()),
    )


_LIBRARIES, _PREFLIGHT, _WAYS = "libraries.json", "preflight.json", "transports.json"


def _if_there(directory: RunDirectory, name: str, kind: type[_T], missing: _T) -> _T:
    """Return the value of a file that imported runs do not have, or ``missing``."""
    return directory.read(name, kind) if (directory.path / name).exists() else missing


def _way_facts(ways: dict[str, str]) -> dict[str, str]:
    return {f"{CARRIED_BY}{network}": said for network, said in ways.items()}


def _library_facts(hashes: dict[str, str]) -> dict[str, str]:
    return {
        f"library {path.rpartition('/')[2]}": f"{path}, SHA-256 {known or 'not known'}"
        for path, known in hashes.items()
    }


ENTRIES = msgspec.json.Decoder(ResultLine)
STARTED = msgspec.json.Decoder(Started)


def _launches(plan: Plan, entries: list[ResultLine], started: list[Started]) -> tuple[Launch, ...]:
    ends = {(s.launch, s.attempt): s for s in started}
    said: dict[tuple[int, int], list[Record]] = {}
    for entry in entries:
        said.setdefault((entry.launch, entry.attempt), []).append(entry.record)
    by_number = {launch.number: launch for launch in plan.launches}
    return tuple(
        launch_of(key[0], said.get(key, []), by_number.get(key[0]), ends.get(key))
        for key in sorted(set(said) | set(ends))
    )


def launch_of(
    number: int, records: Sequence[Record], planned: PlannedLaunch | None, end: Started | None
) -> Launch:
    """A launch with all that it said; ``end`` is None where nobody saw it end."""
    where = end or planned
    nodes = where.nodes if where else ()
    header = next((one for one in records if isinstance(one, Header)), None)
    # A job's nodes stand once each, whatever the number of their ranks.
    count = max(len(nodes), header.ranks if header else 0)
    damage = [_damage(one, count) for one in records]
    told = [f"a record was left out: {one}" for one in damage if one]
    records = [one for one, why in zip(records, damage, strict=True) if not why]
    return Launch(
        number=number,
        network=where.network if where else None,
        nodes=nodes,
        header=header,
        placements=tuple(r for r in records if isinstance(r, Placement)),
        measurements=tuple(r for r in records if isinstance(r, Measurement)),
        rounds=tuple(r for r in records if isinstance(r, Round)),
        ended=end.ended if end else _LOST,
        not_understood=(*(end.not_understood if end else ()), *told),
        curves=tuple(r for r in records if isinstance(r, SuiteCurve)),
        unparsed=tuple(r for r in records if isinstance(r, UnparsedLine)),
        program=planned.program if planned else "",
        purpose=planned.purpose if planned else "measure",
        around=next((r for r in records if isinstance(r, CountersAround)), None),
    )


def _damage(record: Record, count: int) -> str:
    """Return what is wrong with a record of a launch of ``count`` ranks, 0 if that is unknown."""
    rank = _highest_rank(record)
    if count and rank >= count:
        return f"it names rank {rank} of {count}"
    if isinstance(record, Round):
        of = record
        arrays = (of.targets, of.samples, of.minimum_ps, of.median_ps, of.quartile_ps)
        lengths = {len(one) for one in (*arrays, of.one_way_ps or of.origins)}
        if lengths != {len(of.origins)}:
            return f"round {of.round} of {of.case} has arrays of different lengths"
    return ""


def _highest_rank(record: Record) -> int:
    """The highest rank that a record names, -1 without any."""
    ranks: Iterable[int] = ()
    if isinstance(record, Placement):
        ranks = (record.rank,)
    elif isinstance(record, Round):
        ranks = (*record.origins, *record.targets)
    elif isinstance(record, Measurement):
        counted = (one.rank for one in record.counters)
        ranks = (record.origin, record.target, *counted, *(one.rank for one in record.processors))
    return max(ranks, default=-1)


_JOBS_FILE, _BATCH = "jobs.jsonl", "batch.json"
_JOB_LINES = msgspec.json.Decoder(BatchJob)


def write_batch(directory: RunDirectory, about: About, batch: Batch) -> None:
    """What is known before the first job begins."""
    directory.write("run.json", about)
    directory.write(_BATCH, batch)


def read_batch(directory: RunDirectory) -> Batch:
    """What its jobs have in common; StoreError where the run is no batch system's."""
    if (directory.path / "run.json").exists() and not (directory.path / _BATCH).exists():
        raise StoreError(
            f"{directory.path} is no run of Slurm's jobs; what it has left is measured with"
            f" fabricgauge check --resume {directory.path}"
        )
    return directory.read(_BATCH, Batch)


def append_job(directory: RunDirectory, job: BatchJob) -> None:
    directory.append(_JOBS_FILE, job)


def jobs(directory: RunDirectory) -> tuple[BatchJob, ...]:
    """In the order in which they were submitted; none for a run that is no batch system's.

    Each is written down before Slurm gets it, and once more with the number that Slurm gave.
    """
    found, _ = directory.read_lines(_JOBS_FILE, _JOB_LINES.decode)
    return tuple({one.folder: one for one in found}.values())
