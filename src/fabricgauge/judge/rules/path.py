"""Which interfaces carried the bytes that the benchmark moved?

The proof: each node's interface counters held against the payload that it sent.
"""

from collections.abc import Sequence

import msgspec

from fabricgauge.judge.interface import Context, verdict_on, worst
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import Moved
from fabricgauge.model.fabric import Network
from fabricgauge.model.run import IMPORTED, Launch
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.words import figures, sentences

ID = "path"
TITLE = "The bytes crossed the network that was meant"

#: Lines of evidence of one verdict: eight nodes in three launches.
MOST_LINES = 48

_PIN = (
    "pin MPI to the network (MPICH: FI_TCP_IFACE or UCX_NET_DEVICES; Open MPI: --mca"
    " btl_tcp_if_include SUBNET; Intel MPI: FI_TCP_IFACE) and look at `ip route get ADDRESS`"
)

#: Below this share of the payload the counters "did not move": it went through memory.
MOVED_AT_ALL = 0.5

_CROSSED = "of the sent bytes crossed the interface that was meant"
_MEMORY = "the ranks share a node, or the MPI used shared memory between them"
_OTHER = (
    "MPI was not bound to the interface (a setting that this MPI does not know or that another"
    " overrides), or the route to the other node leads elsewhere"
)


class PathFinding(msgspec.Struct, frozen=True):
    """What one node's counters say of one launch; ``share`` is the meant interface's."""

    outcome: Outcome
    summary: str
    evidence: tuple[str, ...]
    share: float | None = None
    cause: str = ""


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        other = _other_network(subject)
        if other:
            return verdict_on(
                ID, Outcome.INVALID, subject.about, other,
                cause="the log is of another network than the one that was stated",
                remedy='state the one that it says, e.g. --network "100GbE roce" or edr',
            )  # fmt: skip
        return verdict_on(
            ID, Outcome.SKIPPED, subject.about,
            "not known: the logs hold no interface counters, so the figures alone must speak",
        )  # fmt: skip
    if context.run.fabric.simulated:
        return verdict_on(
            ID, Outcome.SKIPPED, subject.about,
            "simulated: no network carried anything, so there is no path to prove",
        )  # fmt: skip
    found = findings(context, subject)
    outcome = worst([finding.outcome for finding in found], empty=Outcome.INCONCLUSIVE)
    decisive = [finding for finding in found if finding.outcome is outcome]
    shares = [finding.share for finding in found if finding.share is not None]
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=decisive[0].summary if decisive else "no counters were read: the path is unproven",
        figure=Figure(min(shares), "share", _CROSSED) if shares else None,
        threshold=context.thresholds.threshold("path.share", "at least") if shares else None,
        evidence=_evidence(decisive, found),
        cause=next((finding.cause for finding in decisive), ""),
        remedy="" if outcome is Outcome.PASS else _PIN,
    )


def _evidence(decisive: Sequence[PathFinding], found: Sequence[PathFinding]) -> tuple[str, ...]:
    """What decides comes first; of thousands of nodes not everything is told."""
    lines = tuple(dict.fromkeys(line for one in (*decisive, *found) for line in one.evidence))
    if len(lines) <= MOST_LINES:
        return lines
    left = f"{len(lines) - MOST_LINES:,} more such lines follow from the counters in results.jsonl"
    return (*lines[:MOST_LINES], left)


def findings(context: Context, subject: Subject) -> tuple[PathFinding, ...]:
    """One finding per launch and node that sent enough payload to tell.

    A launch that sent too little leaves a doubt where others proved the path, else the question;
    one that measured suspects again, pinned as those were, or that broke, leaves none.
    """
    found: list[PathFinding] = []
    unproved: list[tuple[Launch, tuple[Moved, ...]]] = []
    for launch, seen in zip(subject.launches, subject.evidence.launches, strict=True):
        nodes = seen.moved
        enough = [
            node for node in nodes if node.payload_bytes >= context.limit("path.least_payload")
        ]
        found += [_finding(context, subject, launch, node) for node in enough]
        if not enough and (launch.completed or launch.around):
            unproved.append((launch, nodes))
    return (*found, *(_too_little(*one, others=bool(found)) for one in unproved))


def _too_little(launch: Launch, nodes: tuple[Moved, ...], *, others: bool) -> PathFinding:
    broke = launch.ended.status not in ("ok", IMPORTED)
    doubt = Outcome.SKIPPED if launch.purpose == "again" or broke else Outcome.WARN
    outcome = doubt if others else Outcome.INCONCLUSIVE
    left_out = tuple(line for node in nodes for line in node.left_out)
    why = "too little payload was sent" if nodes else "no interface counters were read"
    return PathFinding(
        outcome, f"launch {launch.number}: {why} to prove the path",
        (f"launch {launch.number}: {why} to prove the path", *left_out),
    )  # fmt: skip


def _finding(context: Context, subject: Subject, launch: Launch, node: Moved) -> PathFinding:
    evidence = (*_carried(context, launch, node), *node.left_out)
    if node.total_bytes < MOVED_AT_ALL * node.payload_bytes:
        return PathFinding(
            Outcome.INVALID,
            f"the counters of {node.node} did not move with the payload: it went through shared"
            " memory",
            evidence, 0.0, _MEMORY,
        )  # fmt: skip
    if isinstance(subject.network, Skipped):
        return _free_choice(context, subject, node, evidence)
    return _pinned(context, subject.network, node, evidence)


def _free_choice(
    context: Context, subject: Subject, node: Moved, evidence: tuple[str, ...]
) -> PathFinding:
    if subject.pinned:
        summary = f"discovery found no network {subject.name}, so no interface was meant"
        return PathFinding(Outcome.INCONCLUSIVE, summary, evidence)
    shares = sentences.listed(_network_shares(context, node))
    return PathFinding(
        Outcome.INCONCLUSIVE,
        f"MPI was free to choose: the figures belong to no single network ({shares})",
        evidence,
        cause="the launch was not pinned to a network",
    )


def _pinned(
    context: Context, network: Network, node: Moved, evidence: tuple[str, ...]
) -> PathFinding:
    member = network.member(node.node)
    if isinstance(member, Skipped):
        return PathFinding(Outcome.INCONCLUSIVE, member.reason, evidence)
    meant = node.sent_bytes.get(member.interface, 0)
    share, least = meant / node.total_bytes, context.limit("path.share")
    covers = meant >= least * node.payload_bytes
    if share >= least and covers:
        summary = f"{figures.percent(share)} of the bytes crossed {network.name}"
        return PathFinding(Outcome.PASS, summary, evidence, share)
    if covers:
        return _beside(network, node, share, evidence)
    return PathFinding(
        Outcome.INVALID, _elsewhere(node, member.interface, share), evidence, share, _OTHER
    )


def _beside(network: Network, node: Moved, share: float, evidence: tuple[str, ...]) -> PathFinding:
    """The payload is accounted for, but other interfaces were not silent."""
    member = network.member(node.node)
    ip = "" if isinstance(member, Skipped) else member.ip
    proved = node.by_address.get(ip, 0) >= node.payload_bytes
    summary = (
        f"{network.name} carried the payload, but {figures.percent(1 - share)} of the bytes that"
        f" {node.node} sent crossed other interfaces"
    )
    return PathFinding(
        Outcome.WARN if proved else Outcome.INCONCLUSIVE, summary, evidence, share,
        "something else on the node sends as well, or MPI uses a second network",
    )  # fmt: skip


def _elsewhere(node: Moved, meant: str, share: float) -> str:
    busiest = max(node.sent_bytes, key=lambda name: (node.sent_bytes[name], name))
    its_share = node.sent_bytes[busiest] / node.total_bytes
    if busiest == meant:
        return (
            f"only {figures.percent(share)} of the bytes that {node.node} sent crossed {meant},"
            f" {figures.percent(node.sent_bytes[meant] / node.payload_bytes)} of the payload"
        )
    if its_share >= 0.9:
        return f"the bytes that {node.node} sent crossed {busiest}, not {meant}"
    return (
        f"the bytes that {node.node} sent were shared: {figures.percent(its_share)} crossed"
        f" {busiest}, {figures.percent(share)} {meant}"
    )


def _carried(context: Context, launch: Launch, node: Moved) -> tuple[str, ...]:
    total = max(1, node.total_bytes)
    parts = [
        f"{name} {figures.amount(count)} ({figures.percent(count / total)})"
        for name, count in sorted(node.sent_bytes.items(), key=lambda item: (-item[1], item[0]))
        if count > 0
    ]
    counters = (
        f"launch {launch.number}: rank {node.rank} on {node.node} sent"
        f" {figures.amount(node.payload_bytes)} of payload; its interfaces sent"
        f" {sentences.listed(parts) or 'nothing'}"
    )
    return (counters, *_connections(context, launch, node))


def _connections(context: Context, launch: Launch, node: Moved) -> tuple[str, ...]:
    parts = [
        f"{figures.amount(count)} from {ip} ({_network_of(context, node.node, ip)})"
        for ip, count in sorted(node.by_address.items(), key=lambda item: (-item[1], item[0]))
        if count > 0
    ]
    if not parts:
        return ()
    return (f"launch {launch.number}: TCP connections of {node.node}: {sentences.listed(parts)}",)


def _network_of(context: Context, node: str, ip: str) -> str:
    for network in context.run.fabric.networks:
        for member in network.members:
            if (member.node, member.ip) == (node, ip):
                return network.name
    return "no known network"


def _network_shares(context: Context, node: Moved) -> list[str]:
    names = {
        member.interface: network.name
        for network in context.run.fabric.networks
        for member in network.members
        if member.node == node.node
    }
    by_network: dict[str, int] = {}
    for interface, count in node.sent_bytes.items():
        name = names.get(interface, interface)
        by_network[name] = by_network.get(name, 0) + count
    ordered = sorted(by_network.items(), key=lambda item: (-item[1], item[0]))
    return [
        f"{name} {figures.percent(count / node.total_bytes)}" for name, count in ordered if count
    ]


#: What perftest calls the link of each technology; iWARP runs over Ethernet as well.
_LINK_TYPES = {
    "infiniband": "IB", "roce-v1": "Ethernet", "roce-v2": "Ethernet", "iwarp": "Ethernet",
}  # fmt: skip


def _other_network(subject: Subject) -> str:
    """Where a log says itself that it is of another kind of link than was stated."""
    network = subject.network
    expected = "" if isinstance(network, Skipped) else _LINK_TYPES.get(network.technology, "")
    for one in subject.curves:
        said, (name, technology) = one.evidence.link_type, one.evidence.technology
        where = f"{one.source}:{one.first_line}"
        if said in _LINK_TYPES.values() and expected and said != expected:
            return f"{where}: the log says link type {said}, the stated network is {subject.name}"
        stated = "" if isinstance(network, Skipped) else network.technology
        if technology and stated and technology != stated:
            said = f"{name} of {technology}"
            return f"{where}: the log names {said}, the stated network is {subject.name}"
    return ""


def is_proved(context: Context, subject: Subject) -> bool:
    """Whether the counters show that the bytes crossed the subject's network."""
    found = findings(context, subject)
    fine = (Outcome.PASS, Outcome.WARN, Outcome.SKIPPED)
    return bool(found) and all(finding.outcome in fine for finding in found)
