"""What an application sends: the time in MPI, the calls, the sizes, the ranks, the peers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter

import msgspec

from fabricgauge.model.application import ApplicationProfile, CallMix, RankProfile
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.words.figures import amount, duration, percent, size
from fabricgauge.words.sentences import counted, listed

#: Rows of a terminal, and of a page.
MOST = {doc.TEXT: 12, doc.PAGE: 200}

HOW = (
    "A message is counted where it is sent: calls that receive or wait have time and no bytes. Time"
    " in MPI includes waiting for other ranks. A size class is named by its smallest size, and is"
    " below twice that."
)

COLUMNS = (
    "call", "kind", "least_bytes", "side", "ranks", "region", "calls", "bytes", "time_s"
)  # fmt: skip


def data(profile: ApplicationProfile, _setting: Setting) -> dict[str, object]:
    """The whole of it, with what follows from it."""
    return identified(
        "profile", "1.0", headline=headline(profile), complete=profile.complete,
        wall_s=profile.wall_s, mpi_share=profile.mpi_share,
        overhead_share=profile.overhead_share, profile=profile,
    )  # fmt: skip


def records(profile: ApplicationProfile, _setting: Setting) -> Records:
    return Records(COLUMNS, (msgspec.structs.astuple(one) for one in profile.mix))


def headline(profile: ApplicationProfile) -> str:
    sent = sum(one.sent_bytes for one in profile.ranks)
    messages = f", {amount(sent)} in messages" if profile.source == "fabricgauge" else ""
    what = (
        f"{profile.program} on {counted(profile.size, 'rank')}, {counted(profile.nodes, 'node')}:"
        f" {percent(profile.mpi_share)} of {duration(profile.wall_s)} in MPI{messages}"
    )
    if profile.complete:
        return what
    endings = {one.ending for one in profile.ranks}
    how = "called MPI_Abort" if "aborted" in endings else "never came to MPI_Finalize"
    seen = "" if len(profile.ranks) == profile.size else f"; {len(profile.ranks)} of them were kept"
    return f"{what}; it {how}, and this is what was recorded until then{seen}"


def document(profile: ApplicationProfile, _setting: Setting) -> doc.Report:
    """The share of time first, then which calls, which sizes, which ranks, to whom."""
    overhead = (
        f"Recording took {duration(profile.overhead_s)} a call, as measured at the start:"
        f" {percent(profile.overhead_share)} of the run."
    )
    return doc.Report(
        word="PROFILE" if profile.complete else "BROKEN OFF",
        tone="" if profile.complete else "warn",
        headline=headline(profile),
        title="fabricgauge profile", about=f"fabricgauge · {profile.program} · {profile.library}",
        under=(doc.Paragraph(overhead),) if profile.overhead_s else (),
        sections=tuple(_sections(profile)),
        closing="KiB is 2¹⁰ and MiB 2²⁰ bytes; MB is 10⁶.",
    )  # fmt: skip


def _sections(profile: ApplicationProfile) -> Iterator[doc.Section]:
    lost = sum(one.lost_calls for one in profile.ranks)
    said = f"{lost:,} calls found no room in their ranks' memory and are left out"
    notes = (*profile.notes, *((said,) if lost else ()))
    yield doc.Section("notes", "Before you believe it", (doc.Items(notes),))
    every_s = sum(one.wall_s for one in profile.ranks) or 1.0
    yield _calls(profile, every_s)
    yield _sizes(profile, every_s)
    yield _regions(profile, every_s)
    yield _ranks(profile.ranks)
    yield _peers(profile)
    yield doc.Section("how", "How to read this", (doc.Paragraph(HOW, kind="soft"),))


def _alike(mix: Iterable[CallMix], *fields: str) -> list[list[CallMix]]:
    """Those that have the same in all ``fields``, in ascending order."""
    key = attrgetter(*fields)
    return [list(some) for _, some in groupby(sorted(mix, key=key), key)]


def _limit(what: str) -> doc.RowLimit:
    return doc.RowLimit(f"and {{count}} more {what}; the JSON report has all", MOST)


def _figures(some: Sequence[CallMix], every_s: float) -> tuple[str, ...]:
    calls, moved = sum(one.calls for one in some), sum(one.bytes for one in some)
    time_s = sum(one.time_s for one in some)
    known = [one for one in some if one.side != "unknown"]
    away = sum(one.bytes for one in known if one.side == "other nodes")
    told = moved and moved == sum(one.bytes for one in known)
    return (
        f"{calls:,}", amount(moved) if moved else "–", percent(away / moved) if told else "–",
        duration(time_s), percent(time_s / every_s),
    )  # fmt: skip


_FIGURES = doc.heads(">calls", ">bytes", ">to other nodes", ">time, all ranks", ">of the run")


def _calls(profile: ApplicationProfile, every_s: float) -> doc.Section:
    found = _alike(profile.mix, "call", "ranks")
    found.sort(key=lambda some: -sum(one.time_s for one in some))
    rows = tuple(
        (f"MPI_{some[0].call}", str(some[0].ranks or "–"), *_figures(some, every_s))
        for some in found
    )
    columns = (*doc.heads("call", ">of ranks"), *_FIGURES)
    table = doc.Table(columns, rows, limit=_limit("calls"))
    return doc.Section("calls", "Calls, by the time in them", (table,))


def _sizes(profile: ApplicationProfile, every_s: float) -> doc.Section:
    sized = [one for one in profile.mix if one.least_bytes is not None]
    rows = tuple(
        (
            f"from {size(some[0].least_bytes or 0)}", _KINDS.get(some[0].kind, some[0].kind),
            *_figures(some, every_s),
        )
        for some in _alike(sized, "least_bytes", "kind")
    )  # fmt: skip
    columns = (*doc.heads("=size of a message", "kind"), *_FIGURES)
    table = doc.Table(columns, rows, limit=doc.RowLimit("and {count} more sizes", {doc.TEXT: 40}))
    return doc.Section("sizes", "Sizes of messages", (table,))


_KINDS = {
    "PointToPoint": "point to point", "Starting": "persistent", "Collective": "collective",
    "OneSided": "one-sided", "Persistent": "persistent",
}  # fmt: skip


def _regions(profile: ApplicationProfile, every_s: float) -> doc.Section:
    rows = tuple(
        (str(some[0].region or "outside of any"), *_figures(some, every_s))
        for some in _alike(profile.mix, "region")
    )
    table = doc.Table((*doc.heads("region"), *_FIGURES), rows if len(rows) > 1 else ())
    return doc.Section("regions", "Regions, as MPI_Pcontrol names them", (table,))


def _ranks(ranks: Sequence[RankProfile]) -> doc.Section:
    """The ranks with the least, the middle and the most time in MPI: what one waits, others do."""
    if not ranks:
        return doc.Section("ranks", "Ranks", ())
    ordered = sorted(((one.mpi_s / (one.wall_s or 1.0), one) for one in ranks), key=itemgetter(0))
    last = len(ordered) - 1
    words = {len(ordered) // 2: "middle", last: "most in MPI", 0: "least in MPI"}
    rows = tuple(
        (
            words[place], str(one.rank), one.host, percent(share), duration(one.wall_s),
            amount(one.sent_bytes), one.ending,
        )
        for place in sorted(words) for share, one in (ordered[place],)
    )  # fmt: skip
    columns = doc.heads("", ">rank", "host", ">in MPI", ">run", ">sent", "ended")
    said = f"Time in MPI is {percent(ordered[0][0])} to {percent(ordered[last][0])} of a rank's"
    said += f" time. Hosts: {listed(sorted({one.host for one in ranks}))}."
    return doc.Section("ranks", "Ranks", (doc.Paragraph(said), doc.Table(columns, rows)))


def _peers(profile: ApplicationProfile) -> doc.Section:
    node = {one.rank: one.node for one in profile.ranks}
    total = sum(one.bytes for one in profile.peers) or 1
    rows = tuple(
        (
            f"{one.origin} → {one.target}",
            "same node" if node.get(one.origin) == node.get(one.target) else "other nodes",
            f"{one.messages:,}", amount(one.bytes), percent(one.bytes / total),
        )
        for one in profile.peers
    )  # fmt: skip
    columns = doc.heads("=from → to", "side", ">messages", ">bytes", ">share")
    table = doc.Table(columns, rows, limit=_limit("pairs"))
    return doc.Section("peers", "Who sends to whom, most bytes first", (table,))


KIND = Kind("profile", document, data, records)
