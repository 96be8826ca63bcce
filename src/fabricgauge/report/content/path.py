"""Prove the path: what each interface carried, and where each rank ran."""

from collections.abc import Iterator, Sequence

from msgspec.structs import astuple

from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import InterfaceTraffic, NodeTraffic, Traffic, WireLedger
from fabricgauge.model.judged import Judged
from fabricgauge.model.pattern import words_of
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import amount, percent, ratio, size
from fabricgauge.model.words.networks import is_loopback, named
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.inventory import number

#: Most nodes with rows on a page; more make it slow to open.
MOST_NODES = 64
#: Most nodes on a terminal; it prefers the nodes with the weakest path proof.
MOST_PATHS = 16
#: Most lines on the wire's time on a page.
MOST_WIRES = 64

_HOW = (
    "Each interface's counts, summed over all completed cases, with warm-up and control messages;"
    " errors and drops are those of all cases. Interfaces at which no path ends (members of a bond"
    " or bridge, a VLAN's part of its parent, an adapter's port under a TCP connection) are left"
    " out. Shares refer to everything that the node sent."
)


def paths(judged: Judged) -> Iterator[doc.Section]:
    """Show the bytes sent on a screen, and all counters on a page."""
    groups = judged.evidence.traffic
    is_large = len(judged.run.fabric.nodes) > MOST_PATHS
    selection = f", {MOST_PATHS} nodes with the least share" if is_large else ""
    title = f"Path: bytes sent by each interface during the cases{selection}"
    rows = tuple(
        (
            named(group.network), node.node,
            f"{crossing.interface} ({', '.join(crossing.serves) or 'no network'})",
            amount(crossing.sent_bytes),
            _share(crossing),
        )
        for group in groups if not is_loopback(group.network)
        for node in _least_shares(group.nodes, MOST_PATHS)
        for crossing in node.crossings
    )  # fmt: skip
    table = doc.Table(doc.heads("pinned to", "node", "interface", "sent", "share"), rows)
    yield doc.Section("sent", title, (table,), on=doc.SCREEN)
    blocks = tuple(block for group in groups for block in _group(group))
    blocks = blocks or (doc.Paragraph("No counters were read."),)
    yield doc.Section("path", "Path proof", blocks, nav="Path", intro=_HOW, on=doc.PAGE)


def _least_shares(nodes: Sequence[NodeTraffic], limit: int) -> Sequence[NodeTraffic]:
    """Return all nodes, or the ``limit`` nodes that sent least over the pinned network."""
    if len(nodes) <= limit:
        return nodes
    return sorted(nodes, key=lambda node: node.pinned_share)[:limit]


def _share(traffic: InterfaceTraffic) -> str:
    return traffic.share.reason if isinstance(traffic.share, Skipped) else percent(traffic.share)


def _group(group: Traffic) -> Iterator[doc.Block]:
    launches = counted(group.launches, "launch", "launches")
    yield doc.Heading(f"Pinned to: {named(group.network)} ({launches})")
    nodes = _least_shares(group.nodes, MOST_NODES)
    for node in nodes:
        parts = (
            (f"{crossing.interface} {percent(crossing.share)}", crossing.share, crossing.pinned)
            for crossing in node.crossings
            if not isinstance(crossing.share, Skipped) and crossing.share >= 0.001
        )
        yield doc.ShareBar(node.node, tuple(parts))
    heads = (">sent", ">received", ">share of sent", ">sent ÷ payload", ">errors", ">dropped")
    crossings = [(node, crossing) for node in nodes for crossing in node.crossings]
    rows = tuple(
        (
            node.node, crossing.interface, ", ".join(crossing.serves) or "none",
            amount(crossing.sent_bytes),
            amount(crossing.received_bytes), _share(crossing),
            ratio(crossing.sent_bytes / node.payload_bytes) if node.payload_bytes else "no payload",
            str(crossing.errors), str(crossing.dropped),
        )
        for node, crossing in crossings
    )  # fmt: skip
    marked = frozenset(place for place, (_, crossing) in enumerate(crossings) if crossing.pinned)
    yield doc.Table(doc.heads("node", "interface", "network", *heads), rows, marked=marked)
    if len(group.nodes) > MOST_NODES:
        remark = (
            f"The {MOST_NODES} of {len(group.nodes):,} nodes that sent least of their traffic over"
            " the pinned network; the others' counters are in results.jsonl."
        )
        yield doc.Paragraph(remark, kind="caution")


#: Least payload share of a stream; a direction with less carries acknowledgements.
WIRE_LEAST = 0.01
#: Least share of a printed part, and most streams in text.
LEAST_PART, MOST_LOW = 0.001, 6

_WIRE = (
    "Shares of the line rate in the direction of the stream, over whole cases, with warm-up and the"
    " agreements between blocks. Estimates: headers and acknowledgements are TCP's segments times"
    " the bytes of a frame without payload, preamble and gap included; MPI's own are TCP's bytes"
    " beyond the payload; other are the interface's bytes beyond all of these."
)


_PARTS = ("payload", "headers", "acknowledgements", "resent", "MPI's own", "other", "idle")


def _stream_ledgers(judged: Judged) -> list[WireLedger]:
    """Return the ledgers of large messages, in the direction of the stream."""
    return [
        ledger
        for ledger in judged.ledgers
        if ledger.message_bytes >= judged.sustained_bytes and ledger.shares.payload >= WIRE_LEAST
    ]


def wire_of_slow_streams(judged: Judged) -> doc.Section:
    """Describe in text each stream that does not pass, at its largest messages.

    The visible parts come first with the largest.
    """
    low = {
        (verdict.about.network, verdict.about.series, frozenset(verdict.about.names))
        for verdict in judged.verdicts
        if verdict.rule == "fraction" and verdict.outcome not in (Outcome.PASS, Outcome.SKIPPED)
    }
    paragraphs: dict[tuple[str, str, str], doc.Paragraph] = {}
    for ledger in sorted(_stream_ledgers(judged), key=lambda ledger: ledger.message_bytes):
        if (ledger.network, ledger.pattern, frozenset((ledger.origin, ledger.target))) in low:
            parts = sorted(zip(astuple(ledger.shares), _PARTS, strict=True), reverse=True)
            visible_parts = ", ".join(
                f"{n} {percent(part)}" for part, n in parts if part >= LEAST_PART
            )
            stream = f"{named(ledger.network)}, {words_of(ledger.pattern).sentence}"
            place = f"from {ledger.sender} at {size(ledger.message_bytes)}"
            text = f"{stream} {place}: {visible_parts} of the line rate."
            paragraphs[ledger.network, ledger.pattern, ledger.sender] = doc.Paragraph(text)
    blocks = tuple(paragraphs.values())[:MOST_LOW]
    return doc.Section("", "Where the wire's time went", blocks, on=doc.TEXT)


def wire(judged: Judged) -> doc.Section:
    """Show where the wire's time went, one line for each stream of large messages over TCP."""
    rows = tuple(
        (
            named(ledger.network), words_of(ledger.pattern).sentence, ledger.sender,
            size(ledger.message_bytes), *map(percent, astuple(ledger.shares)),
        )
        for ledger in _stream_ledgers(judged)
    )  # fmt: skip
    columns = (*doc.heads("network", "stream", "from"), *doc.figure_heads("size", *_PARTS))
    remark = f"The first {MOST_WIRES} of {len(rows):,}; all are in the JSON report (wire)."
    table = doc.Table(columns, rows, limit=doc.RowLimit(remark, {doc.PAGE: MOST_WIRES}))
    title = "Where the wire's time went"
    return doc.Section("wire", title, (table,), intro=_WIRE, on=doc.PAGE)


_PLACED = (
    ">launch", ">rank", "host", "processors allowed", ">on processor", ">NUMA node", ">pid",
    "network namespace", "interface", "boot id",
)  # fmt: skip


def placement(judged: Judged) -> doc.Section:
    """Show each rank's own view of its place."""
    rows = tuple(
        (
            str(placed.launch), str(rank.rank), rank.host, rank.cpus_allowed, number(rank.cpu),
            number(rank.numa_node), str(rank.pid), rank.net_namespace,
            rank.interface or "not pinned", rank.boot_id,
        )
        for placed in judged.evidence.placed for rank in placed.ranks[:MOST_NODES]
    )  # fmt: skip
    blocks: list[doc.Block] = [doc.Table(doc.heads(*_PLACED), rows)]
    if any(len(placed.ranks) > MOST_NODES for placed in judged.evidence.placed):
        remark = f"The first {MOST_NODES} ranks of each launch; all are in results.jsonl and in the"
        blocks.append(doc.Paragraph(f"{remark} JSON report.", kind="caution"))
    title, intro = "Placement", "Each rank's own view of its place."
    return doc.Section("placement", title, tuple(blocks), nav=title, intro=intro, on=doc.PAGE)
