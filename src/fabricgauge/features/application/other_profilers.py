"""Read reports of mpiP and IPM, and published tables of call sites, as profiles.

They have totals per call, without the place of peers.

Sources: mpiP 3.5 User Guide, "mpiP Output"; reports of mpiP 3.5.0 and IPM 2.0.6, recorded under
Open MPI 4.1. Other lines are skipped.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from fabricgauge.features.application.profile_values import (
    ApplicationProfile,
    CallKind,
    CallMix,
    CallSite,
    RankProfile,
)
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.reference import Reference

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
_SECTION = re.compile(r"^@--- ([^(:\n]*?) *(?=[(:\n]|\Z)", re.MULTILINE)
_TASK = re.compile(
    rf"^[ \t]*(\d+)[ \t]+({_NUMBER})[ \t]+({_NUMBER})[ \t]+{_NUMBER}[ \t]*$", re.MULTILINE
)
_HOST = re.compile(r"^@ MPI Task Assignment[ \t]*:[ \t]*(\d+) (\S+)", re.MULTILINE)
_COMMAND = re.compile(r"^@ Command[ \t]*: (\S+)", re.MULTILINE)
#: A call site's row of a table of totals: name, site, then time, two shares and calls.
_TOTAL = re.compile(
    rf"^(\w+)[ \t]+(\d+)[ \t]+({_NUMBER})[ \t]+{_NUMBER}[ \t]+{_NUMBER}[ \t]+(\d+)[ \t]",
    re.MULTILINE,
)
#: The same of its statistics: name, site, all ranks, calls, largest, mean, least, perhaps a sum.
_SITE = re.compile(
    rf"^(\w+)[ \t]+(\d+)[ \t]+\*[ \t]+(\d+)[ \t]+({_NUMBER})[ \t]+({_NUMBER})[ \t]+({_NUMBER})"
    rf"(?:[ \t]+({_NUMBER}))?",
    re.MULTILINE,
)
_SENT = ("Callsite Message Sent statistics", "Callsite RMA statistics")

#: mpiP prints sizes from 10,000 on with four digits: 262,144 is 2.621e+05.
_EXACT_BELOW, _ROUNDED_BY = 10_000, 5e-4


def _mix(
    call: str, ranks: int, calls: int, moved: float, time_s: float, sizes: Sequence[float],
    site: str = "",
) -> CallMix:  # fmt: skip
    """Return a call's totals, with a class of sizes if the least and the largest share one."""
    # The largest size that is printed so counts: a power of two must stay in its class.
    unrounded = (size * (1 + _ROUNDED_BY) if size >= _EXACT_BELOW else size for size in sizes)
    classes = {int(size).bit_length() for size in unrounded}
    least = 1 << classes.pop() >> 1 if len(classes) == 1 else None
    kind = next(kind for form, kind in _KINDS if re.match(form, call, re.IGNORECASE))
    within = ranks if kind == "Collective" else 0
    return CallMix(call, kind, least, "unknown", within, 0, calls, int(moved), time_s, site)


#: Notes on a report: the first on each, the second only on one without sizes.
_MPIP_NOTES = (
    "read from mpiP: a row is a call site; it does not name nodes or peers",
    "it has no section on call sites (mpiP -d): the twenty with most time alone, no sizes",
)
_SECTION_NOTE = (
    "read from mpiP's section on sent messages alone: no times, ranks or nodes; the sites are the"
    " largest ones"
)
SENT_SECTION = "Aggregate Sent Message Size"
#: A site's row there: name, site, calls, sum, mean, share in percent.
_SENT_ROW = re.compile(
    rf"^[ \t]*(\w+)[ \t]+(\d+)[ \t]+({_NUMBER})[ \t]+({_NUMBER})[ \t]+({_NUMBER})"
    rf"[ \t]+({_NUMBER})[ \t]*$", re.MULTILINE,
)  # fmt: skip
_IPM_NOTES = (
    "read from IPM: it rounds sizes down by up to a fifth, and does not name nodes",
    "it has no sizes: IPM_LOG=full adds them",
)


def mpip_profile(text: str) -> ApplicationProfile:
    """Read a report of mpiP.

    Its section on sent messages alone suffices.

    Raises:
        CannotRun: it has no section of times by task; a concise report has none.
    """
    parts = _SECTION.split(text)
    sections = defaultdict(str, zip(parts[1::2], parts[2::2], strict=True))
    sites = read_sites(sections[SENT_SECTION])
    if sites and MPIP not in text:
        return profile_of_sites("", sites, (_SECTION_NOTE,))
    tasks = {
        int(rank): (float(wall), float(mpi))
        for rank, wall, mpi in _TASK.findall(sections["MPI Time"])
    }
    if not tasks:
        concise = "mpiP's concise report has no times of tasks: run it without -c"
        no_report = "an mpiP report was expected: it has no section MPI Time (seconds)"
        raise CannotRun(concise if "@--- Task Time Statistics" in text else no_report)
    times = {
        (call, site): (int(calls), float(time_ms) * 1e-3)
        for call, site, time_ms, calls in _TOTAL.findall(sections["Aggregate Time"])
    }
    detailed = _SITE.findall(sections["Callsite Time statistics"])
    for call, site, calls, _, mean_ms, *_ in detailed:  # the mean of one call: less exact
        times.setdefault((call, site), (int(calls), int(calls) * float(mean_ms) * 1e-3))
    sizes: dict[tuple[str, str], tuple[float, float, float]] = {}
    for call, site, _, *printed in _SITE.findall("\n".join(sections[name] for name in _SENT)):
        if printed[-1]:
            most, mean, least, moved = map(float, printed)
            # The least size of puts is 0 in 3.5.0 for all sizes.
            sizes[call, site] = (moved, most if mean == most else least, most)
    mix = []
    for (call, site), (count, time_s) in times.items():
        moved, *span = sizes.get((call, site), (0.0,))
        mix.append(_mix(call, len(tasks), count, moved, time_s, span, site))
    hosts = {int(rank): host for rank, host in _HOST.findall(text)}
    ranks = [_rank(rank, hosts.get(rank, ""), *tasks[rank]) for rank in sorted(tasks)]
    command = _COMMAND.search(text)
    program = command[1].rsplit("/", 1)[-1] if command else ""
    profile = _profile("mpiP", program, ranks, mix, _MPIP_NOTES[: 1 if detailed else 2])
    return replace(profile, sites=sites)


def read_sites(section: str) -> tuple[CallSite, ...]:
    """Read mpiP's rows on sent messages, most bytes first."""
    sites = (
        CallSite(call, site, int(float(calls)), float(moved), float(mean), float(share) / 100)
        for call, site, calls, moved, mean, share in _SENT_ROW.findall(section)
    )
    return tuple(sorted(sites, key=lambda site: -site.bytes))


def profile_of_sites(
    program: str, sites: Sequence[CallSite], notes: tuple[str, ...]
) -> ApplicationProfile:
    """Return a profile of which only the call sites of sent messages are known."""
    mix = [
        _mix(site.call, 0, site.calls, site.bytes, 0.0, [site.mean_bytes], site.site)
        for site in sites
    ]
    profile = _profile("mpiP", program, (), mix, notes)
    return replace(profile, sites=tuple(sites))


#: Columns of a published table of call sites.
COLUMNS = ("call", "site", "count", "total (bytes)", "average (bytes)", "sent (%)")


def reference_profile(reference: Reference) -> ApplicationProfile:
    """Return a published table of call sites as an application's profile.

    Raises:
        UsageError: the reference has another table, or none.
    """
    table = reference.table
    if table is None or table.columns != COLUMNS:
        raise UsageError(f"{reference.name} is no table of call sites of a program")
    sites = tuple(
        CallSite(str(call), str(site), int(count), float(moved), float(mean), float(share) / 100)
        for call, site, count, moved, mean, share in table.rows
    )
    notes = (f"published in {reference.provenance}", reference.caveat)
    profile = profile_of_sites(reference.name, sites, notes)
    mix = tuple(  # the size is the printed average
        replace(call, bytes=round(site.calls * site.mean_bytes))
        for call, site in zip(profile.mix, sites, strict=True)
    )
    return replace(profile, library=reference.software, mix=mix)


def _rank(rank: int, host: str = "", wall_s: float = 0.0, mpi_s: float = 0.0) -> RankProfile:
    return RankProfile(rank, rank, host, wall_s, mpi_s, 0, 0, 0, "finalized")


def _profile(
    source: str, program: str, ranks: Sequence[RankProfile], mix: Sequence[CallMix],
    notes: tuple[str, ...],
) -> ApplicationProfile:  # fmt: skip
    """Return the profile; ranks with one host name are on one node."""
    first: dict[str, int] = {}
    placed = tuple(
        replace(call, node=first.setdefault(call.host or str(call.rank), call.rank))
        for call in ranks
    )
    ordered = tuple(sorted(mix, key=lambda call: -call.time_s))
    return ApplicationProfile(
        program, source, len(ranks), 0.0, 0.0, placed, ordered, source=source, notes=notes
    )


_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_ELEMENT = re.compile(r"<(task|host|perf|cmdline|func|hent)\b([^>]*)>\s*([^<]*)")
#: A message is counted where it is sent; IPM counts it again where a receive knows its size.
_RECEIVING = re.compile(r"(i?m?recv|i?m?probe|wait|test)", re.IGNORECASE)

#: Calls, bytes and time by call and, where it is printed, size.
_Sums = dict[tuple[str, int | None], tuple[int, float, float]]


def _added(sums: _Sums, attributes: dict[str, str], inner: str) -> int:
    """Add a row of a function, or of one size of it, to the sums; return its number of calls."""
    sized = "call" in attributes
    call = attributes["call" if sized else "name"]
    count, moved, time_s = (
        int(attributes["count"]),
        float(attributes["bytes"]),
        float(inner.split()[0]),
    )
    if not call.startswith("MPI_"):
        return 0
    if not (math.isfinite(moved) and math.isfinite(time_s)):
        raise ValueError("its number is none")
    call, size = call.removeprefix("MPI_"), int(moved) if sized else None
    if _RECEIVING.match(call):
        moved, size = 0.0, None
    before = sums.get((call, size), (0, 0.0, 0.0))
    moved *= count if sized else 1
    sums[call, size] = (before[0] + count, before[1] + moved, before[2] + time_s)
    return count


def ipm_profile(text: str) -> ApplicationProfile:
    """Read IPM's XML: the tasks follow each other.

    Raises:
        CannotRun: it has no task.
    """
    ranks: list[RankProfile] = []
    functions, sizes = _Sums(), _Sums()  # IPM_LOG=full repeats the calls by size
    program = ""
    for name, printed, inner in _ELEMENT.findall(text):
        attributes = dict(_ATTRIBUTE.findall(printed))
        try:
            if name == "task":
                ranks.append(_rank(int(attributes["mpi_rank"])))
            elif name == "host":
                ranks[-1] = replace(ranks[-1], host=inner.strip())
            elif name == "cmdline":
                program = attributes.get("realpath", inner).rsplit("/", 1)[-1].strip()
            elif name == "perf":
                wall_s, mpi_s = float(attributes["wtime"]), float(attributes["mtime"])
                ranks[-1] = replace(ranks[-1], wall_s=wall_s, mpi_s=mpi_s)
            elif name == "hent":
                _added(sizes, attributes, inner)
            elif count := _added(functions, attributes, inner):
                ranks[-1] = replace(ranks[-1], calls=ranks[-1].calls + count)
        except (KeyError, ValueError, IndexError, OverflowError) as error:
            raise CannotRun(f"IPM's XML: a {name} is not understood: {error}") from error
    if not ranks:
        raise CannotRun("IPM's XML was expected: it has no task")
    mix = [
        _mix(call, len(ranks), *totals, [size] if size else [])
        for (call, size), totals in (sizes or functions).items()
    ]
    notes = _IPM_NOTES[: 1 if sizes else 2]
    return _profile("IPM", program, sorted(ranks, key=lambda rank: rank.rank), mix, notes)
