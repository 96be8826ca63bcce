"""Reports of mpiP and IPM as profiles: their totals for each call; neither tells where peers are.

Sources: mpiP 3.5 User Guide, "mpiP Output"; the XML that IPM 2.0 writes, as its own repository's
recorded test output has it. Lines that say something else are passed over.
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
_COMMAND = re.compile(r"^@ Command\s*: (\S+)")


def _kind(call: str) -> CallKind:
    return next(kind for form, kind in _KINDS if re.match(form, call, re.IGNORECASE))


def _mix(call: str, ranks: int, calls: int, moved: float, time_s: float,
         sizes: tuple[float, float] | None = None) -> CallMix:  # fmt: skip
    """``sizes`` are the least and the largest; only if both are of one class, that is told."""
    least = None
    if sizes and int(sizes[0]).bit_length() == int(sizes[1]).bit_length():
        least = 1 << int(sizes[0]).bit_length() >> 1
    kind = _kind(call)
    within = ranks if kind == "Collective" else 0
    return CallMix(call, kind, least, "unknown", within, 0, calls, int(moved), time_s)


def mpip_profile(text: str) -> ApplicationProfile:
    """A report of mpiP.

    Raises:
        CannotRun: it has no section of times by task.
    """
    section, hosts, program = "", dict[int, str](), ""
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
        elif (found := _SITE.match(line)) and found[3] == "*":
            key = (found[1], found[2])
            if section == "Callsite Time statistics":  # milliseconds; the mean of one call
                times[key] = (int(found[4]), int(found[4]) * float(found[6]) * 1e-3)
            elif section == "Callsite Message Sent statistics" and found[8]:
                sizes[key] = (float(found[7]), float(found[5]), float(found[8]))
    if not tasks:
        raise CannotRun("an mpiP report was expected: it has no section MPI Time (seconds)")
    mix = []
    for (call, site), (calls, time_s) in times.items():
        least, most, moved = sizes.get((call, site), (0.0, 0.0, 0.0))
        span = (least, most) if (call, site) in sizes else None
        mix.append(_mix(call, len(tasks), calls, moved, time_s, span))
    note = "read from mpiP: a row is a call site; it does not tell nodes or peers"
    none = "it has no section on call sites (mpiP -c or -d): only the time in MPI is known"
    ranks = tuple(_rank(rank, hosts.get(rank, ""), *tasks[rank]) for rank in sorted(tasks))
    return _made("mpiP", program, ranks, mix, (note,) if mix else (note, none))


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
_ELEMENT = re.compile(r"<(task|host|perf|cmdline|func)\b([^>]*)>\s*([^<]*)")


def _added(sums: dict[str, tuple[int, float, float]], said: dict[str, str], time_s: float) -> int:
    """Add one call's row to the sums by name; how many calls it tells of."""
    count, moved = int(said["count"]), float(said["bytes"])
    if not (math.isfinite(moved) and math.isfinite(time_s)):
        raise ValueError("its number is none")
    before = sums.get(said["name"], (0, 0.0, 0.0))
    sums[said["name"]] = (before[0] + count, before[1] + moved, before[2] + time_s)
    return count


def ipm_profile(text: str) -> ApplicationProfile:
    """IPM's XML: what each task says, one after the other.

    Raises:
        CannotRun: it has no task.
    """
    ranks: list[RankProfile] = []
    sums: dict[str, tuple[int, float, float]] = {}
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
            elif said["name"].startswith("MPI_"):
                calls += _added(sums, said, float(inner))
        except (KeyError, ValueError) as error:
            raise CannotRun(f"IPM's XML: a {name} is not understood: {error}") from error
    ranks += ended()
    if not ranks:
        raise CannotRun("IPM's XML was expected: it has no task")
    mix = [_mix(name.removeprefix("MPI_"), len(ranks), *one) for name, one in sums.items()]
    note = "read from IPM: it counts the bytes of receiving calls too, and tells no sizes or peers"
    return _made("IPM", program, tuple(sorted(ranks, key=lambda one: one.rank)), mix, (note,))
