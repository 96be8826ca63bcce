"""Were all nodes and networks measured that are there or were asked for?"""

from fabricgauge.judge.interface import Context, Said, Words, of_run
from fabricgauge.judge.subject import missing
from fabricgauge.model.finding import Severity
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Figure, Outcome, Threshold
from fabricgauge.words import sentences
from fabricgauge.words.networks import is_loopback

ID = "coverage"
TITLE = "All nodes and networks were measured"

#: Why nodes were left out or could not be asked, and what to do about it.
_PLANNED = (
    "the plan measures some of the nodes only, or launches broke",
    "measure the other nodes as well: fabricgauge check with -w and their names",
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

_ASKED = Threshold(1.0, "share", "equal to", "what was asked for")


@of_run(ID)
def judge(context: Context) -> Words:
    run = context.run
    if not run.fabric.nodes and any(launch.imported for launch in run.launches):
        return ()
    return _lost(run) or _left_out(run) or _in_part(context)


def _lost(run: Run) -> Said | None:
    """What was asked for and could not be measured, one sentence each."""
    unreached = (f"{one.name} was not reached: {one.reason}" for one in run.fabric.unreached)
    lost = (*unreached, *run.fabric.unjoined)
    if not lost:
        return None
    count = len(_unmeasured(run))
    also = (f"{count} nodes that were reached were not measured",) if count else ()
    return Said(
        Outcome.INCONCLUSIVE, f"nothing is known of what was asked for: {sentences.listed(lost)}",
        _figure(run, count + len(run.fabric.unreached)), _ASKED, (*lost, *also), *_DOWN,
    )  # fmt: skip


def _left_out(run: Run) -> Said | None:
    names = _unmeasured(run)
    if not names:
        return None
    before = (one for one in run.preflight if one.severity is Severity.FAIL)
    later = (one for launch in run.launches for one in launch.ended.culprits)
    culprits = {node for one in (*before, *later) for node in one.nodes}
    return Said(
        Outcome.WARN,
        f"{len(names)} of {len(run.fabric.nodes)} nodes were not measured:"
        f" {sentences.listed(names)}",
        _figure(run, len(names)), _ASKED,
        tuple(f"no case on {name} came to its proper end" for name in names[:6]),
        *(_KNOWN if set(names) <= culprits else _PLANNED),
    )  # fmt: skip


def _in_part(context: Context) -> Said:
    """Nodes that broke a launch, the rest of which was not measured with them; else all is well."""
    found = dict.fromkeys(
        node
        for subject in context.subjects
        if missing(subject)
        for launch in subject.launches
        for one in launch.ended.culprits
        for node in one.nodes
    )
    figure = _figure(context.run, 0)
    if not found:
        nodes = len(context.run.fabric.nodes)
        return Said(Outcome.PASS, f"all {nodes} nodes were measured", figure, _ASKED)
    told = f"{sentences.listed([*found])} took part until a launch broke; the rest lacks them"
    return Said(Outcome.WARN, told, figure, _ASKED, (), *_KNOWN)


def _unmeasured(run: Run) -> list[str]:
    measured = {
        node
        for launch in run.launches
        if (launch.completed or launch.figures) and not is_loopback(launch.network)
        for node in launch.nodes
    }
    return [node.name for node in run.fabric.nodes if node.name not in measured]


def _figure(run: Run, unmeasured: int) -> Figure:
    known = len(run.fabric.nodes) + len(run.fabric.unreached)
    share = 1 - unmeasured / known if known else 0.0
    return Figure(share, "share", f"of {known} nodes were measured")
