"""Write and read the files of a run directory, each with its type of value."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding
from fabricgauge.model.measurement import Footer, Header, Measurement, Placement, Round
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import CARRIED_BY, CountersAround, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve, TableFamily, UnparsedLine
from fabricgauge.model.words.figures import duration
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from fabricgauge.model.passes import PassFolder

_T = TypeVar("_T")


#: Version of a run's files; a reader accepts all versions with the same major number.
VERSION = "1.0"


class About(msgspec.Struct, frozen=True):
    """run.json: the command, its start, and the environment on the head.

    A resumption measures ``request`` on the nodes and with the programs of its own command line.
    Each record names its run by ``identity``; runs of earlier versions have none.
    """

    started_utc: str
    command: tuple[str, ...]
    environment: dict[str, str]
    request: MeasurementRequest | None = None
    version: str = VERSION
    identity: str = ""


Record = (
    Header
    | Placement
    | Round
    | Measurement
    | Footer
    | SuiteCurve
    | TableFamily
    | UnparsedLine
    | CountersAround
)


class ResultLine(msgspec.Struct, frozen=True):
    """One line of results.jsonl: a record of the engine or of a suite, its launch and its run."""

    launch: int
    attempt: int
    record: Record
    run: str = ""


class LaunchLine(msgspec.Struct, frozen=True):
    """One line of launches.jsonl, written when a launch has ended."""

    launch: int
    attempt: int
    network: str | None
    nodes: tuple[str, ...]
    ended: Ended
    not_understood: tuple[str, ...]
    run: str = ""


_Line = TypeVar("_Line", ResultLine, LaunchLine)

#: How a launch ended whose program was killed before it could write that.
_LOST = Ended("broken", None, "the program that measured was ended before this launch was", (), 0.0)


def write_beginning(directory: RunDirectory, about: About, fabric: Fabric, plan: Plan) -> None:
    """Write the files with which a run can be resumed."""
    write_fabric_and_plan(directory, fabric, plan)
    _write_about(directory, about)


def _write_about(directory: RunDirectory, about: About) -> None:
    directory.write("run.json", msgspec.structs.replace(about, identity=directory.identity))


def write_fabric_and_plan(directory: RunDirectory, fabric: Fabric, plan: Plan) -> None:
    """Write fabric and plan of a run whose run.json exists already."""
    directory.write("fabric.json", fabric)
    directory.write("plan.json", plan)


def write_facts(directory: RunDirectory, facts: dict[str, str]) -> None:
    """Add facts about the environment that became known after the run's beginning."""
    about = directory.read("run.json", About, VERSION)
    environment = {**about.environment, **facts}
    directory.write("run.json", msgspec.structs.replace(about, environment=environment))


def write_libraries(directory: RunDirectory, hashes: dict[str, str]) -> dict[str, str]:
    """Write the libraries that carried messages; return them as facts of the environment.

    ``hashes`` has the beginning of each library's SHA-256, by its real path.
    """
    directory.write(_LIBRARIES, hashes)
    return _library_facts(hashes)


def write_preflight(directory: RunDirectory, findings: tuple[Finding, ...]) -> None:
    directory.write(_PREFLIGHT, findings)


def write_transports(directory: RunDirectory, transports: dict[str, str]) -> dict[str, str]:
    """Write the transports that MPI reported, by network; return facts of the environment."""
    directory.write(_TRANSPORTS, transports)
    return _transport_facts(transports)


def stored_request(directory: RunDirectory) -> MeasurementRequest:
    """Return the request of a stored run.

    Raises:
        StoreError: the directory holds no run, or one that no check has begun.
    """
    about = directory.read("run.json", About, VERSION)
    if about.request is None:
        raise StoreError(
            f"{directory.path} cannot be resumed: run.json has no request; measure a new run"
        )
    return about.request


def append_records(
    directory: RunDirectory, launch: int, attempt: int, records: Iterable[Record]
) -> None:
    """Append the records of a launch; they are on disk within 0.2 s, or when its end is."""
    append_results(directory, (ResultLine(launch, attempt, record) for record in records))


def append_results(directory: RunDirectory, lines: Iterable[ResultLine]) -> None:
    """Append the records of several launches at once, as ``append_records``."""
    directory.append_quickly("results.jsonl", _add_run(directory, lines))


def _add_run(directory: RunDirectory, lines: Iterable[_Line]) -> Iterator[_Line]:
    """Yield the lines with the identity of the run; a renamed run keeps its own.

    A run of an earlier version has no identity, and its lines get none.
    """
    if not directory.stamp:
        has_about = directory.has("run.json")
        directory.stamp = (
            directory.read("run.json", About, VERSION).identity if has_about else directory.identity
        )
    yield from (msgspec.structs.replace(line, run=directory.stamp) for line in lines)


def append_launch(directory: RunDirectory, *lines: LaunchLine) -> None:
    """Append the ends of launches; they and all records are on disk when this returns."""
    directory.sync()
    directory.append_all("launches.jsonl", _add_run(directory, lines))


def load(directory: RunDirectory) -> Run:
    """Return a stored run, complete or interrupted.

    Raises:
        StoreError: the directory holds no run, or one of its files cannot be read.
    """
    about = directory.read("run.json", About, VERSION)
    if not directory.has("plan.json"):
        raise StoreError(
            f"{directory.path} has no measurements yet; read the results of a submitted run's jobs"
            f" with fabricgauge collect {directory.path}"
        )
    launch_lines, bad_launches = directory.read_lines("launches.jsonl", LAUNCH_DECODER.decode)
    plan = directory.read("plan.json", Plan)
    launches, bad_results = _read_launches(directory, plan, launch_lines, about.identity)
    return Run(
        identity=directory.identity,
        started_utc=about.started_utc,
        command=about.command,
        environment={
            **about.environment,
            **_transport_facts(_read_optional(directory, _TRANSPORTS, dict[str, str], {})),
            **_library_facts(_read_optional(directory, _LIBRARIES, dict[str, str], {})),
        },
        fabric=directory.read("fabric.json", Fabric),
        plan=plan,
        launches=launches,
        complete=directory.complete,
        notes=tuple(bad_results + bad_launches),
        preflight=_read_optional(directory, _PREFLIGHT, tuple[Finding, ...], ()),
    )


_LIBRARIES, _PREFLIGHT, _TRANSPORTS = "libraries.json", "preflight.json", "transports.json"


def _read_optional(directory: RunDirectory, name: str, kind: type[_T], default: _T) -> _T:
    """Return the value of a file that imported runs do not have, or ``default``."""
    return directory.read(name, kind) if directory.has(name) else default


def _transport_facts(transports: dict[str, str]) -> dict[str, str]:
    return {f"{CARRIED_BY}{network}": transport for network, transport in transports.items()}


def _library_facts(hashes: dict[str, str]) -> dict[str, str]:
    return {
        f"library {path.rpartition('/')[2]}": f"{path}, SHA-256 {digest or 'not known'}"
        for path, digest in hashes.items()
    }


RESULT_DECODER = msgspec.json.Decoder(ResultLine)
LAUNCH_DECODER = msgspec.json.Decoder(LaunchLine)


def _read_launches(
    directory: RunDirectory, plan: Plan, launch_lines: list[LaunchLine], identity: str
) -> tuple[tuple[Launch, ...], list[str]]:
    """Return all launches, and a sentence for each line that cannot be decoded."""
    is_stated = bool(identity)
    planned = {launch.number: launch for launch in plan.launches}
    collected: dict[tuple[int, int], LaunchRecords] = {}
    others: dict[tuple[int, int], Counter[tuple[str, str]]] = {}

    def count_other_runs(file: str, line: LaunchLine | ResultLine) -> None:
        """Count lines of another run; an earlier version's is that which is named first."""
        nonlocal identity
        identity = identity or line.run
        if line.run != identity and (line.run or is_stated):
            others.setdefault((line.launch, line.attempt), Counter())[file, line.run] += 1

    for end in launch_lines:
        count_other_runs("launches.jsonl", end)
        collected[end.launch, end.attempt] = LaunchRecords(planned.get(end.launch), end)
    damaged: list[str] = []
    for line in directory.decode_lines("results.jsonl", RESULT_DECODER.decode, damaged):
        count_other_runs("results.jsonl", line)
        key = line.launch, line.attempt
        if key not in collected:
            collected[key] = LaunchRecords(planned.get(line.launch))
        collected[key].extend((line.record,))
    ended = Counter((line.launch, line.attempt) for line in launch_lines)
    for key, launch_records in collected.items():
        launch_records.mixed += [
            f"{file}: {counted(count, 'record')} of run {run or '(no name)'}, not of {identity}"
            for (file, run), count in others.get(key, Counter()).items()
        ]
        if ended[key] > 1:
            launch_records.mixed.append("launches.jsonl: it ended more than once")
    return tuple(collected[key].build(key[0]) for key in sorted(collected)), damaged


class LaunchRecords:
    """Collect the records of one launch; the pairs of a round join those of its pass at once.

    ``planned`` is the launch in the plan, ``end`` its end, if they are known.
    """

    def __init__(self, planned: PlannedLaunch | None, end: LaunchLine | None = None) -> None:
        self._planned, self._end = planned, end
        self._records: list[Record] = []
        self._rejected: list[str] = []
        #: Sentences on records that belong to another run or launch.
        self.mixed: list[str] = []
        #: None until the header says how many ranks there are; 0 if nothing does.
        self._ranks: int | None = None
        self._folds = False
        self._folder: PassFolder | None = None

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(record for record in self._records if isinstance(record, Measurement))

    def extend(self, records: Iterable[Record]) -> None:
        """Add records in the order of the file; rounds are kept whole until the header comes."""
        for record in records:
            if self._ranks is not None:
                self._check_and_add(record, self._ranks)
                continue
            self._records.append(record)
            if isinstance(record, Header):
                self._begin(record.ranks)

    def _begin(self, stated: int) -> None:
        """Check what is there already, now that the number of ranks is known."""
        # A job's nodes are listed once each, with any number of ranks.
        source = self._end or self._planned
        ranks = self._ranks = max(len(source.nodes) if source else 0, stated)
        measured_again = self._planned is not None and self._planned.purpose == "again"
        self._folds = bool(ranks) and not measured_again
        records, self._records = self._records, []
        for record in records:
            self._check_and_add(record, ranks)

    def _check_and_add(self, record: Record, ranks: int) -> None:
        if reason := _damage(record, ranks):
            self._rejected.append(f"a record was left out: {reason}")
        elif isinstance(record, Round) and self._folds:
            from fabricgauge.model.passes import PassFolder, without_pairs  # they need numpy

            self._folder = self._folder or PassFolder(ranks)
            self._folder.add(record)
            self._records.append(without_pairs(record))
        else:
            self._records.append(record)

    def build(self, number: int, end: LaunchLine | None = None) -> Launch:
        """Return the launch. Without ``end`` its end was not recorded."""
        self._end = end = end or self._end
        if self._ranks is None:
            self._begin(0)
        planned, records = self._planned, self._records
        source = end or planned
        return Launch(
            number=number,
            network=source.network if source else None,
            nodes=source.nodes if source else (),
            header=next((record for record in records if isinstance(record, Header)), None),
            placements=tuple(r for r in records if isinstance(r, Placement)),
            measurements=self.measurements,
            rounds=tuple(r for r in records if isinstance(r, Round)),
            ended=end.ended if end else _LOST,
            not_understood=(*(end.not_understood if end else ()), *self._rejected),
            curves=tuple(r for r in records if isinstance(r, SuiteCurve)),
            unparsed=tuple(r for r in records if isinstance(r, UnparsedLine)),
            program=planned.program if planned else "",
            purpose=planned.purpose if planned else "measure",
            around=next((r for r in records if isinstance(r, CountersAround)), None),
            passes=self._folder.close(self.measurements) if self._folder else (),
            attempt=end.attempt if end else 1,
            families=tuple(r for r in records if isinstance(r, TableFamily)),
            mixed=(*self.mixed, *_find_second_launch(records, planned, end)),
        )


def launch_of(
    number: int, records: Iterable[Record], planned: PlannedLaunch | None, end: LaunchLine | None
) -> Launch:
    """Return a launch with all its records; ``end`` is None if its end was not recorded."""
    collected = LaunchRecords(planned, end)
    collected.extend(records)
    return collected.build(number)


#: Seconds by which clocks of a launch may differ: a job's script counts whole seconds.
CLOCK_S = 2.0


def _find_second_launch(
    records: Sequence[Record], planned: PlannedLaunch | None, end: LaunchLine | None
) -> Iterator[str]:
    """Yield sentences on records that one launch cannot have."""
    headers = [record for record in records if isinstance(record, Header)]
    if len(headers) > 1:
        begins = listed([header.started_utc for header in headers])
        yield f"results.jsonl: it began {len(headers)} times ({begins})"
    ranks = Counter(record.rank for record in records if isinstance(record, Placement))
    if repeated := [rank for rank, count in ranks.items() if count > 1]:
        yield f"results.jsonl: rank {repeated[0]} was placed {ranks[repeated[0]]} times"
    allowed = Counter(case.name for case in planned.cases) if planned else Counter[str]()
    cases = Counter(record.case for record in records if isinstance(record, Measurement))
    repeated_cases = [case for case, count in cases.items() if count > max(1, allowed[case])]
    # A launch of one host, as a reference, is not in the stored plan.
    if planned and repeated_cases:
        first = repeated_cases[0]
        yield (
            f"results.jsonl: {counted(len(repeated_cases), 'case')} measured more often than"
            f" planned, first {first}: {cases[first]} times"
        )
    footers = [record for record in records if isinstance(record, Footer)]
    simulated = any(header.simulated for header in headers)
    # A job that was ended has no duration.
    if footers and end and end.ended.wall_s > 0 and not simulated:
        lasted_s = max(footer.wall_s for footer in footers)
        if lasted_s > end.ended.wall_s + CLOCK_S:
            yield (
                f"launches.jsonl: it ended after {duration(end.ended.wall_s)}, and results.jsonl"
                f" has records of {duration(lasted_s)}"
            )
    # Tables that the log of one file cannot have.
    curves = [record for record in records if isinstance(record, SuiteCurve)]
    sources = [*dict.fromkeys(curve.source for curve in curves if curve.source)]
    if len(sources) > 1:
        yield f"results.jsonl: it has tables of {listed(sources)}"
    tables = {_digest(curve): curve for curve in curves if curve.first_line}
    counts = Counter(_digest(curve) for curve in curves if curve.first_line)
    for digest, count in counts.most_common(1):
        table = tables[digest]
        if count > 1:
            yield f"results.jsonl: {table.name} occurs {count} times"


def _digest(curve: SuiteCurve) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(curve), digest_size=16).digest()


def _damage(record: Record, ranks: int) -> str:
    """Return the damage of a record of a launch with ``ranks`` ranks; 0 ranks means unknown."""
    named: Iterable[int] = ()
    if isinstance(record, TableFamily):
        from fabricgauge.model.families import find_damage  # it needs numpy

        return find_damage(record)
    if isinstance(record, Placement):
        named = (record.rank,)
    elif isinstance(record, Round):
        named = (*record.origins, *record.targets)
    elif isinstance(record, Measurement):
        with_counters = (counters.rank for counters in record.counters)
        with_processors = (use.rank for use in record.processors)
        named = (record.origin, record.target, *with_counters, *with_processors)
    highest = max(named, default=-1)
    if ranks and highest >= ranks:
        return f"it names rank {highest} of {ranks}"
    if isinstance(record, Round):
        arrays = (
            record.targets, record.samples, record.minimum_ps, record.median_ps,
            record.quartile_ps, record.one_way_ps or record.origins,
        )  # fmt: skip
        if {len(array) for array in arrays} != {len(record.origins)}:
            return f"round {record.round} of {record.case} has arrays of different lengths"
    return ""


_JOBS_FILE, _BATCH = "jobs.jsonl", "batch.json"
_JOB_LINES = msgspec.json.Decoder(BatchJob)


def write_batch(directory: RunDirectory, about: About, batch: Batch) -> None:
    """Write the facts that are known before the first job starts."""
    _write_about(directory, about)
    directory.write(_BATCH, batch)


def read_batch(directory: RunDirectory) -> Batch:
    """Return the common facts of a run's jobs; StoreError if no batch system runs it."""
    if directory.has("run.json") and not directory.has(_BATCH):
        raise StoreError(
            f"{directory.path} is no run of Slurm jobs; measure the rest with"
            f" fabricgauge check --resume {directory.path}"
        )
    return directory.read(_BATCH, Batch)


def append_job(directory: RunDirectory, job: BatchJob) -> None:
    directory.append(_JOBS_FILE, job)


def jobs(directory: RunDirectory) -> tuple[BatchJob, ...]:
    """Return a run's jobs in the order of submission; none without a batch system.

    The file has a line from before each submission, and another line with Slurm's job number.
    """
    lines, _ = directory.read_lines(_JOBS_FILE, _JOB_LINES.decode)
    return tuple({job.folder: job for job in lines}.values())
