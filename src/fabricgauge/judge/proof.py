"""The path proof: each node's interface counters held against the payload it sent."""

import msgspec

from fabricgauge.evidence.traffic import Moved, moved
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome
from fabricgauge.words import figures, sentences

#: Below this share of the payload the counters "did not move": it went through memory.
MOVED_AT_ALL = 0.5

_MEMORY = "the ranks share a node, or the MPI used shared memory between them"
_OTHER = (
    "MPI was not bound to the interface (a setting that this MPI does not know or that another"
    " overrides), or the route to the other node leads elsewhere"
)


class Finding(msgspec.Struct, frozen=True):
    """What one node's counters say of one launch; ``share`` is the meant interface's."""

    outcome: Outcome
    summary: str
    evidence: tuple[str, ...]
    share: float | None = None
    cause: str = ""


def findings(context: Context, subject: Subject) -> tuple[Finding, ...]:
    """One finding per launch and node that sent enough payload to tell.

    A launch that sent too little leaves a doubt where others proved the path, else the question;
    one that measured suspects again, pinned as those were, leaves none.
    """
    found: list[Finding] = []
    unproved: list[tuple[Launch, tuple[Moved, ...]]] = []
    for launch in subject.launches:
        nodes = moved(launch, context.run.fabric)
        enough = [
            node for node in nodes if node.payload_bytes >= context.limit("path.least_payload")
        ]
        found += [_finding(context, subject, launch, node) for node in enough]
        if not enough and (launch.completed or launch.around):
            unproved.append((launch, nodes))
    return (*found, *(_too_little(*one, others=bool(found)) for one in unproved))


def _too_little(launch: Launch, nodes: tuple[Moved, ...], *, others: bool) -> Finding:
    doubt = Outcome.SKIPPED if launch.purpose == "again" else Outcome.WARN
    outcome = doubt if others else Outcome.INCONCLUSIVE
    left_out = tuple(line for node in nodes for line in node.left_out)
    why = "too little payload was sent" if nodes else "no interface counters were read"
    return Finding(
        outcome, f"launch {launch.number}: {why} to prove the path",
        (f"launch {launch.number}: {why} to prove the path", *left_out),
    )  # fmt: skip


def _finding(context: Context, subject: Subject, launch: Launch, node: Moved) -> Finding:
    evidence = (*_evidence(context, launch, node), *node.left_out)
    if node.total_bytes < MOVED_AT_ALL * node.payload_bytes:
        return Finding(
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
) -> Finding:
    if subject.pinned:
        summary = f"discovery found no network {subject.name}, so no interface was meant"
        return Finding(Outcome.INCONCLUSIVE, summary, evidence)
    shares = sentences.listed(_network_shares(context, node))
    return Finding(
        Outcome.INCONCLUSIVE,
        f"MPI was free to choose: the figures belong to no single network ({shares})",
        evidence,
        cause="the launch was not pinned to a network",
    )


def _pinned(context: Context, network: Network, node: Moved, evidence: tuple[str, ...]) -> Finding:
    member = network.member(node.node)
    if isinstance(member, Skipped):
        return Finding(Outcome.INCONCLUSIVE, member.reason, evidence)
    meant = node.sent_bytes.get(member.interface, 0)
    share, least = meant / node.total_bytes, context.limit("path.share")
    covers = meant >= least * node.payload_bytes
    if share >= least and covers:
        summary = f"{figures.percent(share)} of the bytes crossed {network.name}"
        return Finding(Outcome.PASS, summary, evidence, share)
    if covers:
        return _beside(network, node, share, evidence)
    return Finding(
        Outcome.INVALID, _elsewhere(node, member.interface, share), evidence, share, _OTHER
    )


def _beside(network: Network, node: Moved, share: float, evidence: tuple[str, ...]) -> Finding:
    """The payload is accounted for, but other interfaces were not silent."""
    member = network.member(node.node)
    ip = "" if isinstance(member, Skipped) else member.ip
    proved = node.by_address.get(ip, 0) >= node.payload_bytes
    summary = (
        f"{network.name} carried the payload, but {figures.percent(1 - share)} of the bytes that"
        f" {node.node} sent crossed other interfaces"
    )
    return Finding(
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


def _evidence(context: Context, launch: Launch, node: Moved) -> tuple[str, ...]:
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


def is_proved(context: Context, subject: Subject) -> bool:
    """Whether the counters show that the bytes crossed the subject's network."""
    found = findings(context, subject)
    fine = (Outcome.PASS, Outcome.WARN, Outcome.SKIPPED)
    return bool(found) and all(finding.outcome in fine for finding in found)
