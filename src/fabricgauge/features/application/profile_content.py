"""Show what an application sends: the time in MPI, the calls, the sizes, the ranks, the peers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter

import msgspec

from fabricgauge.features.application.profile_values import (
    ApplicationProfile,
    CallMix,
    RankProfile,
)
from fabricgauge.model.words.figures import amount, duration, percent, size
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, versioned

#: Most rows of a terminal, and of a page.
MOST = {doc.TEXT: 12, doc.PAGE: 200}

#: mpiP prints twenty.
MOST_SITES = {doc.TEXT: 20, doc.PAGE: 200}

LINE_OF_SITE = (
    "A site is a function and the place of the call in it. If the program was built with -g,"
    " addr2line -e FILE ADDRESS prints its line."
)

HOW = (
    "Only the sender counts a message: calls that receive or wait have time and no bytes. Time in"
    " MPI includes waiting for other ranks. A size class is named by its smallest size and ends"
    " below twice that."
)

COLUMNS = (
    "call", "kind", "least_bytes", "side", "ranks", "region", "calls", "bytes", "time_s", "site",
)  # fmt: skip


def data(profile: ApplicationProfile, _setting: Setting) -> dict[str, object]:
    """Return everything, with what follows from it."""
    return versioned(
        "profile", "1.0", headline=headline(profile), complete=profile.complete,
        wall_s=profile.wall_s, mpi_share=profile.mpi_share,
        overhead_share=profile.overhead_share, profile=profile,
    )  # fmt: skip


def records(profile: ApplicationProfile, _setting: Setting) -> Records:
    return Records(COLUMNS, (msgspec.structs.astuple(mix) for mix in profile.mix))


def headline(profile: ApplicationProfile) -> str:
    sent = sum(rank.sent_bytes for rank in profile.ranks)
    if not profile.ranks and profile.sites:
        calls, sent = (
            sum(getattr(site, name) for site in profile.sites) for name in ("calls", "bytes")
        )
        return f"{counted(len(profile.sites), 'call site')} sent {amount(sent)} in {calls:,} calls"
    messages = f", {amount(sent)} in messages" if profile.source == "fabricgauge" else ""
    sentence = (
        f"{profile.program} on {counted(profile.size, 'rank')}, {counted(profile.nodes, 'node')}:"
        f" {percent(profile.mpi_share)} of {duration(profile.wall_s)} in MPI{messages}"
    )
    if profile.complete:
        return sentence
    endings = {rank.ending for rank in profile.ranks}
    ending = "called MPI_Abort" if "aborted" in endings else "never reached MPI_Finalize"
    kept_ranks = (
        "" if len(profile.ranks) == profile.size else f"; {len(profile.ranks)} of them were kept"
    )
    return f"{sentence}; it {ending}, and this is what was recorded until then{kept_ranks}"


def document(profile: ApplicationProfile, _setting: Setting) -> doc.Report:
    """Show the share of time first, then calls, sizes, ranks and peers."""
    overhead = (
        f"Recording took {duration(profile.overhead_s)} per call, measured at the start:"
        f" {percent(profile.overhead_share)} of the run."
    )
    return doc.Report(
        word="PROFILE" if profile.complete else "INCOMPLETE",
        tone="" if profile.complete else "warn",
        headline=headline(profile),
        title="fabricgauge profile", about=f"fabricgauge · {profile.program} · {profile.library}",
        under=(doc.Paragraph(overhead),) if profile.overhead_s else (),
        sections=tuple(_sections(profile)),
        closing="KiB is 2¹⁰ and MiB 2²⁰ bytes; MB is 10⁶.",
    )  # fmt: skip


def _sections(profile: ApplicationProfile) -> Iterator[doc.Section]:
    lost = sum(rank.lost_calls for rank in profile.ranks)
    loss = f"{lost:,} calls did not fit into their ranks' memory and are left out"
    notes = (*profile.notes, *((loss,) if lost else ()))
    yield doc.Section("notes", "Caveats", (doc.Items(notes),))
    every_s = sum(rank.wall_s for rank in profile.ranks)
    yield _calls(profile, every_s)
    yield _sizes(profile, every_s)
    yield _sites(profile)
    yield _regions(profile, every_s)
    yield _ranks(profile.ranks)
    yield _peers(profile)
    yield doc.Section("how", "How to read this", (doc.Paragraph(HOW, kind="soft"),))


def _group_mixes(mix: Iterable[CallMix], *fields: str) -> list[list[CallMix]]:
    """Group the mixes that agree in all ``fields``, in ascending order."""
    key = attrgetter(*fields)
    return [list(mixes) for _, mixes in groupby(sorted(mix, key=key), key)]


def _limit(noun: str) -> doc.RowLimit:
    return doc.RowLimit(f"and {{count}} more {noun}; the JSON report has all", MOST)


def _figures(mixes: Sequence[CallMix], every_s: float) -> tuple[str, ...]:
    calls, moved = sum(mix.calls for mix in mixes), sum(mix.bytes for mix in mixes)
    time_s = sum(mix.time_s for mix in mixes)
    placed = [mix for mix in mixes if mix.side != "unknown"]
    away = sum(mix.bytes for mix in placed if mix.side == "other nodes")
    complete = moved and moved == sum(mix.bytes for mix in placed)
    return (
        f"{calls:,}", amount(moved) if moved else "–", percent(away / moved) if complete else "–",
        *((duration(time_s), percent(time_s / every_s)) if every_s else ("–", "–")),
    )  # fmt: skip


_FIGURES = doc.heads(">calls", ">bytes", ">to other nodes", ">time, all ranks", ">of the run")


def _calls(profile: ApplicationProfile, every_s: float) -> doc.Section:
    groups = _group_mixes(profile.mix, "call", "ranks")
    groups.sort(
        key=lambda mixes: (-sum(mix.time_s for mix in mixes), -sum(mix.bytes for mix in mixes))
    )
    rows = tuple(
        (f"MPI_{mixes[0].call}", str(mixes[0].ranks or "–"), *_figures(mixes, every_s))
        for mixes in groups
    )
    columns = (*doc.heads("call", ">of ranks"), *_FIGURES)
    table = doc.Table(columns, rows, limit=_limit("calls"))
    return doc.Section("calls", "Calls, by the time in them", (table,))


def _sizes(profile: ApplicationProfile, every_s: float) -> doc.Section:
    sized = [mix for mix in profile.mix if mix.least_bytes is not None]
    rows = tuple(
        (
            f"from {size(mixes[0].least_bytes or 0)}", _KINDS.get(mixes[0].kind, mixes[0].kind),
            *_figures(mixes, every_s),
        )
        for mixes in _group_mixes(sized, "least_bytes", "kind")
    )  # fmt: skip
    columns = (*doc.heads("=size of a message", "kind"), *_FIGURES)
    table = doc.Table(columns, rows, limit=doc.RowLimit("and {count} more sizes", {doc.TEXT: 40}))
    return doc.Section("sizes", "Sizes of messages", (table,))


def _sites(profile: ApplicationProfile) -> doc.Section:
    recorded = any(site.path for site in profile.sites)
    rows = tuple(
        (
            f"MPI_{site.call}", site.site, f"{site.calls:,}", amount(site.bytes),
            amount(site.mean_bytes), percent(site.sent_share),
            *((duration(site.time_s), site.path.rsplit("/", 1)[-1], hex(site.address))
              if recorded else ()),
        )
        for site in profile.sites
    )  # fmt: skip
    of_file = doc.heads(">time, all ranks", "=file", ">address") if recorded else ()
    columns = (*doc.heads("call", "=site", ">calls", ">bytes", ">average", ">of bytes sent"),
               *of_file)  # fmt: skip
    limit = doc.RowLimit("and {count} more sites; the JSON report has all", MOST_SITES)
    blocks: list[doc.Block] = [doc.Table(columns, rows, limit=limit)]
    if recorded:
        blocks.append(doc.Paragraph(LINE_OF_SITE, kind="soft"))
    return doc.Section("sites", "Call sites, by the bytes that they sent", tuple(blocks))


_KINDS = {
    "PointToPoint": "point to point", "Starting": "persistent", "Collective": "collective",
    "OneSided": "one-sided", "Persistent": "persistent",
}  # fmt: skip


def _regions(profile: ApplicationProfile, every_s: float) -> doc.Section:
    rows = tuple(
        (str(mixes[0].region or "outside of any"), *_figures(mixes, every_s))
        for mixes in _group_mixes(profile.mix, "region")
    )
    table = doc.Table((*doc.heads("region"), *_FIGURES), rows if len(rows) > 1 else ())
    return doc.Section("regions", "Regions, as MPI_Pcontrol names them", (table,))


def _ranks(ranks: Sequence[RankProfile]) -> doc.Section:
    """Show the ranks with the least, the middle and the most time in MPI.

    A rank that waits for others has more time in MPI.
    """
    if not ranks:
        return doc.Section("ranks", "Ranks", ())
    ordered = sorted(
        ((rank.mpi_s / (rank.wall_s or 1.0), rank) for rank in ranks), key=itemgetter(0)
    )
    last = len(ordered) - 1
    words = {len(ordered) // 2: "middle", last: "most in MPI", 0: "least in MPI"}
    rows = tuple(
        (
            words[place], str(rank.rank), rank.host, percent(share), duration(rank.wall_s),
            amount(rank.sent_bytes), rank.ending,
        )
        for place in sorted(words) for share, rank in (ordered[place],)
    )  # fmt: skip
    columns = doc.heads("", ">rank", "host", ">in MPI", ">run", ">sent", "ended")
    summary = f"Time in MPI is {percent(ordered[0][0])} to {percent(ordered[last][0])} of a rank's"
    summary += f" time. Hosts: {listed(sorted({rank.host for rank in ranks}))}."
    return doc.Section("ranks", "Ranks", (doc.Paragraph(summary), doc.Table(columns, rows)))


def _peers(profile: ApplicationProfile) -> doc.Section:
    node = {rank.rank: rank.node for rank in profile.ranks}
    total = sum(peer.bytes for peer in profile.peers) or 1
    rows = tuple(
        (
            f"{peer.origin} → {peer.target}",
            "same node" if node.get(peer.origin) == node.get(peer.target) else "other nodes",
            f"{peer.messages:,}", amount(peer.bytes), percent(peer.bytes / total),
        )
        for peer in profile.peers
    )  # fmt: skip
    columns = doc.heads("=from → to", "side", ">messages", ">bytes", ">share")
    table = doc.Table(columns, rows, limit=_limit("pairs"))
    return doc.Section("peers", "Pairs of ranks, most bytes first", (table,))


KIND = Kind("profile", document, data, records)
