"""Find the interfaces that carried the benchmark's bytes.

The proof compares each node's interface counters with the payload that it sent.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from fabricgauge.judge import foreign
from fabricgauge.judge.ceiling.technologies import STRIPED, sum_by_network
from fabricgauge.judge.evidence.traffic import without_traffic
from fabricgauge.judge.interface import Subject, judge_networks, worst
from fabricgauge.judge.thresholds import MOVED_AT_ALL
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchTraffic
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.run import IMPORTED, Launch
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.model.words import figures, sentences
from fabricgauge.model.words.networks import OWN_CHOICE

ID = "path"

#: From this share on, one interface counts as the carrier of all bytes.
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
_COUNT = "make /proc/net/dev or the ports' counters readable on the nodes: they prove the path"
_NAME = "name the network: fabricgauge check --network NAME (fabricgauge discover lists them)"

_PIN_NCCL = (
    "NCCL has the right interface, so check the route: `ip route get ADDRESS from OWN-ADDRESS`;"
    " interfaces in one subnet need rules by source address (ip rule), else one of them sends all"
)

_PIN_PORTS = (
    "look up the transports in transports.json of the run; give MPI a library for these ports"
    " (UCX_NET_DEVICES, FI_PROVIDER), and look for site settings that override it"
)

_MEMORY = "the ranks share a node, or the MPI used shared memory between them"
_OTHER = (
    "MPI was not bound to the interface (this MPI does not know the setting, or another setting"
    " overrides it), or the route to the other node leads elsewhere"
)
_ANSWERS = (
    "the other nodes reach its address by another interface: two interfaces of a node answer for"
    " each other's addresses (ARP), or a route leads elsewhere"
)
_SEPARATE = (
    "compare `ip neigh` of the other node with `ip link` of this one; give each network its own"
    " subnet and VLAN, or set net.ipv4.conf.all.arp_ignore=1 and arp_announce=2"
)
_LAG = (
    "the interface's counters lag behind or miss part of the traffic (some drivers refresh them"
    " once a second)"
)
_WAIT = (
    "measure longer, so that the lag matters less: fabricgauge check --profile full; compare"
    " `ip -s link show NAME` with `ethtool -S NAME`"
)
_BESIDE = "another program on the node sends as well, or MPI uses a second network"

_ONE_RAIL = "MPI did not use all rails: UCX_MAX_RNDV_RAILS is overridden, or its provider takes one"

#: The link type that perftest prints for each technology; iWARP runs over Ethernet as well.
_LINK_TYPES = {
    "infiniband": "IB", "roce-v1": "Ethernet", "roce-v2": "Ethernet", "iwarp": "Ethernet",
}  # fmt: skip


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    if subject.run.fabric.simulated:
        return Skipped("simulated: no network carried anything, so there is no path to prove")
    findings = _findings(subject)
    if subject.by_suite:
        from fabricgauge.judge.nccl import judge_counters, judge_paths

        findings = (*findings, *judge_paths(subject), *judge_counters(subject))
    outcome = worst((finding.outcome for finding in findings), empty=Outcome.INCONCLUSIVE)
    decisive = [finding for finding in findings if finding.outcome is outcome]
    shares = [finding.figure for finding in findings if finding.figure is not None]
    # Deciding lines come first; thousands of nodes are not all listed.
    lines = tuple(
        dict.fromkeys(line for finding in (*decisive, *findings) for line in finding.evidence)
    )
    further = len(lines) - MOST_LINES
    used = subject.run.carried_by(subject.name) if outcome is Outcome.INVALID else ""
    by = f"; MPI reports {used} as the transport" if used else ""
    more = (f"{further:,} more such lines follow from the counters in results.jsonl",)
    return Verdict(
        outcome,
        decisive[0].summary + by if decisive else "no counters were read: the path is unproven",
        min(shares, key=lambda finding: finding.value, default=None),
        subject.threshold("path.share") if shares else None,
        (*lines[:MOST_LINES], *(more if further > 0 else ())),
        _cause(subject, outcome, decisive, used),
        "" if outcome is Outcome.PASS else _remedy(subject, decisive),
    )


def _cause(subject: Subject, outcome: Outcome, decisive: Sequence[Verdict], used: str) -> str:
    """Return the cause; TCP instead of RDMA if MPI's report or its connections show it."""
    if outcome is Outcome.INVALID and subject.has_rdma_ports:
        if used and ("tcp" in used or subject.evidence.over_tcp):
            return f"MPI used TCP ({used}), not the transport of the ports"
        if subject.evidence.over_tcp:
            return "MPI used TCP, not the transport of the ports: its connections sent the payload"
    return decisive[0].cause if decisive else ""


def _remedy(subject: Subject, decisive: Sequence[Verdict]) -> str:
    if decisive and decisive[0].remedy:
        return decisive[0].remedy
    if any(curve.suite in SUITES for curve in subject.curves):
        return _PIN_NCCL
    return _PIN_PORTS if subject.has_rdma_ports else _PIN


def _judge_logs(subject: Subject) -> Verdict | Skipped:
    """Judge logs that name another kind of network than was stated."""
    stated, expected = subject.technology, _LINK_TYPES.get(subject.technology, "")
    for curve in subject.curves:
        link, (name, technology) = curve.evidence.link_type, curve.evidence.technology
        contradiction = ""
        if link in _LINK_TYPES.values() and expected and link != expected:
            contradiction = f"has link type {link}"
        elif technology and stated and technology != stated:
            contradiction = f"names {name} of {technology}"
        if contradiction:
            return Verdict(
                Outcome.INVALID,
                f"{curve.place}: the log {contradiction}, but the stated network is {subject.name}",
                cause="the log is from another network than the stated one",
                remedy='state the network of the log, e.g. --network "100GbE roce" or edr',
            )
    from fabricgauge.judge.nccl import judge_paths

    # NCCL's report of its own choice is accepted without proof.
    if verdicts := list(judge_paths(subject)):
        return min(verdicts, key=lambda verdict: verdict.outcome.rank)
    return Skipped("unknown: the logs have no interface counters, so only the figures count")


def is_proved(subject: Subject) -> bool:
    """Check whether the counters show that the bytes crossed the subject's network."""
    findings = _findings(subject)
    fine = (Outcome.PASS, Outcome.WARN, Outcome.SKIPPED)
    return bool(findings) and all(finding.outcome in fine for finding in findings)


def _findings(subject: Subject) -> tuple[Verdict, ...]:
    """Return a finding per launch and node that sent enough, and one per launch that did not."""
    least = subject.limit("path.least_payload")
    findings: list[Verdict] = []
    unproved: list[tuple[Launch, tuple[LaunchTraffic, ...]]] = []
    for launch, launch_evidence in zip(subject.launches, subject.evidence.launches, strict=True):
        enough = [node for node in launch_evidence.moved if node.payload_bytes >= least]
        cases = ((launch, case) for case in launch.completed)
        other = foreign.foreign_of(subject, cases) if enough else {}
        # With its own machine for each rank, no two ranks share memory.
        machines = {placement.boot_id for placement in launch.placements}
        nodes = launch.nodes
        apart = len(machines) == len(launch.placements) and len(set(nodes)) == len(nodes)
        for node in enough:
            evidence = (*_carried(subject, launch, node), *node.left_out)
            other_bytes = other[node.node].sent_bytes if node.node in other else 0
            finding = _finding(subject, node, other_bytes, apart)
            findings.append(replace(finding, evidence=evidence))
        if not enough and (launch.completed or launch.around):
            unproved.append((launch, launch_evidence.moved))
    return (*findings, *(_too_little(*launch, others=bool(findings)) for launch in unproved))


def _too_little(launch: Launch, nodes: tuple[LaunchTraffic, ...], *, others: bool) -> Verdict:
    broke = launch.ended.status not in ("ok", IMPORTED)
    # If others proved the path, a launch that measured suspects again has the same pinning.
    doubt = Outcome.SKIPPED if launch.purpose == "again" or broke else Outcome.WARN
    unseen = any(node.left_out for node in nodes)
    sent = "too few counters were read" if unseen else "too little payload was sent"
    reason = sent if nodes else "no interface counters were read"
    sentence = f"launch {launch.number}: {reason} to prove the path"
    evidence = (sentence, *(line for node in nodes for line in node.left_out))
    outcome = doubt if others else Outcome.INCONCLUSIVE
    return Verdict(
        outcome, sentence, evidence=evidence, remedy=_MORE if nodes and not unseen else _COUNT
    )


def _finding(subject: Subject, node: LaunchTraffic, other_bytes: int, apart: bool) -> Verdict:
    """Judge a node's counters in one launch. ``other_bytes`` are octets of other traffic.

    ``apart`` is true if each rank had its own machine.
    """
    if node.total_bytes < MOVED_AT_ALL * node.payload_bytes:
        # Ranks of one machine reach each other's addresses through its memory.
        if apart and _connected(subject, node):
            sentence = (
                f"the counters of {node.node} did not move, but its TCP connections between"
                f" {subject.name}'s addresses carried the payload to another machine"
            )
            return Verdict(Outcome.INCONCLUSIVE, sentence, cause=_LAG, remedy=_WAIT)
        sentence = (
            f"the counters of {node.node} did not move with the payload: it went through shared"
            " memory"
        )
        return Verdict(Outcome.INVALID, sentence, _crossed(0.0), cause=_MEMORY)
    if not isinstance(subject.network, Skipped):
        return _pinned(subject, subject.network, node, other_bytes, apart)
    if subject.name != OWN_CHOICE:
        summary = f"discovery found no network {subject.name}, so no interface was expected"
        return Verdict(Outcome.INCONCLUSIVE, summary)
    counts, total = sum_by_network(subject.run.fabric.networks, node), node.total_bytes
    shares = sentences.listed(
        [f"{name} {figures.percent(count / total)}" for name, count in _most_first(counts)]
    )
    if not isinstance(subject.ceiling, Skipped):
        # The networks whose ceilings add up.
        used = sum(count for count in counts.values() if count >= STRIPED * total)
        summary = f"MPI used several links at once: {shares}"
        return Verdict(Outcome.PASS, summary, _crossed(used / total))
    summary = f"MPI was free to choose: the figures belong to no single network ({shares})"
    cause = "the launch was not pinned to a network"
    return Verdict(Outcome.INCONCLUSIVE, summary, cause=cause, remedy=_NAME)


def _connected(subject: Subject, node: LaunchTraffic) -> bool:
    """Check whether TCP itself counted the payload between the network's addresses."""
    if isinstance(subject.network, Skipped):
        return False
    addresses = (member.ip for member in subject.network.rails_of(node.node))
    return sum(node.by_address.get(ip, 0) for ip in addresses) >= node.payload_bytes


def _pinned(
    subject: Subject, network: Network, node: LaunchTraffic, other_bytes: int, apart: bool
) -> Verdict:
    """Check that the expected interfaces carried the payload, and almost nothing took another."""
    member = network.member(node.node)
    if isinstance(member, Skipped):
        return Verdict(Outcome.INCONCLUSIVE, member.reason)
    rails = network.rails_of(node.node) if network.has_rdma_ports else (member,)
    carried = {rail.interface: _octets(subject, node, rail) for rail in rails}
    pinned_bytes = sum(carried.values())
    share, least = pinned_bytes / node.total_bytes, subject.limit("path.share")
    if pinned_bytes < least * node.payload_bytes:
        sentence = _elsewhere(node, sentences.listed(list(carried)), share)
        if share >= least and apart:
            return Verdict(Outcome.INCONCLUSIVE, sentence, _crossed(share), None, (), _LAG, _WAIT)
        return Verdict(Outcome.INVALID, sentence, _crossed(share), cause=_OTHER)
    proved = sum(node.by_address.get(rail.ip, 0) for rail in rails) >= node.payload_bytes
    if not proved and other_bytes >= node.payload_bytes:
        sentence = (
            f"{sentences.listed(list(carried))} of {node.node} sent {figures.amount(other_bytes)}"
            f" besides the {figures.amount(node.payload_bytes)} of payload: other traffic alone"
            " explains its counters"
        )
        return Verdict(Outcome.INCONCLUSIVE, sentence, cause=foreign.CAUSE, remedy=foreign.REMEDY)
    if share < least:
        outcome = Outcome.WARN if proved else Outcome.INCONCLUSIVE
        sentence = (
            f"{network.name} carried the payload, but {figures.percent(1 - share)} of the bytes"
            f" that {node.node} sent crossed other interfaces"
        )
        return Verdict(outcome, sentence, _crossed(share), cause=_BESIDE)
    if other := _received_elsewhere(node, {*carried, *_interfaces_of(subject, node, rails)}):
        least_payload = subject.limit("path.least_payload")
        if node.received_payload_bytes >= least_payload:
            expected = sentences.listed(list(carried))
            sentence = f"the bytes that {node.node} received crossed {other}, not {expected}"
            return Verdict(
                Outcome.INVALID, sentence, _crossed(share), cause=_ANSWERS, remedy=_SEPARATE
            )
    sentence = f"{figures.percent(share)} of the bytes crossed {network.name}"
    if other_bytes >= node.payload_bytes:
        sentence = f"{sentence}; other traffic on {node.node} sent more than the payload"
    if idle := without_traffic(carried, node.payload_bytes):
        sentence = f"{sentence}, but almost none crossed {sentences.listed(idle)} of {node.node}"
        return Verdict(Outcome.WARN, sentence, _crossed(share), cause=_ONE_RAIL)
    return Verdict(Outcome.PASS, sentence, _crossed(share))


def _received_elsewhere(node: LaunchTraffic, expected: Collection[str]) -> str:
    """Return another interface that received the payload; empty if an expected one did."""
    least = MOVED_AT_ALL * node.received_payload_bytes
    came = sum(node.received_bytes.get(name, 0) for name in expected)
    others = {name: n for name, n in node.received_bytes.items() if name not in expected}
    busiest = max(others, key=lambda name: (others[name], name), default="")
    return busiest if busiest and came < least <= others[busiest] else ""


def _interfaces_of(subject: Subject, node: LaunchTraffic, rails: Sequence[Member]) -> Iterator[str]:
    """Yield the interfaces on which RDMA ports without counters count their frames."""
    inventory = subject.run.fabric.node(node.node)
    names = {rail.interface for rail in rails}
    if not (subject.evidence.over_tcp or isinstance(inventory, Skipped)):
        yield from (str(port.interface) for port in inventory.rdma_ports if port.name in names)


def _crossed(share: float) -> Figure:
    return Figure(share, "share", "of the sent bytes crossed the expected interface")


def _octets(subject: Subject, node: LaunchTraffic, member: Member) -> int:
    if octets := node.sent_bytes.get(member.interface, 0):
        return octets
    # A port without a counter counts its RDMA frames on its interface, which TCP uses as well.
    names = _interfaces_of(subject, node, (member,))
    return sum(node.sent_bytes.get(name, 0) for name in names)


def _elsewhere(node: LaunchTraffic, expected: str, share: float) -> str:
    busiest = max(node.sent_bytes, key=lambda name: (node.sent_bytes[name], name))
    busiest_share = node.sent_bytes[busiest] / node.total_bytes
    if busiest == expected:
        return (
            f"only {figures.percent(share)} of the bytes that {node.node} sent crossed {expected},"
            f" {figures.percent(node.sent_bytes[expected] / node.payload_bytes)} of the payload"
        )
    if busiest_share >= NEARLY_ALL:
        return f"the bytes that {node.node} sent crossed {busiest}, not {expected}"
    return (
        f"the bytes that {node.node} sent took several interfaces:"
        f" {figures.percent(busiest_share)} crossed {busiest}, {figures.percent(share)} {expected}"
    )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the names with counts above 0, the largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, count) for name, count in ordered if count > 0]


def _carried(subject: Subject, launch: Launch, node: LaunchTraffic) -> Sequence[str]:
    """Return a sentence on the node's interfaces, and one on its TCP connections, if any."""
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
        for member in network.rails_of(node.node)
    }
    connections = [
        f"{figures.amount(count)} from {ip} ({names.get(ip, 'no known network')})"
        for ip, count in _most_first(node.by_address)
    ]
    if not connections:
        return (counters,)
    return counters, f"{at}: TCP connections of {node.node}: {sentences.listed(connections)}"
