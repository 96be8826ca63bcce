"""Were all nodes and networks measured that are there or were asked for?"""

from collections.abc import Iterator

from fabricgauge.judge.interface import Context, Said, Words, of_run
from fabricgauge.model.finding import Severity
from fabricgauge.model.pattern import PAIR_PATTERNS, ROUND_ROBIN_PATTERNS
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Figure, Outcome, Threshold
from fabricgauge.stats.series import node_of
from fabricgauge.words import sentences
from fabricgauge.words.networks import is_loopback

ID = "coverage"

#: Why nodes were left out or could not be asked, and what to do about it.
_PLANNED = (
    "the plan measures some of the nodes only, or launches broke",
    "measure the other nodes as well: fabricgauge check with -w and their names",
)
_IDLE = (
    "the patterns that were asked for measure one pair of nodes; the others only took part in the"
    " launch",
    "add all_pairs_latency and all_pairs_bandwidth to --patterns, or measure the other nodes in"
    " pairs: fabricgauge check with -w and their names",
)
_PARTIAL = (
    "the network is not meant for all nodes, or a node has lost its address in it",
    "give each node that is meant to be there its address; or state what is to be measured:"
    " --network",
)
_KNOWN = (
    "they carry nothing, or break what they take part in: see connect, link and launch",
    "",
)
_DOWN = (
    "a node is down or can't be reached, or has no address in a network that was declared",
    "see to it that every node can be reached and has an address in each declared network,"
    " then check again; or leave out what is not meant to be there",
)

#: Checks whose findings keep a node out of a network.
_OF_AN_ADDRESS = ("addresses", "link")

_ASKED = Threshold(1.0, "share", "equal to", "what was asked for")


@of_run(ID)
def judge(context: Context) -> Words:
    run, fabric = context.run, context.run.fabric
    if not fabric.nodes and run.imported:
        return ()
    names, node_count = _unmeasured(run), len(fabric.nodes) + len(fabric.unreached)
    share = 1 - (len(names) + len(fabric.unreached)) / node_count if node_count else 0.0
    figure = Figure(share, "share", f"of {node_count} nodes were measured")
    unreached = (one.reason for one in fabric.unreached)
    if lost := (*unreached, *fabric.unjoined):
        summary = f"nothing is known of what was asked for: {sentences.listed(lost)}"
        also = (f"{len(names)} nodes that were reached were not measured",) if names else ()
        return Said(Outcome.INCONCLUSIVE, summary, figure, _ASKED, (*lost, *also), *_why(run))
    if names:
        summary = f"{len(names)} of {node_count} nodes were not measured: {sentences.listed(names)}"
        lines = tuple(f"no case on {name} came to its proper end" for name in names[:6])
        why = _KNOWN if set(names) <= _culprits(run) else _PLANNED
        if set(names) <= _took_part(run):
            lines, why = tuple(f"no case measured {name}" for name in names[:6]), _IDLE
        return Said(Outcome.WARN, summary, figure, _ASKED, lines, *why)
    if broke := _broke(context):
        summary = (
            f"{sentences.listed(broke)} took part until a launch broke; what was left to measure"
            " was not measured there"
        )
        return Said(Outcome.WARN, summary, figure, _ASKED, (), *_KNOWN)
    if fabric.partial:
        summary = f"not all nodes were measured on each network: {sentences.listed(fabric.partial)}"
        return Said(Outcome.WARN, summary, figure, _ASKED, fabric.partial, *_PARTIAL)
    alone = tuple(f"not measured, since no other node is in its network: {one}"
                  for one in fabric.lone)  # fmt: skip
    return Said(Outcome.PASS, f"all {node_count} nodes were measured", figure, _ASKED, alone)


def _why(run: Run) -> tuple[str, str]:
    """Cause and remedy: an address or a link that was found to be wrong before the measurement."""
    wrong = (finding for finding in run.preflight if finding.check in _OF_AN_ADDRESS)
    found = next((one for one in wrong if one.severity is Severity.FAIL), None)
    if run.fabric.unreached or found is None:
        return _DOWN
    return f"{found.where} {found.what}", found.remedy


def _unmeasured(run: Run) -> list[str]:
    measured = {node for launch in _over_networks(run) for node in _measured(launch)}
    return [node.name for node in run.fabric.nodes if node.name not in measured]


def _took_part(run: Run) -> set[str]:
    """Return the nodes of launches in which a case came to its proper end."""
    launches = (launch for launch in _over_networks(run) if launch.completed)
    return {node for launch in launches for node in launch.nodes}


def _over_networks(run: Run) -> Iterator[Launch]:
    return (launch for launch in run.launches if not is_loopback(launch.network))


def _measured(launch: Launch) -> Iterator[str]:
    """The nodes of the ranks whose figures a launch has: of a case of one pair, those of two."""
    if launch.figures:
        yield from launch.nodes
    for case in launch.completed:
        if case.pattern in PAIR_PATTERNS:
            yield from (node_of(launch, case.origin), node_of(launch, case.target))
        elif case.pattern not in ROUND_ROBIN_PATTERNS:
            yield from launch.nodes[: case.together.ranks if case.together else None]
    for round_ in launch.rounds:
        yield from (node_of(launch, rank) for rank in (*round_.origins, *round_.targets))


def _culprits(run: Run) -> set[str]:
    before = (finding for finding in run.preflight if finding.severity is Severity.FAIL)
    later = (one for launch in run.launches for one in launch.ended.culprits)
    return {node for one in (*before, *later) for node in one.nodes}


def _broke(context: Context) -> list[str]:
    """Nodes that broke a launch, so that the rest of it was not measured."""
    left = (subject for subject in context.subjects if subject.missing)
    ended = (launch.ended for subject in left for launch in subject.launches)
    return list(
        dict.fromkeys(node for one in ended for each in one.culprits for node in each.nodes)
    )
