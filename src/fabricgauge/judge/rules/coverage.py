"""Check that all nodes and networks were measured that exist or were requested."""

from collections.abc import Iterator

from fabricgauge.judge.interface import Context, Verdicts, judge_run
from fabricgauge.judge.stats.series import node_of
from fabricgauge.model.finding import Severity
from fabricgauge.model.passes import passes_of
from fabricgauge.model.pattern import PAIR_PATTERNS, ROUND_ROBIN_PATTERNS
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.model.words import sentences
from fabricgauge.model.words.networks import is_loopback

ID = "coverage"

#: Causes for unmeasured nodes, each with its remedy.
_PLANNED = (
    "the plan measures only some of the nodes, or launches broke",
    "measure the other nodes as well: fabricgauge check with -w and their names",
)
_IDLE = (
    "the requested patterns measure one pair of nodes; the other nodes only took part in the"
    " launch",
    "add all_pairs_latency and all_pairs_bandwidth to --patterns, or measure the other nodes in"
    " pairs: fabricgauge check with -w and their names",
)
_PARTIAL = (
    "the network does not join all nodes, or a node has lost its address in it",
    "give each node of the network its address, or name the networks to measure: --network",
)
_KNOWN = (
    "these nodes carry nothing, or break their launches: see connect, link and launch",
    "",
)
_ONE_WAY = (
    "the plan or the records lack a direction, or none of its cases was usable",
    "measure again: fabricgauge check plans the streams of a pair in both directions",
)
_DOWN = (
    "a node is down or unreachable, or has no address in a declared network",
    "make every node reachable and give it an address in each declared network, then check again;"
    " or leave out nodes and networks that do not belong to the cluster",
)
_UNFIT = (
    "a node cannot hold or run the engine, or has another MPI",
    "free space on the node, allow execution in /tmp or in the home directory, or install the"
    " same MPI there, then check again; or leave the node out with -x",
)

#: Checks whose findings keep a node out of a network.
_ADDRESS_CHECKS = ("addresses", "link")

_REQUESTED = Threshold(1.0, "share", "equal to", "the requested nodes")


@judge_run(ID)
def judge(context: Context) -> Verdicts:
    run, fabric = context.run, context.run.fabric
    if not fabric.nodes and run.imported:
        return ()
    launches = [launch for launch in run.launches if not is_loopback(launch.network)]
    measured = {node for launch in launches for node in _measured(launch)}
    names = [node.name for node in fabric.nodes if node.name not in measured]
    node_count = len(fabric.nodes) + len(fabric.unreached)
    share = 1 - (len(names) + len(fabric.unreached)) / node_count if node_count else 0.0
    figure = Figure(share, "share", f"of {node_count} nodes were measured")
    unreached = (node.reason for node in fabric.unreached)
    if lost := (*unreached, *fabric.unjoined):
        summary = f"not measured, although requested: {sentences.listed(lost)}"
        also = (f"{len(names)} reachable nodes were not measured either",) if names else ()
        return Verdict(
            Outcome.INCONCLUSIVE, summary, figure, _REQUESTED, (*lost, *also),
            *_cause_and_remedy(run),
        )  # fmt: skip
    if names:
        summary = f"{len(names)} of {node_count} nodes were not measured: {sentences.listed(names)}"
        lines = tuple(f"no case on {name} completed" for name in names[:6])
        before = (finding for finding in run.preflight if finding.severity is Severity.FAIL)
        later = (culprit for launch in run.launches for culprit in launch.ended.culprits)
        culprits = {node for finding in (*before, *later) for node in finding.nodes}
        cause_and_remedy = _KNOWN if set(names) <= culprits else _PLANNED
        if set(names) <= {node for launch in launches if launch.completed for node in launch.nodes}:
            lines = tuple(f"no case measured {name}" for name in names[:6])
            cause_and_remedy = _IDLE
        return Verdict(Outcome.WARN, summary, figure, _REQUESTED, lines, *cause_and_remedy)
    if broken := _find_broken(context):
        summary = (
            f"{sentences.listed(broken)} took part until a launch broke; the rest of the plan was"
            " not measured there"
        )
        return Verdict(Outcome.WARN, summary, figure, _REQUESTED, (), *_KNOWN)
    if fabric.partial:
        summary = f"not all nodes were measured on each network: {sentences.listed(fabric.partial)}"
        return Verdict(Outcome.WARN, summary, figure, _REQUESTED, fabric.partial, *_PARTIAL)
    if one_way := _find_one_way(context):
        summary = f"no stream was measured {sentences.listed(one_way)}"
        return Verdict(Outcome.WARN, summary, figure, _REQUESTED, one_way, *_ONE_WAY)
    alone = tuple(f"not measured, since no other node is in its network: {interface}"
                  for interface in fabric.lone)  # fmt: skip
    return Verdict(Outcome.PASS, f"all {node_count} nodes were measured", figure, _REQUESTED, alone)


def _find_one_way(context: Context) -> tuple[str, ...]:
    """Return the ways without a stream whose reverse has one; each pair is planned in both."""
    missing: list[str] = []
    for subject in context.subjects:
        if subject.imported or subject.by_suite or subject.pairs:
            continue
        least = subject.limit("fraction.from")
        ways = {series.ends for series in subject.of("bandwidth") if series.best(least)}
        missing += [
            f"from {target} to {origin} on {subject.name}"
            for origin, target in sorted(ways)
            if (target, origin) not in ways and origin != target
        ]
    return tuple(missing)


def _cause_and_remedy(run: Run) -> tuple[str, str]:
    """Return a wrong address or link from before the measurement, else a node that is down."""
    failures = (finding for finding in run.preflight if finding.severity is Severity.FAIL)
    failure = next((finding for finding in failures if finding.check in _ADDRESS_CHECKS), None)
    unreached = run.fabric.unreached
    if unreached and all(node.answers for node in unreached):
        return _UNFIT
    if unreached or failure is None:
        return _DOWN
    return f"{failure.where} {failure.what}", failure.remedy


def _measured(launch: Launch) -> Iterator[str]:
    """Yield the nodes whose ranks a launch measured; a case of one pair has two."""
    if launch.figures:
        yield from launch.nodes
    for case in launch.completed:
        if case.pattern in PAIR_PATTERNS:
            yield from (node_of(launch, case.origin), node_of(launch, case.target))
        elif case.pattern not in ROUND_ROBIN_PATTERNS:
            yield from launch.nodes[: case.together.ranks if case.together else None]
    for pair_pass in passes_of(launch):
        yield from (node_of(launch, int(rank)) for rank in pair_pass.ranks.nonzero()[0])


def _find_broken(context: Context) -> list[str]:
    """Return the nodes that broke a launch whose other cases were not measured later."""
    incomplete = (subject for subject in context.subjects if subject.missing)
    launches = (launch for subject in incomplete for launch in subject.launches)
    culprits = (culprit for launch in launches for culprit in launch.ended.culprits)
    return list(dict.fromkeys(node for culprit in culprits for node in culprit.nodes))
