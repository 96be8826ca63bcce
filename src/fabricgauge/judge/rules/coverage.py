"""Were all nodes and networks measured that are there or were asked for?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import missing
from fabricgauge.model.finding import Severity
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.words import sentences
from fabricgauge.words.networks import is_loopback

ID = "coverage"
TITLE = "All nodes and networks were measured"

#: Why nodes were left out, and what to do about it.
_PLANNED = (
    "the plan measures some of the nodes only, or launches broke",
    "measure the other nodes as well: fabricgauge check with -w and their names",
)
_KNOWN = (
    "they carry nothing, or break what they take part in: see connect, link and launch",
    "",
)

#: What these verdicts speak of: no network, the run as a whole.
RUN = VerdictSubject()


def judge(context: Context) -> tuple[Verdict, ...]:
    run = context.run
    if not run.fabric.nodes and any(launch.imported for launch in run.launches):
        return ()
    lost = _lost(run)
    if lost:
        return (_inconclusive(run, lost),)
    left_out = _left_out(run)
    if left_out:
        return (_warning(run, left_out),)
    partly = _partly(context)
    if partly:
        return (_in_part(run, partly),)
    return (verdict_on(
        ID, Outcome.PASS, RUN, f"all {len(run.fabric.nodes)} nodes were measured",
        _figure(run, 0), _threshold(),
    ),)  # fmt: skip


def _lost(run: Run) -> tuple[str, ...]:
    """What was asked for and could not be measured, one sentence each."""
    unreached = (f"{one.name} was not reached: {one.reason}" for one in run.fabric.unreached)
    return (*unreached, *run.fabric.unjoined)


def _left_out(run: Run) -> list[str]:
    measured = {
        node
        for launch in run.launches
        if (launch.completed or launch.figures) and not is_loopback(launch.network)
        for node in launch.nodes
    }
    return [node.name for node in run.fabric.nodes if node.name not in measured]


def _inconclusive(run: Run, lost: tuple[str, ...]) -> Verdict:
    left_out = len(_left_out(run))
    unmeasured = left_out + len(run.fabric.unreached)
    also = f"{left_out} nodes that were reached were not measured"
    return verdict_on(
        ID, Outcome.INCONCLUSIVE, RUN,
        f"nothing is known of what was asked for: {sentences.listed(lost)}",
        _figure(run, unmeasured), _threshold(),
        (*lost, also) if left_out else lost,
        "a node is down or can't be reached, or has no address in a network that was declared",
        "see to it that every node can be reached and has an address in each declared network,"
        " then check again; or leave out what is not meant to be there",
    )  # fmt: skip


def _warning(run: Run, left_out: list[str]) -> Verdict:
    cause, remedy = _PLANNED
    if set(left_out) <= _culprits(run):
        cause, remedy = _KNOWN
    return verdict_on(
        ID, Outcome.WARN, RUN,
        f"{len(left_out)} of {len(run.fabric.nodes)} nodes were not measured:"
        f" {sentences.listed(left_out)}",
        _figure(run, len(left_out)), _threshold(),
        tuple(f"no case on {name} came to its proper end" for name in left_out[:6]),
        cause, remedy,
    )  # fmt: skip


def _partly(context: Context) -> list[str]:
    """Nodes that broke a launch, the rest of which was not measured with them."""
    found = (
        node
        for subject in context.subjects
        if missing(subject)
        for launch in subject.launches
        for one in launch.ended.culprits
        for node in one.nodes
    )
    return list(dict.fromkeys(found))


def _in_part(run: Run, partly: list[str]) -> Verdict:
    return verdict_on(
        ID, Outcome.WARN, RUN,
        f"{sentences.listed(partly)} took part until a launch broke; the rest lacks them",
        _figure(run, 0), _threshold(), (), *_KNOWN,
    )  # fmt: skip


def _culprits(run: Run) -> set[str]:
    """Nodes that could not connect, or that broke a launch."""
    before = (one for one in run.preflight if one.severity is Severity.FAIL)
    later = (one for launch in run.launches for one in launch.ended.culprits)
    return {node for one in (*before, *later) for node in one.nodes}


def _figure(run: Run, unmeasured: int) -> Figure:
    known = len(run.fabric.nodes) + len(run.fabric.unreached)
    share = 1 - unmeasured / known if known else 0.0
    return Figure(share, "share", f"of {known} nodes were measured")


def _threshold() -> Threshold:
    return Threshold(1.0, "share", "equal to", "what was asked for")
