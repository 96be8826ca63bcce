"""Why a launch broke: the node or pair that did it, from evidence or by further launches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic

import msgspec

from fabricgauge.app.connectivity import tried
from fabricgauge.app.doctor import diagnosis, wrong_names
from fabricgauge.app.notes import quick_findings
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.survey import surveyed
from fabricgauge.doctor.reachability import ConnectionFault, find_connection_faults
from fabricgauge.model.connectivity import Connectivity, FailedConnection
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.preflight import Preflight
from fabricgauge.model.run import Ended
from fabricgauge.plan.outlook import estimated_s
from fabricgauge.plan.search import Group, broken_alone, culprits
from fabricgauge.run.launch import engine_gave_up
from fabricgauge.run.launcher_words import blamed
from fabricgauge.words.sentences import between, listed

#: The check that these findings are of, and the rule that judges them.
CHECK = "launch"
_WHY = "A job over these nodes hangs or aborts in the same way."
_OF_RANK = (
    "on {0}: journalctl -k and dmesg (out of memory, machine check), who stopped or ended the"
    " process, its free memory and disk; then measure again with it"
)
_OF_SEARCH = (
    "fabricgauge doctor -w {0}; then look at the adapters, drivers and firewall rules of what is"
    " named"
)
_ALONE = (
    "on {0}: see whether the engine and MPI's libraries are there and whole, as they are on the"
    " other nodes (ldd), and whether the node can reach the machine that starts the launch"
)
#: Statuses of a launch whose program was not understood: no node is at fault.
_NOT_UNDERSTOOD = frozenset({64, 65})
#: The same, and those of a program that could not be started on a node.
_NOT_BY_NETWORK = _NOT_UNDERSTOOD | {126, 127}
#: The search for culprits lasts as long as the plan itself, but this long at least: a launch that
#: hangs is given up after 20 s.
SEARCH_S = 120.0

#: Makes short launches of groups of nodes at the same time: what each that broke said, in a
#: sentence; empty for one that went well.
Breaks = Callable[[Sequence[Group]], Sequence[str]]


class Breakage(msgspec.Struct, frozen=True):
    """Who broke a launch: ``findings`` are for a reader, ``dead`` for the next plan.

    ``repeats`` is false if a short launch of the same nodes did not break.
    """

    findings: tuple[Finding, ...] = ()
    dead: tuple[ConnectionFault, ...] = ()
    repeats: bool = True


class Broken(msgspec.Struct, frozen=True):
    """A launch that broke; ``lost`` is what its nodes, or their ranks, were found to be, by node.

    ``said`` is what launcher and ranks printed; ``began`` is whether ranks had come to measure.
    ``unanswered`` are nodes with addresses to which they tried to connect in vain.
    """

    launch: PlannedLaunch
    exit_code: int | None
    lost: dict[str, str]
    said: str
    began: bool = True
    unanswered: frozenset[tuple[str, str]] = frozenset()


def why(context: RunContext, broken: Broken, breaks: Breaks) -> Breakage:
    """The ranks' states, connections, the launcher's words, the nodes' settings, at last launches
    of fewer nodes.
    """
    launch = broken.launch
    if context.target.simulation or len(set(launch.nodes)) < 2:
        return Breakage()
    return (
        of_states(broken)
        or of_unanswered(context.fabric, broken)
        or _of_connections(context, broken)
        or of_words(broken)
        or _of_survey(context, broken)
        or _of_search(context, broken, breaks)
    )


def of_states(broken: Broken) -> Breakage | None:
    """The nodes that are lost, or whose ranks are."""
    found = [
        _finding(broken.launch, (node,), what, (f"launch {broken.launch.number}: {node}: {what}",))
        for node, what in broken.lost.items()
    ]
    return Breakage(tuple(found), tuple(_dead((node,)) for node in broken.lost)) if found else None


def of_unanswered(fabric: Fabric, broken: Broken) -> Breakage | None:
    """The fewest nodes and pairs that explain which connections of the launch nobody answered."""
    launch = broken.launch
    nodes = dict.fromkeys(launch.nodes)
    members = [
        one
        for network in fabric.networks
        for one in network.members
        if network.name == launch.network and one.node in nodes
    ]
    at, own = {one.ip: one.node for one in members}, {one.node: one.ip for one in members}
    failures = tuple(
        FailedConnection(source, at[ip], own.get(source, ""), ip, "no answer")
        for source, ip in sorted(broken.unanswered)
        if at.get(ip, source) != source
    )
    found = find_connection_faults(
        Connectivity(launch.network or "", dict.fromkeys(nodes, len(nodes) - 1), failures)
    )
    if not found:
        return None
    return Breakage(tuple(_not_answered(launch, one) for one in found), found)


def _not_answered(launch: PlannedLaunch, one: ConnectionFault) -> Finding:
    sources = list(dict.fromkeys(each.source for each in one.evidence))
    targets = list(dict.fromkeys(each.target for each in one.evidence))
    evidence = tuple(
        f"{each.source} → {each.target} ({each.target_ip}): a TCP connection waited for its first"
        " answer in two looks (state SYN-SENT)"
        for each in one.evidence
    )
    what = f"connections of {listed(sources)} to {listed(targets)} are not answered"
    return _finding(launch, one.named, f"{what} while launch {launch.number} waits", evidence)


def of_words(broken: Broken) -> Breakage | None:
    """The nodes that the launcher's own words name, if any."""
    one = blamed(broken.said, broken.launch.nodes)
    if one is None:
        return None
    evidence = (f"launch {broken.launch.number}: {one.said}",)
    return Breakage((_finding(broken.launch, one.nodes, one.what, evidence),), (_dead(one.nodes),))


def of_pair(broken: Broken) -> Breakage | None:
    """Both nodes of a pair whose launch measured nothing: either of them may be at fault."""
    nodes = tuple(dict.fromkeys(broken.launch.nodes))
    if len(nodes) != 2 or broken.exit_code in _NOT_BY_NETWORK:
        return None
    said = next((line for line in broken.said.splitlines() if line.strip()), "it said nothing")
    evidence = (f"launch {broken.launch.number}: {said.strip()}",)
    found = _finding(broken.launch, nodes, "their job measured nothing", evidence)
    return Breakage((found,), (_dead(nodes),))


def _of_connections(context: RunContext, broken: Broken) -> Breakage | None:
    """What nodes can no longer do to each other, by the round that was made before."""
    launch = broken.launch
    networks = [one for one in context.fabric.ip_networks if one.name == launch.network]
    made = tried(context.target, networks, context.directory)
    known = {frozenset(one.named) for one in context.culprits.get(launch.network or "", ())}
    here = [
        one
        for each in made
        for one in find_connection_faults(each)
        if frozenset(one.named) not in known
    ]
    if not here:
        return None
    findings = [
        msgspec.structs.replace(
            one, check=CHECK, what=f"{one.what} since launch {launch.number} broke"
        )
        for one in quick_findings(context.fabric, made)
        if one.check == "connect"
    ]
    return Breakage(tuple(findings), tuple(here))


def _of_survey(context: RunContext, broken: Broken) -> Breakage | None:
    """What the nodes' own settings have wrong: a route by another network, or a name.

    A launcher connects nodes by their names before a rank begins; ranks need none.
    """
    launch, target = broken.launch, context.target
    context.progress.stage("asking the nodes for their settings")
    inventories, fabric = surveyed(target.access, target.declared)
    every = diagnosis(Preflight(fabric, inventories)).findings
    found = [one for one in every if one.network == launch.network]
    if not (broken.began or broken.exit_code in _NOT_BY_NETWORK or any(map(_fails, found))):
        context.progress.stage("asking the nodes for each other's names")
        found += wrong_names(target.access, target.declared)
    here = [
        msgspec.structs.replace(one, check=CHECK, network=launch.network or "")
        for one in found
        if _fails(one) and set(one.nodes) <= set(launch.nodes)
    ]
    nodes = dict.fromkeys(node for one in here for node in one.nodes)
    return Breakage(tuple(here), tuple(_dead((node,)) for node in nodes)) if here else None


def _fails(one: Finding) -> bool:
    return one.severity is Severity.FAIL


def _of_search(context: RunContext, broken: Broken, breaks: Breaks) -> Breakage:
    """Launches of fewer and fewer nodes, while they last no longer than the plan itself."""
    nodes = tuple(dict.fromkeys(broken.launch.nodes))
    if broken.exit_code in _NOT_UNDERSTOOD:
        return Breakage()
    deadline = monotonic() + max(SEARCH_S, estimated_s(context.plan.launches))
    context.progress.stage("making short launches of fewer nodes")
    if alone := _of_nodes_alone(broken.launch, nodes, breaks):
        return alone
    if len(nodes) < 3 or broken.exit_code in _NOT_BY_NETWORK:
        return Breakage()
    search, answer = culprits(nodes), False
    lines: list[str] = []
    smallest = nodes
    try:
        group = next(search)
        while monotonic() < deadline:
            answer = any(breaks((group,)))
            lines.append(_line(group, answer))
            smallest = group if answer and len(group) < len(smallest) else smallest
            group = search.send(answer)
    except StopIteration as done:
        named: tuple[Group, ...] = done.value
        if named == (nodes,):
            return Breakage()  # nearly every launch breaks: the MPI is at fault, or what all share
        if named:
            found = [_searched(broken.launch, one, lines) for one in named]
            return Breakage(tuple(found), tuple(_dead(one) for one in named if len(one) < 3))
        return Breakage(repeats=False)
    if len(smallest) == len(nodes):
        return Breakage()
    what = f"launches of {between(smallest)} break; which of them is at fault is not known"
    return Breakage((_finding(broken.launch, smallest, what, tuple(lines)),))


def _of_nodes_alone(launch: PlannedLaunch, nodes: Group, breaks: Breaks) -> Breakage | None:
    """Nodes that break a launch without any other node in it, as those of others do not."""
    search = broken_alone(nodes)
    lines: list[str] = []
    words: dict[Group, str] = {}
    try:
        groups = next(search)
        while True:
            said = breaks(groups)
            words |= dict(zip(groups, said, strict=True))
            lines += [_line(group, bool(words[group])) for group in groups]
            groups = search.send(tuple(map(bool, said)))
    except StopIteration as done:
        alone: tuple[str, ...] = done.value
    if not alone:
        return None
    well = [line for line in lines if line.startswith(_WELL)][:3]
    found = [
        msgspec.structs.replace(
            _finding(
                launch, (node,), _what_alone(words[node,]), (words[node,], *well)
            ),
            remedy=_ALONE.format(node),
        )
        for node in alone
    ]  # fmt: skip
    return Breakage(tuple(found), tuple(_dead((node,)) for node in alone))


def _what_alone(message: str) -> str:
    words = message.partition("it said: ")[2].split(" | ")
    reason = next((f": {one}" for one in words if engine_gave_up((one,))), "")
    return f"a launch on it alone breaks{reason}"


_WELL = "went well"


def _line(group: Group, broke: bool) -> str:
    who = between(group) if len(group) > 1 else f"{group[0]} alone"
    return f"{'broke' if broke else _WELL}: a launch of {who}"


def _searched(launch: PlannedLaunch, nodes: Group, lines: Sequence[str]) -> Finding:
    evidence = tuple(line for line in lines if set(nodes) & set(line.replace(",", " ").split()))
    if len(nodes) > 2:
        what = "their launch breaks; no launch of a pair of them does"
        return _finding(launch, nodes, what, evidence)
    who = "it takes" if len(nodes) == 1 else "both take"
    return _finding(launch, nodes, f"every launch in which {who} part breaks", evidence)


def _finding(
    launch: PlannedLaunch, nodes: Sequence[str], what: str, evidence: tuple[str, ...]
) -> Finding:
    where = nodes[0] if len(nodes) == 1 else f"between {listed(nodes)}"
    remedy = (_OF_RANK if "rank" in what else _OF_SEARCH).format(",".join(nodes))
    return Finding(
        CHECK, Severity.FAIL, where, what, evidence, _WHY, remedy, tuple(nodes),
        launch.network or "",
    )  # fmt: skip


def told(ended: Ended, found: Breakage) -> Ended:
    """The end of a launch; its message names who broke it instead of the launcher's words."""
    if not found.findings:
        return ended
    message = "; ".join((*ended.changes, *(f"{one.where}: {one.what}" for one in found.findings)))
    return msgspec.structs.replace(ended, message=message, culprits=found.findings)


def culprits_of(findings: Iterable[Finding]) -> Iterator[ConnectionFault]:
    """The nodes and pairs that findings of a stored launch name."""
    yield from (_dead(one.nodes) for one in findings if 0 < len(one.nodes) < 3)


def _dead(nodes: Group) -> ConnectionFault:
    return ConnectionFault("node" if len(nodes) == 1 else "pair", tuple(nodes))
