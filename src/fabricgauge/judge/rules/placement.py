"""Check that every rank ran on its planned node."""

import re
from collections.abc import Iterator, Sequence

from fabricgauge.judge.interface import Subject, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchPlacement, MisplacedRank
from fabricgauge.model.host_access import unify_hosts
from fabricgauge.model.measurement import Placement
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words import sentences

ID = "placement"

_ONE_NODE = (
    "both ranks ran on one node, so memory was measured: usually the launch command has the"
    " placement option of another MPI, or allows only shared memory, or the first host of its host"
    " list has two slots"
)
_ONE_RANK = "a rank sent to itself, so memory was measured"
_OTHER_NODE = "the launcher did not keep the planned nodes or their order"
_OTHER_BOOT = "two nodes have this host name, or the records are those of another run"
_RESTARTED = (
    "the node was started again between discovery and the launch; if not, another node has its host"
    " name, or the records are those of another run"
)
_AGAIN = "measure again: what discovery read of the node may no longer hold"
_OWN_NAMES = "give each node a host name of its own, and report each run from its own directory"
_ONE_MACHINE = "the nodes are containers or namespaces of one machine"
_CUT_SHORT = "the engine's output was cut short"
_REMEDY = (
    "start one rank per node in the planned order: MPICH and Intel MPI: -hosts A,B -ppn 1;"
    " Open MPI: --host A:1,B:1 --map-by node; Slurm: srun -N 2 --ntasks-per-node=1;"
    " remove settings of shared memory alone (UCX_TLS=sm, I_MPI_FABRICS=shm, --mca btl self,sm)"
)

_UNLIKE = (
    "--hosts belongs to another log or program, or a host has names that are not alike",
    "state the ranks of this log, in rank order, or leave --hosts out if the log names its hosts",
)
#: A host's name, neither an address nor the number of a node that a command starts.
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_REMEDIES = {_OTHER_BOOT: _OWN_NAMES, _RESTARTED: _AGAIN}

#: Outcome and sentence for one launch's ranks, and the cause unless it passes.
_Sign = tuple[Outcome, str, str]


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    measured = [launch.placed for launch in subject.evidence.launches if launch.figures]
    if not measured:
        remedy = "see how the launches ended (completeness), and measure again"
        return Verdict(Outcome.INCONCLUSIVE, "no launch measured anything", remedy=remedy)
    virtual = subject.run.fabric.virtual
    signs = [sign for placed in measured for sign in _signs(placed, virtual=virtual)]
    signs += _to_itself(subject)
    unknown = Outcome.INCONCLUSIVE, "nothing shows where the ranks ran", ""
    outcome, summary, cause = min(signs, key=lambda sign: sign[0].rank, default=unknown)
    fine = outcome is Outcome.PASS
    if fine:
        summary = "every rank ran on its planned node"
    return Verdict(
        outcome,
        summary,
        evidence=tuple(dict.fromkeys(sentence for _, sentence, _ in signs)),
        cause=cause,
        remedy="" if fine else _REMEDIES.get(cause, _REMEDY),
    )


def _judge_logs(subject: Subject) -> Verdict | Skipped:
    """Judge the hosts that imported logs, or --hosts, name, without proof."""
    if subject.is_inside_node:
        return Skipped("copies inside a node: no rank took part")
    named = [
        unify_hosts(
            curve.hosts if len(curve.hosts) > 1 else curve.evidence.rank_hosts or curve.hosts
        )
        for curve in subject.curves
    ]
    stated = [node for launch in subject.launches for node in launch.nodes]
    nodes = tuple(dict.fromkeys(unify_hosts(stated)))
    single_node = f"--hosts names {nodes[0]} for all ranks" if len(nodes) == 1 else ""
    curves = [(curve, launch.nodes) for launch in subject.launches for curve in launch.curves]
    for curve, hosts in reversed(curves):
        if reason := curve.inside_node or _find_stated_node(curve, hosts):
            single_node = f"{curve.place}: {reason}"
    if single_node and subject.medium == "memory":
        return Verdict(Outcome.PASS, f"{single_node}; {subject.name} is inside a node")
    if single_node:
        outcome = Outcome.INVALID if subject.claimed else Outcome.WARN
        return Verdict(outcome, single_node, cause=_ONE_NODE, remedy=_REMEDY)
    unlike = [
        f"{curve.place}: {difference}"
        for curve, hosts in curves
        if (difference := _find_contradiction(curve, hosts))
    ]
    if unlike:
        return Verdict(Outcome.WARN, unlike[0], None, None, tuple(unlike), *_UNLIKE)
    if named and all(len(set(hosts)) > 1 for hosts in named):
        hosts_named = tuple(dict.fromkeys(host for hosts in named for host in hosts))
        summary = f"the logs name different hosts ({sentences.listed(hosts_named)})"
        return Verdict(Outcome.PASS, f"{summary}; not proved")
    if len(nodes) > 1:
        summary = f"stated when the logs were imported, not proved: {sentences.listed(nodes)}"
        return Verdict(Outcome.PASS, summary)
    return Skipped("unknown: the logs do not name the hosts of the ranks (state them with --hosts)")


def _find_stated_node(curve: SuiteCurve, stated: Sequence[str]) -> str:
    """Return that --hosts puts a pair on one node; empty if it does not, or the log is clearer."""
    evidence = curve.evidence
    is_known = len(curve.hosts) > 1 or evidence.rank_hosts or evidence.rank_nodes
    # The first ranks of many may measure.
    fits = "waiting processes" in curve.settings or _count_ranks(curve) in (0, len(stated))
    shared = curve.find_shared_node(unify_hosts(stated)) if fits and not is_known else None
    return f"--hosts names {shared[0]} for {shared[1]}" if shared else ""


def _find_contradiction(curve: SuiteCurve, stated: Sequence[str]) -> str:
    """Return how --hosts contradicts a log's host names or number of ranks, if it does."""
    if not stated:
        return ""
    evidence = curve.evidence
    used = _names([*curve.hosts, *evidence.rank_hosts, *evidence.rank_nodes])
    named = _names(evidence.command_hosts)
    # A command may name more hosts than its ranks need, and so may --hosts.
    if not _are_among(used, stated) or not (_are_among(named, stated) or _are_among(stated, named)):
        hosts = tuple(dict.fromkeys((*used, *named)))
        return f"the log names {sentences.listed(hosts, 4)}, --hosts {sentences.listed(stated, 4)}"
    nodes, ranks = unify_hosts(stated), _count_ranks(curve)
    is_other = ranks not in (0, len(nodes)) and "waiting processes" not in curve.settings
    if len(set(nodes)) < len(nodes) and is_other:
        return f"--hosts names {len(nodes)} ranks, {curve.benchmark} has {ranks}"
    return ""


def _count_ranks(curve: SuiteCurve) -> int:
    """Return the number of ranks of a table of pairs; 0 for others."""
    return 1 + max((max(ends) for ends in curve.ends), default=-1)


def _names(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of hosts, without addresses, numbers and the host's name of itself."""
    return tuple(
        dict.fromkeys(host for host in hosts if _NAME.fullmatch(host) and host != "localhost")
    )


def _are_among(hosts: Sequence[str], names: Sequence[str]) -> bool:
    return all(any(_is_alias(host, name) for name in names) for host in hosts)


def _is_alias(host: str, name: str) -> bool:
    """Check for two names of one host: ``c1``, ``c1.example.org``, ``c1-ib0``, ``ib-c1``."""
    short, full = sorted((_short(host), _short(name)), key=len)
    return re.search(rf"(?<![^\W_]){re.escape(short)}(?![^\W_])", full) is not None


def _short(name: str) -> str:
    return name.partition(".")[0].casefold()


def _to_itself(subject: Subject) -> Iterator[_Sign]:
    """Yield the launches with cases of a pair in which a rank sent to itself."""
    for launch in subject.launches:
        of_pairs = (case for case in launch.completed if case.pattern in PAIR_PATTERNS)
        if cases := [case for case in of_pairs if case.origin == case.target]:
            sentence = (
                f"launch {launch.number}: rank {cases[0].origin} is origin and target of"
                f" {sentences.counted(len(cases), 'case')}, first {cases[0].case}"
            )
            yield Outcome.INVALID, sentence, _ONE_RANK


def _signs(placed: LaunchPlacement, *, virtual: bool) -> Iterator[_Sign]:
    at = f"launch {placed.launch}"
    if len(placed.ranks) < placed.expected:
        sentence = f"{at}: only {len(placed.ranks)} of {placed.expected} ranks reported their node"
        yield Outcome.INCONCLUSIVE, sentence, _CUT_SHORT
        return
    for ranks in placed.shared:
        first, second = ranks[0], ranks[1]
        more = f" ({len(ranks)} ranks in all)" if len(ranks) > 2 else ""
        sentence = (
            f"{at}: ranks {first.rank} and {second.rank} both ran on {first.host}{more}: the same"
            f" boot id {first.boot_id}, network namespaces {first.net_namespace} and"
            f" {second.net_namespace}"
        )
        yield Outcome.INVALID, sentence, _ONE_NODE
    if len(placed.machines) > 1 and all(len(machine) == 1 for machine in placed.machines):
        firsts = [machine[0] for machine in placed.machines]
        yield Outcome.PASS, f"{at}: {_list_places(firsts)}, with different boot ids", ""
    for machine in placed.machines:
        places = f"{at}: {_list_places(machine)}"
        if len(machine) > 1 and virtual:
            sentence = f"{places}, in network namespaces of one kernel: a virtual cluster"
            yield Outcome.PASS, sentence, ""
        elif len(machine) > 1:
            sentence = f"{places}, but all have boot id {machine[0].boot_id}: one kernel"
            yield Outcome.WARN, sentence, _ONE_MACHINE
    for misplaced in placed.misplaced:
        outcome = Outcome.INCONCLUSIVE if misplaced.restarted else Outcome.INVALID
        cause = _OTHER_BOOT if _is_same_name(misplaced.host, misplaced.meant) else _OTHER_NODE
        cause = _RESTARTED if misplaced.restarted else cause
        yield outcome, f"{at}: {_describe_misplaced(misplaced)}", cause


def _describe_misplaced(rank: MisplacedRank) -> str:
    """Return where a rank ran, by the name that distinguishes its node from the planned one."""
    node = rank.node or rank.host
    where = f"rank {rank.rank} ran on {node}"
    if rank.restarted:
        return f"{where}, which was probably started again since discovery: {rank.difference}"
    if not _is_same_name(node, rank.meant):
        name = "" if _is_same_name(node, rank.host) else f" (host name {rank.host})"
        detail = f": {rank.difference}" if rank.difference and name else ""
        return f"{where}{name}, but its planned node is {rank.meant}{detail}"
    return f"{where}, but not on the {rank.meant} that discovery read: {rank.difference}"


def _is_same_name(name: str, other_name: str) -> bool:
    return _short(name) == _short(other_name)


def _list_places(placements: Sequence[Placement]) -> str:
    return sentences.listed(
        [f"rank {placement.rank} ran on {placement.host}" for placement in placements], 4
    )
