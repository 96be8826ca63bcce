"""Which interfaces carried the bytes that the benchmark moved?

The proof: each node's interface counters held against the payload that it sent.
"""

from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.judge import foreign, nccl
from fabricgauge.judge.interface import Said, of_networks, worst
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.thresholds import MOVED_AT_ALL
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchTraffic
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.run import IMPORTED, Launch
from fabricgauge.model.verdict import Figure, Outcome
from fabricgauge.words import figures, sentences
from fabricgauge.words.networks import OWN_CHOICE

ID = "path"

#: From this share on the bytes are said to have crossed one interface, and not to be shared.
NEARLY_ALL = 0.9

#: Lines of evidence of one verdict: eight nodes in three launches.
MOST_LINES = 48

_PIN = (
    "pin MPI to the network (MPICH: FI_TCP_IFACE or UCX_NET_DEVICES; Open MPI: --mca"
    " btl_tcp_if_include SUBNET; Intel MPI: FI_TCP_IFACE) and look at `ip route get ADDRESS`"
)

_MORE = (
    "let every launch send more: larger messages (--sizes 64K,1M,4M) or more time (--case-budget)"
)
_COUNT = "let the nodes read /proc/net/dev or the ports' counters, which the path is proved by"
_NAME = "name the network: fabricgauge check --network NAME (fabricgauge discover lists them)"

_PIN_NCCL = (
    "NCCL was given the interface: look at `ip route get ADDRESS from OWN-ADDRESS`; interfaces in"
    " one subnet need rules by source address (ip rule), else all of it leaves by one of them"
)

_PIN_PORTS = (
    "see what took the messages in transports.json of the run; let the MPI have a library for these"
    " ports (UCX_NET_DEVICES, FI_PROVIDER), and look for site settings that override them"
)

_MEMORY = "the ranks share a node, or the MPI used shared memory between them"
_OTHER = (
    "MPI was not bound to the interface (a setting that this MPI does not know or that another"
    " overrides), or the route to the other node leads elsewhere"
)
_LAG = (
    "the interface's counters lag behind or miss part of the traffic (some drivers refresh them"
    " once a second)"
)
_WAIT = (
    "measure longer, so that a counter is behind by little: fabricgauge check --profile full; hold"
    " `ip -s link show NAME` against `ethtool -S NAME`"
)
_BESIDE = "something else on the node sends as well, or MPI uses a second network"

_ONE_RAIL = "MPI did not use all rails: UCX_MAX_RNDV_RAILS is overridden, or its provider takes one"

#: What perftest calls the link of each technology; iWARP runs over Ethernet as well.
_LINK_TYPES = {
    "infiniband": "IB", "roce-v1": "Ethernet", "roce-v2": "Ethernet", "iwarp": "Ethernet",
}  # fmt: skip


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    if subject.run.fabric.simulated:
        return Skipped("simulated: no network carried anything, so there is no path to prove")
    findings = (*_findings(subject), *nccl.judge_paths(subject), *nccl.judge_counters(subject))
    outcome = worst((finding.outcome for finding in findings), empty=Outcome.INCONCLUSIVE)
    decisive = [finding for finding in findings if finding.outcome is outcome]
    shares = [finding.figure for finding in findings if finding.figure is not None]
    # Deciding lines come first; thousands of nodes are not all listed.
    lines = tuple(
        dict.fromkeys(line for finding in (*decisive, *findings) for line in finding.evidence)
    )
    further = len(lines) - MOST_LINES
    used = subject.run.carried_by(subject.name) if outcome is Outcome.INVALID else ""
    by = f"; by its own word {used} carried the messages" if used else ""
    more = (f"{further:,} more such lines follow from the counters in results.jsonl",)
    return Said(
        outcome,
        decisive[0].summary + by if decisive else "no counters were read: the path is unproven",
        min(shares, key=lambda finding: finding.value, default=None),
        subject.threshold("path.share") if shares else None,
        (*lines[:MOST_LINES], *(more if further > 0 else ())),
        _cause(subject, decisive, used),
        "" if outcome is Outcome.PASS else _remedy(subject, decisive),
    )


def _cause(subject: Subject, decisive: Sequence[Said], used: str) -> str:
    """TCP where ports of RDMA were meant, by MPI's own word or by its connections."""
    if used and subject.has_rdma_ports and ("tcp" in used or subject.evidence.over_tcp):
        return f"MPI used TCP ({used}), not the transport of the ports"
    wrong = bool(decisive) and decisive[0].outcome is Outcome.INVALID
    if wrong and subject.has_rdma_ports and subject.evidence.over_tcp:
        return "MPI used TCP, not the transport of the ports: its connections sent the payload"
    return decisive[0].cause if decisive else ""


def _remedy(subject: Subject, decisive: Sequence[Said]) -> str:
    if decisive and decisive[0].remedy:
        return decisive[0].remedy
    if any(curve.suite in SUITES for curve in subject.curves):
        return _PIN_NCCL
    return _PIN_PORTS if subject.has_rdma_ports else _PIN


def _judge_logs(subject: Subject) -> Said | Skipped:
    """Judge logs that name another kind of network than was stated.

    What NCCL says of its own choice is believed, and not proved.
    """
    stated, expected = subject.technology, _LINK_TYPES.get(subject.technology, "")
    for curve in subject.curves:
        link, (name, technology) = curve.evidence.link_type, curve.evidence.technology
        contradiction = ""
        if link in _LINK_TYPES.values() and expected and link != expected:
            contradiction = f"says link type {link}"
        elif technology and stated and technology != stated:
            contradiction = f"names {name} of {technology}"
        if contradiction:
            place = f"{curve.source}:{curve.first_line}"
            return Said(
                Outcome.INVALID,
                f"{place}: the log {contradiction}, the stated network is {subject.name}",
                cause="the log is of another network than the one that was stated",
                remedy='state the one that it says, e.g. --network "100GbE roce" or edr',
            )
    if verdicts := list(nccl.judge_paths(subject)):
        return min(verdicts, key=lambda verdict: verdict.outcome.rank)
    return Skipped(
        "not known: the logs hold no interface counters, so the figures alone must speak"
    )


def is_proved(subject: Subject) -> bool:
    """Check whether the counters show that the bytes crossed the subject's network."""
    findings = _findings(subject)
    fine = (Outcome.PASS, Outcome.WARN, Outcome.SKIPPED)
    return bool(findings) and all(finding.outcome in fine for finding in findings)


def _findings(subject: Subject) -> tuple[Said, ...]:
    """One finding per launch and node that sent enough payload to tell.

    A launch that sent too little leaves a doubt where others proved the path, else the question;
    one that measured suspects again, pinned as those were, or that broke, leaves none.
    """
    least = subject.limit("path.least_payload")
    findings: list[Said] = []
    unproved: list[tuple[Launch, tuple[LaunchTraffic, ...]]] = []
    for launch, launch_evidence in zip(subject.launches, subject.evidence.launches, strict=True):
        enough = [node for node in launch_evidence.moved if node.payload_bytes >= least]
        for node in enough:
            evidence = (*_carried(subject, launch, node), *node.left_out)
            finding = _finding(subject, launch, node)
            findings.append(msgspec.structs.replace(finding, evidence=evidence))
        if not enough and (launch.completed or launch.around):
            unproved.append((launch, launch_evidence.moved))
    return (*findings, *(_too_little(*one, others=bool(findings)) for one in unproved))


def _too_little(launch: Launch, nodes: tuple[LaunchTraffic, ...], *, others: bool) -> Said:
    broke = launch.ended.status not in ("ok", IMPORTED)
    doubt = Outcome.SKIPPED if launch.purpose == "again" or broke else Outcome.WARN
    unseen = any(node.left_out for node in nodes)
    sent = "the counters tell too little" if unseen else "too little payload was sent"
    why = sent if nodes else "no interface counters were read"
    sentence = f"launch {launch.number}: {why} to prove the path"
    evidence = (sentence, *(line for node in nodes for line in node.left_out))
    outcome = doubt if others else Outcome.INCONCLUSIVE
    return Said(
        outcome, sentence, evidence=evidence, remedy=_MORE if nodes and not unseen else _COUNT
    )


def _finding(subject: Subject, launch: Launch, node: LaunchTraffic) -> Said:
    if node.total_bytes < MOVED_AT_ALL * node.payload_bytes:
        if _connected(subject, launch, node):
            sentence = (
                f"the counters of {node.node} did not move, but its TCP connections between"
                f" {subject.name}'s addresses carried the payload to another machine"
            )
            return Said(Outcome.INCONCLUSIVE, sentence, cause=_LAG, remedy=_WAIT)
        sentence = (
            f"the counters of {node.node} did not move with the payload: it went through shared"
        )
        return Said(Outcome.INVALID, f"{sentence} memory", _crossed(0.0), cause=_MEMORY)
    if not isinstance(subject.network, Skipped):
        return _pinned(subject, subject.network, launch, node)
    if subject.name != OWN_CHOICE:
        summary = f"discovery found no network {subject.name}, so no interface was meant"
        return Said(Outcome.INCONCLUSIVE, summary)
    shares = sentences.listed(_network_shares(subject, node))
    return Said(
        Outcome.INCONCLUSIVE,
        f"MPI was free to choose: the figures belong to no single network ({shares})",
        cause="the launch was not pinned to a network",
        remedy=_NAME,
    )


def _connected(subject: Subject, launch: Launch, node: LaunchTraffic) -> bool:
    """Check whether TCP itself counted the payload between the network's addresses.

    Ranks of one machine reach each other's addresses through its memory: then it shows nothing.
    """
    if isinstance(subject.network, Skipped) or not _apart(launch):
        return False
    addresses = (member.ip for member in subject.network.members if member.node == node.node)
    return sum(node.by_address.get(ip, 0) for ip in addresses) >= node.payload_bytes


def _pinned(subject: Subject, network: Network, launch: Launch, node: LaunchTraffic) -> Said:
    """Check whether what was meant carried the payload, and all but nothing went another way."""
    member = network.member(node.node)
    if isinstance(member, Skipped):
        return Said(Outcome.INCONCLUSIVE, member.reason)
    rails = network.rails_of(node.node) if network.has_rdma_ports else (member,)
    carried = {rail.interface: _octets(subject, node, rail) for rail in rails}
    pinned_bytes = sum(carried.values())
    share, least = pinned_bytes / node.total_bytes, subject.limit("path.share")
    if pinned_bytes < least * node.payload_bytes:
        sentence = _elsewhere(node, sentences.listed(list(carried)), share)
        if share >= least and _apart(launch):
            return Said(Outcome.INCONCLUSIVE, sentence, _crossed(share), cause=_LAG, remedy=_WAIT)
        return Said(Outcome.INVALID, sentence, _crossed(share), cause=_OTHER)
    proved = sum(node.by_address.get(rail.ip, 0) for rail in rails) >= node.payload_bytes
    other_bytes = _other_bytes(subject, launch, node)
    if not proved and other_bytes >= node.payload_bytes:
        sentence = (
            f"{sentences.listed(list(carried))} of {node.node} sent {figures.amount(other_bytes)}"
            f" beside the {figures.amount(node.payload_bytes)} of payload: other traffic alone"
            " accounts for its counters"
        )
        return Said(Outcome.INCONCLUSIVE, sentence, cause=foreign.CAUSE, remedy=foreign.REMEDY)
    if share < least:
        outcome = Outcome.WARN if proved else Outcome.INCONCLUSIVE
        sentence = (
            f"{network.name} carried the payload, but {figures.percent(1 - share)} of the bytes"
            f" that {node.node} sent crossed other interfaces"
        )
        return Said(outcome, sentence, _crossed(share), cause=_BESIDE)
    sentence = f"{figures.percent(share)} of the bytes crossed {network.name}"
    if other_bytes >= node.payload_bytes:
        sentence = f"{sentence}; other traffic on {node.node} sent more than the payload"
    if idle := nccl.without_traffic(carried, node.payload_bytes):
        sentence = f"{sentence}, but next to none {sentences.listed(idle)} of {node.node}"
        return Said(Outcome.WARN, sentence, _crossed(share), cause=_ONE_RAIL)
    return Said(Outcome.PASS, sentence, _crossed(share))


def _other_bytes(subject: Subject, launch: Launch, node: LaunchTraffic) -> int:
    """Octets of others that the node sent over the network meanwhile."""
    cases = ((launch, case) for case in launch.completed)
    traffic = foreign.foreign_of(subject, cases).get(node.node)
    return traffic.sent_bytes if traffic else 0


def _apart(launch: Launch) -> bool:
    """Check whether each rank has a machine of its own, so that none shares memory with another."""
    machines = {placement.boot_id for placement in launch.placements}
    nodes = launch.nodes
    return len(machines) == len(launch.placements) and len(set(nodes)) == len(nodes)


def _crossed(share: float) -> Figure:
    return Figure(share, "share", "of the sent bytes crossed the interface that was meant")


def _octets(subject: Subject, node: LaunchTraffic, member: Member) -> int:
    """What a member sent. Frames of RDMA may count on the port's interface, where it has no other
    counter; TCP's are none of them."""
    octets = node.sent_bytes.get(member.interface, 0)
    of = subject.run.fabric.node(node.node)
    if octets or subject.evidence.over_tcp or isinstance(of, Skipped):
        return octets
    names = (str(port.interface) for port in of.rdma_ports if port.name == member.interface)
    return sum(node.sent_bytes.get(name, 0) for name in names)


def _elsewhere(node: LaunchTraffic, meant: str, share: float) -> str:
    busiest = max(node.sent_bytes, key=lambda name: (node.sent_bytes[name], name))
    its_share = node.sent_bytes[busiest] / node.total_bytes
    if busiest == meant:
        return (
            f"only {figures.percent(share)} of the bytes that {node.node} sent crossed {meant},"
            f" {figures.percent(node.sent_bytes[meant] / node.payload_bytes)} of the payload"
        )
    if its_share >= NEARLY_ALL:
        return f"the bytes that {node.node} sent crossed {busiest}, not {meant}"
    return (
        f"the bytes that {node.node} sent were shared: {figures.percent(its_share)} crossed"
        f" {busiest}, {figures.percent(share)} {meant}"
    )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return what counted anything."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, count) for name, count in ordered if count > 0]


def _carried(subject: Subject, launch: Launch, node: LaunchTraffic) -> Sequence[str]:
    """Return what the node's interfaces sent, and its TCP connections where there are any."""
    total, at = max(1, node.total_bytes), f"launch {launch.number}"
    parts = [
        f"{name} {figures.amount(count)} ({figures.percent(count / total)})"
        for name, count in _most_first(node.sent_bytes)
    ]
    counters = (
        f"{at}: rank {node.rank} on {node.node} sent {figures.amount(node.payload_bytes)} of"
        f" payload; its interfaces sent {sentences.listed(parts) or 'nothing'}"
    )
    names = {
        member.ip: network.name
        for network in reversed(subject.run.fabric.networks)
        for member in network.members
        if member.node == node.node
    }
    ways = [
        f"{figures.amount(count)} from {ip} ({names.get(ip, 'no known network')})"
        for ip, count in _most_first(node.by_address)
    ]
    over = (f"{at}: TCP connections of {node.node}: {sentences.listed(ways)}",) if ways else ()
    return (counters, *over)


def _network_shares(subject: Subject, node: LaunchTraffic) -> list[str]:
    names = {
        member.interface: network.name
        for network in subject.run.fabric.networks
        for member in network.members
        if member.node == node.node
    }
    by_network: dict[str, int] = {}
    for interface, count in node.sent_bytes.items():
        name = names.get(interface, interface)
        by_network[name] = by_network.get(name, 0) + count
    shares = _most_first(by_network)
    return [f"{name} {figures.percent(count / node.total_bytes)}" for name, count in shares]
