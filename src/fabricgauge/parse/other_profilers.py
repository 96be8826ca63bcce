"""Reports of mpiP and IPM as profiles: their totals for each call; neither tells where peers are.

Sources: mpiP 3.5 User Guide, "mpiP Output"; reports of mpiP 3.5.0 and IPM 2.0.6, recorded under
Open MPI 4.1. Lines that say something else are passed over.
"""

import math
import re
from collections.abc import Iterator

from fabricgauge.model.application import (
    ApplicationProfile,
    CallKind,
    CallMix,
    RankProfile,
)
from fabricgauge.model.errors import CannotRun

MPIP, IPM = "@ mpiP", "<ipm_job_profile>"

#: Beginnings of a call's name and its kind; the first that fits.
_KINDS: tuple[tuple[str, CallKind], ...] = (
    (r"I?(all|bcast|reduce|gather|scatter|scan|exscan|barrier|neighbor)", "Collective"),
    (r"(put|get|rput|rget|r?accumulate|fetch_and_op|compare_and|win_)", "OneSided"),
    (r"(wait|test|i?m?probe)", "Waiting"),
    (r"start", "Starting"),
    (r"\w+_init$", "Persistent"),
    (r"(i?[bsr]?send|i?m?recv)", "PointToPoint"),
    (r"", "Making"),
)

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?"
_TASK = re.compile(rf"^\s*(\d+)\s+({_NUMBER})\s+({_NUMBER})\s+{_NUMBER}\s*$")
_HOST = re.compile(r"^@ MPI Task Assignment\s*:\s*(\d+) (\S+)")
_SITE = re.compile(rf"^(\w+)\s+(\d+)\s+(\d+|\*)\s+(\d+)\s+({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})"
                   rf"(?:\s+({_NUMBER}))?")  # fmt: skip
#: A call site's row of a table of totals: name, site, then time, two shares and calls.
_TOTAL = re.compile(rf"^(\w+)\s+(\d+)\s+({_NUMBER})\s+{_NUMBER}\s+{_NUMBER}\s+(\d+)\s")
_COMMAND = re.compile(r"^@ Command\s*: (\S+)")
_SENT = ("Callsite Message Sent statistics", "Callsite RMA statistics")

#: mpiP prints sizes from 10,000 on with four digits: 262,144 is 2.621e+05.
_EXACT_BELOW, _ROUNDED_BY = 10_000, 5e-4


def _kind(call: str) -> CallKind:
    return next(kind for form, kind in _KINDS if re.match(form, call, re.IGNORECASE))


def _mix(call: str, ranks: int, calls: int, moved: float, time_s: float,
         sizes: tuple[float, float] | None = None) -> CallMix:  # fmt: skip
    """``sizes`` are the least and the largest; only if both are of one class, that is told."""
    least = None
    if sizes:
        first, last = (int(one).bit_length() for one in map(_unrounded, sizes))
        least = 1 << first >> 1 if first == last else None
    kind = _kind(call)
    within = ranks if kind == "Collective" else 0
    return CallMix(call, kind, least, "unknown", within, 0, calls, int(moved), time_s)


def _unrounded(size: float) -> float:
    """The largest size that is printed so: a power of two must not fall into the class below."""
    return size * (1 + _ROUNDED_BY) if size >= _EXACT_BELOW else size


#: What is to be known of a report, and besides where it has no sizes.
_MPIP_NOTES = (
    "read from mpiP: a row is a call site; it does not tell nodes or peers",
    "it has no section on call sites (mpiP -d): the twenty with most time alone, no sizes",
)
_IPM_NOTES = (
    "read from IPM: it rounds sizes down by up to a fifth, and does not tell nodes",
    "it tells no sizes: IPM_LOG=full does",
)


def mpip_profile(text: str) -> ApplicationProfile:
    """A report of mpiP.

    Raises:
        CannotRun: it has no section of times by task; a concise report has none.
    """
    section, hosts, program, detailed = "", dict[int, str](), "", False
    tasks: dict[int, tuple[float, float]] = {}
    times: dict[tuple[str, str], tuple[int, float]] = {}
    sizes: dict[tuple[str, str], tuple[float, float, float]] = {}
    for line in text.splitlines():
        if line.startswith("@--- "):
            section = line[5:].split("(")[0].split(":")[0].strip()
        elif found := _HOST.match(line):
            hosts[int(found[1])] = found[2]
        elif found := _COMMAND.match(line):
            program = found[1].rsplit("/", 1)[-1]
        elif section == "MPI Time" and (found := _TASK.match(line)):
            tasks[int(found[1])] = (float(found[2]), float(found[3]))
        elif section == "Aggregate Time" and (found := _TOTAL.match(line)):  # milliseconds
            times[found[1], found[2]] = (int(found[4]), float(found[3]) * 1e-3)
        elif (found := _SITE.match(line)) and found[3] == "*":
            key = (found[1], found[2])
            if section == "Callsite Time statistics":  # the mean of one call: less exact
                times.setdefault(key, (int(found[4]), int(found[4]) * float(found[6]) * 1e-3))
                detailed = True
            elif section in _SENT and found[8]:
                most, mean, least = map(float, found.group(5, 6, 7))
                # The least of puts is 0 in 3.5.0, whatever they were.
                sizes[key] = (most if mean == most else least, most, float(found[8]))
    if not tasks:
        concise = "mpiP's concise report tells no times of tasks: run it without -c"
        other = "an mpiP report was expected: it has no section MPI Time (seconds)"
        raise CannotRun(concise if "@--- Task Time Statistics" in text else other)
    mix = []
    for (call, site), (calls, time_s) in times.items():
        least, most, moved = sizes.get((call, site), (0.0, 0.0, 0.0))
        span = (least, most) if (call, site) in sizes else None
        mix.append(_mix(call, len(tasks), calls, moved, time_s, span))
    ranks = tuple(_rank(rank, hosts.get(rank, ""), *tasks[rank]) for rank in sorted(tasks))
    return _made("mpiP", program, ranks, mix, _MPIP_NOTES[: 1 if detailed else 2])


def _rank(rank: int, host: str, wall_s: float, mpi_s: float, calls: int = 0) -> RankProfile:
    return RankProfile(rank, rank, host, wall_s, mpi_s, calls, 0, 0, "finalized")


def _made(
    source: str, program: str, ranks: tuple[RankProfile, ...], mix: list[CallMix],
    notes: tuple[str, ...],
) -> ApplicationProfile:  # fmt: skip
    """The profile; ranks with one host name are on one node."""
    first: dict[str, int] = {}
    placed = tuple(
        RankProfile(
            one.rank, first.setdefault(one.host or str(one.rank), one.rank), one.host, one.wall_s,
            one.mpi_s, one.calls, 0, 0, one.ending,
        )
        for one in ranks
    )  # fmt: skip
    ordered = tuple(sorted(mix, key=lambda one: -one.time_s))
    return ApplicationProfile(
        program, source, len(ranks), 0.0, 0.0, placed, ordered, source=source, notes=notes
    )


_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_ELEMENT = re.compile(r"<(task|host|perf|cmdline|func|hent)\b([^>]*)>\s*([^<]*)")
#: A message is counted where it is sent; IPM counts it once more where a receive is told its size.
_RECEIVING = re.compile(r"(i?m?recv|i?m?probe|wait|test)", re.IGNORECASE)

#: Calls, bytes and time by call and, where it is told, size.
_Sums = dict[tuple[str, int | None], tuple[int, float, float]]


def _added(sums: _Sums, said: dict[str, str], inner: str) -> None:
    """Add a row of a function, or of a function at one size, to the sums."""
    sized = "call" in said
    call = said["call" if sized else "name"]
    count, moved, time_s = int(said["count"]), float(said["bytes"]), float(inner.split()[0])
    if not call.startswith("MPI_"):
        return
    if not (math.isfinite(moved) and math.isfinite(time_s)):
        raise ValueError("its number is none")
    call, size = call.removeprefix("MPI_"), int(moved) if sized else None
    if _RECEIVING.match(call):
        moved, size = 0.0, None
    before = sums.get((call, size), (0, 0.0, 0.0))
    moved *= count if sized else 1
    sums[call, size] = (before[0] + count, before[1] + moved, before[2] + time_s)


def ipm_profile(text: str) -> ApplicationProfile:
    """IPM's XML: what each task says, one after the other.

    Raises:
        CannotRun: it has no task.
    """
    ranks: list[RankProfile] = []
    functions, sizes = _Sums(), _Sums()  # IPM_LOG=full tells the same calls once more, by size
    program, rank, host, calls = "", -1, "", 0
    perf = (0.0, 0.0)

    def ended() -> Iterator[RankProfile]:
        if rank >= 0:
            yield _rank(rank, host, *perf, calls)

    for name, attributes, inner in _ELEMENT.findall(text):
        said = dict(_ATTRIBUTE.findall(attributes))
        try:
            if name == "task":
                ranks += ended()
                rank, calls = int(said["mpi_rank"]), 0
            elif name == "host":
                host = inner.strip()
            elif name == "cmdline":
                program = said.get("realpath", inner).rsplit("/", 1)[-1].strip()
            elif name == "perf":
                perf = (float(said["wtime"]), float(said["mtime"]))
            else:
                _added(sizes if name == "hent" else functions, said, inner)
                calls += int(said["count"]) if said.get("name", "").startswith("MPI_") else 0
        except (KeyError, ValueError, IndexError, OverflowError) as error:
            raise CannotRun(f"IPM's XML: a {name} is not understood: {error}") from error
    ranks += ended()
    if not ranks:
        raise CannotRun("IPM's XML was expected: it has no task")
    mix = [
        _mix(call, len(ranks), *one, None if not size else (size, size))
        for (call, size), one in (sizes or functions).items()
    ]
    notes = _IPM_NOTES[: 1 if sizes else 2]
    return _made("IPM", program, tuple(sorted(ranks, key=lambda one: one.rank)), mix, notes)
