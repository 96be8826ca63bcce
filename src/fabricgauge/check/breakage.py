"""Find the node or pair that broke a launch, from evidence or by further launches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from time import monotonic

import msgspec

from fabricgauge.check.notes import quick_findings
from fabricgauge.check.plan.outlook import estimated_s
from fabricgauge.check.plan.search import Group, search_alone, search_culprits
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import try_connections
from fabricgauge.doctor.reachability import ConnectionFault, find_connection_faults
from fabricgauge.lab.host_access import head_name
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.preflight import Connectivity, FailedConnection, Preflight
from fabricgauge.model.run import Ended
from fabricgauge.model.words.sentences import between, listed
from fabricgauge.nodes.discover.interface import discover_head
from fabricgauge.nodes.launch.launch import engine_gave_up, find_lost_rank

#: The check of these findings, and the rule that judges them.
CHECK = "launch"
_CONSEQUENCE = "A job on these nodes hangs or aborts in the same way."
_RANK_REMEDY = (
    "on {0}: read journalctl -k and dmesg (out of memory, machine check); find what stopped or"
    " ended the process; check free memory and disk; then measure again with it"
)
_SEARCH_REMEDY = (
    "run fabricgauge doctor -w {0}; then check the adapters, drivers and firewall rules of these"
    " nodes"
)
_ALONE_REMEDY = (
    "on {0}: check that the engine and MPI's libraries are there and complete, as on the other"
    " nodes (ldd), and that the node can reach the machine that starts the launch"
)
_MPI = "the MPI"
_MEMORY_REMEDY = (
    "use an MPI that is built for this GPU; with UCX, see by ldd that no library of its"
    " ucx/libucm_*.so is missing, or set UCX_MEMTYPE_CACHE=n; then try osu_latency D D"
)
#: The words for SIGSEGV of a rank, from launchers and from Slurm.
_SEGMENTATION_FAULTS = ("SIGSEGV", "Segm")
#: Exit codes of a launch whose command was not understood: no node is at fault.
_NOT_UNDERSTOOD = frozenset({64, 65})
#: These, and the exit codes of a program that could not be started on a node.
_NOT_BY_NETWORK = _NOT_UNDERSTOOD | {126, 127}
#: The search for culprits lasts as long as the plan itself, but at least this long: a launch that
#: hangs is given up after 20 s.
SEARCH_S = 120.0

#: Makes short launches of groups of nodes at the same time; returns a message for each that broke,
#: and an empty one for each that went well.
Breaks = Callable[[Sequence[Group]], Sequence[str]]


class CulpritFindings(msgspec.Struct, frozen=True):
    """Name who broke a launch: ``findings`` for a reader, ``culprits`` for the next plan.

    ``repeats`` is false if a short launch of the same nodes did not break.
    """

    findings: tuple[Finding, ...] = ()
    culprits: tuple[ConnectionFault, ...] = ()
    repeats: bool = True


class FailedLaunch(msgspec.Struct, frozen=True):
    """Hold what is known of a launch that broke.

    ``lost`` is the trouble of nodes or their ranks, by node. ``printed`` is the output of launcher
    and ranks. ``began`` is true if ranks had begun to measure. ``unanswered`` are nodes with
    addresses to which they tried to connect in vain. ``memory`` is the plan's: that of the buffers.
    """

    launch: PlannedLaunch
    exit_code: int | None
    lost: dict[str, str]
    printed: str
    began: bool = True
    unanswered: frozenset[tuple[str, str]] = frozenset()
    memory: str = ""


def find_culprits(context: RunContext, failed: FailedLaunch, breaks: Breaks) -> CulpritFindings:
    """Find the culprits, cheapest evidence first.

    The order is: the memory of the buffers, the ranks' states, connections, the launcher's output,
    the nodes' settings, and at last launches of fewer nodes.
    """
    launch = failed.launch
    if context.target.simulation or len(set(launch.nodes)) < 2:
        return CulpritFindings()
    return (
        culprit_from_memory(failed)
        or culprit_from_states(failed)
        or culprit_from_unanswered(context.fabric, failed)
        or _culprit_from_connections(context, failed)
        or culprit_from_output(failed)
        or _culprit_from_settings(context, failed)
        or _culprit_from_search(context, failed, breaks)
    )


def culprit_from_memory(failed: FailedLaunch) -> CulpritFindings | None:
    """Return the MPI if a segmentation fault ended a rank whose buffers are not the host's.

    The node is sound: an MPI that is not built for its GPU reads the GPU's memory as the host's.
    """
    lost = find_lost_rank(failed.printed, failed.launch.nodes) if failed.memory else None
    if lost is None or not any(word in lost.event for word in _SEGMENTATION_FAULTS):
        return None
    evidence = (f"launch {failed.launch.number}: {', '.join(lost.nodes)}: {lost.line}",)
    trouble = f"{lost.event} at a message in {failed.memory} memory"
    finding = _finding(failed.launch, (), trouble, evidence)
    finding = msgspec.structs.replace(finding, where=_MPI, remedy=_MEMORY_REMEDY)
    return CulpritFindings((finding,))


def culprit_from_states(failed: FailedLaunch) -> CulpritFindings | None:
    """Return the nodes that are lost, or whose ranks are lost."""
    if not failed.lost:
        return None
    launch = failed.launch
    findings = (
        _finding(launch, (node,), trouble, (f"launch {launch.number}: {node}: {trouble}",))
        for node, trouble in failed.lost.items()
    )
    return CulpritFindings(tuple(findings), tuple(_culprit((node,)) for node in failed.lost))


def culprit_from_unanswered(fabric: Fabric, failed: FailedLaunch) -> CulpritFindings | None:
    """Return the fewest nodes and pairs that explain the unanswered connections of the launch."""
    launch = failed.launch
    nodes = dict.fromkeys(launch.nodes)
    members = [
        member
        for network in fabric.networks
        for member in network.members
        if network.name == launch.network and member.node in nodes
    ]
    node_at = {member.ip: member.node for member in members}
    address_of = {member.node: member.ip for member in members}
    failures = tuple(
        FailedConnection(source, node_at[ip], address_of.get(source, ""), ip, "no answer")
        for source, ip in sorted(failed.unanswered)
        if node_at.get(ip, source) != source
    )
    tried = dict.fromkeys(nodes, len(nodes) - 1)
    unreachable = find_connection_faults(Connectivity(launch.network or "", tried, failures))
    findings = tuple(_finding_of_unanswered(launch, culprit) for culprit in unreachable)
    return CulpritFindings(findings, unreachable) if findings else None


def _finding_of_unanswered(launch: PlannedLaunch, culprit: ConnectionFault) -> Finding:
    sources = list(dict.fromkeys(failure.source for failure in culprit.evidence))
    targets = list(dict.fromkeys(failure.target for failure in culprit.evidence))
    evidence = tuple(
        f"{failure.source} → {failure.target} ({failure.target_ip}): a TCP connection got no first"
        " answer in two looks (state SYN-SENT)"
        for failure in culprit.evidence
    )
    trouble = f"connections of {listed(sources)} to {listed(targets)} are not answered"
    return _finding(
        launch, culprit.named, f"{trouble} while launch {launch.number} waits", evidence
    )


def culprit_from_output(failed: FailedLaunch) -> CulpritFindings | None:
    lost = find_lost_rank(failed.printed, failed.launch.nodes)
    if lost is None:
        return None
    evidence = (f"launch {failed.launch.number}: {lost.line}",)
    finding = _finding(failed.launch, lost.nodes, lost.event, evidence)
    return CulpritFindings((finding,), (_culprit(lost.nodes),))


def culprit_from_pair(failed: FailedLaunch) -> CulpritFindings | None:
    """Return both nodes of a pair whose launch measured nothing: either may be at fault."""
    nodes = tuple(dict.fromkeys(failed.launch.nodes))
    if len(nodes) != 2 or failed.exit_code in _NOT_BY_NETWORK:
        return None
    first_line = next((line for line in failed.printed.splitlines() if line.strip()), "no output")
    evidence = (f"launch {failed.launch.number}: {first_line.strip()}",)
    finding = _finding(failed.launch, nodes, "their job measured nothing", evidence)
    return CulpritFindings((finding,), (_culprit(nodes),))


def _culprit_from_connections(context: RunContext, failed: FailedLaunch) -> CulpritFindings | None:
    """Return nodes and pairs whose connections fail now and did not before the launch."""
    launch = failed.launch
    networks = [network for network in context.fabric.ip_networks if network.name == launch.network]
    connectivities = try_connections(context.target, networks, context.directory)
    known_culprits = {
        frozenset(culprit.named) for culprit in context.culprits.get(launch.network or "", ())
    }
    new_culprits = tuple(
        culprit
        for connectivity in connectivities
        for culprit in find_connection_faults(connectivity)
        if frozenset(culprit.named) not in known_culprits
    )
    if not new_culprits:
        return None
    since = f"since launch {launch.number} broke"
    findings = (
        msgspec.structs.replace(finding, check=CHECK, what=f"{finding.what} {since}")
        for finding in quick_findings(context.fabric, connectivities)
        if finding.check == "connect"
    )
    return CulpritFindings(tuple(findings), new_culprits)


def _culprit_from_settings(context: RunContext, failed: FailedLaunch) -> CulpritFindings | None:
    """Return nodes with a wrong setting: a route by another network, or a name.

    A launcher connects nodes by their names before a rank begins; ranks do not need names.
    """
    from fabricgauge.doctor.doctor import find_wrong_names, run_checks
    from fabricgauge.doctor.survey import survey_nodes

    launch, target = failed.launch, context.target
    context.progress.stage("asking the nodes for their settings")
    inventories, fabric = survey_nodes(target.access, target.declared)
    keep = partial(context.directory.keep_raw, "head")
    head = discover_head(target.access, head_name(target.access), fabric, keep)
    all_findings = run_checks(Preflight(fabric, inventories, head=head)).findings
    findings = [finding for finding in all_findings if finding.network == launch.network]
    if not (failed.began or failed.exit_code in _NOT_BY_NETWORK or any(map(_fails, findings))):
        context.progress.stage("asking the nodes for each other's names")
        findings += find_wrong_names(target.access, target.declared)
    failing = tuple(
        msgspec.structs.replace(finding, check=CHECK, network=launch.network or "")
        for finding in findings
        if _fails(finding) and set(finding.nodes) <= set(launch.nodes)
    )
    nodes = dict.fromkeys(node for finding in failing for node in finding.nodes)
    culprits = tuple(_culprit((node,)) for node in nodes)
    return CulpritFindings(failing, culprits) if failing else None


def _fails(finding: Finding) -> bool:
    return finding.severity is Severity.FAIL


def _culprit_from_search(
    context: RunContext, failed: FailedLaunch, breaks: Breaks
) -> CulpritFindings:
    """Launch fewer and fewer nodes, for no longer than the plan itself lasts."""
    nodes = tuple(dict.fromkeys(failed.launch.nodes))
    if failed.exit_code in _NOT_UNDERSTOOD:
        return CulpritFindings()
    deadline = monotonic() + max(SEARCH_S, estimated_s(context.plan.launches))
    context.progress.stage("making short launches of fewer nodes")
    if alone := _culprits_alone(failed.launch, nodes, breaks):
        return alone
    if len(nodes) < 3 or failed.exit_code in _NOT_BY_NETWORK:
        return CulpritFindings()
    search, answer = search_culprits(nodes), False
    lines: list[str] = []
    smallest = nodes
    try:
        group = next(search)
        while monotonic() < deadline:
            answer = any(breaks((group,)))
            lines.append(_search_line(group, answer))
            smallest = group if answer and len(group) < len(smallest) else smallest
            group = search.send(answer)
    except StopIteration as end:
        named: tuple[Group, ...] = end.value
        if named == (nodes,):
            return CulpritFindings()  # the fault is in the MPI, or in a part that all nodes share
        findings = tuple(_finding_of_search(failed.launch, group, lines) for group in named)
        culprits = tuple(_culprit(group) for group in named if len(group) < 3)
        return CulpritFindings(findings, culprits, repeats=bool(named))
    if len(smallest) == len(nodes):
        return CulpritFindings()
    trouble = f"launches of {between(smallest)} break; the node at fault among them is unknown"
    return CulpritFindings((_finding(failed.launch, smallest, trouble, tuple(lines)),))


def _culprits_alone(launch: PlannedLaunch, nodes: Group, breaks: Breaks) -> CulpritFindings | None:
    """Return nodes that break a launch of their own, while other nodes' own launches go well."""
    search = search_alone(nodes)
    lines: list[str] = []
    words: dict[Group, str] = {}
    try:
        groups = next(search)
        while True:
            messages = breaks(groups)
            words |= dict(zip(groups, messages, strict=True))
            lines += [_search_line(group, bool(words[group])) for group in groups]
            groups = search.send(tuple(map(bool, messages)))
    except StopIteration as end:
        alone: tuple[str, ...] = end.value
    if not alone:
        return None
    well = [line for line in lines if line.startswith(_WELL)][:3]
    findings = []
    for node in alone:
        message = words[node,]
        printed = message.partition("it said: ")[2].split(" | ")
        reason = next((f": {line}" for line in printed if engine_gave_up((line,))), "")
        trouble = f"a launch on it alone breaks{reason}"
        finding = _finding(launch, (node,), trouble, (message, *well))
        findings.append(msgspec.structs.replace(finding, remedy=_ALONE_REMEDY.format(node)))
    return CulpritFindings(tuple(findings), tuple(_culprit((node,)) for node in alone))


_WELL = "went well"


def _search_line(group: Group, broke: bool) -> str:
    who = between(group) if len(group) > 1 else f"{group[0]} alone"
    return f"{'broke' if broke else _WELL}: a launch of {who}"


def _finding_of_search(launch: PlannedLaunch, nodes: Group, lines: Sequence[str]) -> Finding:
    evidence = tuple(line for line in lines if set(nodes) & set(line.replace(",", " ").split()))
    if len(nodes) > 2:
        trouble = "their launch breaks; no launch of a pair of them does"
        return _finding(launch, nodes, trouble, evidence)
    who = "it takes" if len(nodes) == 1 else "both take"
    return _finding(launch, nodes, f"every launch in which {who} part breaks", evidence)


def _finding(
    launch: PlannedLaunch, nodes: Sequence[str], trouble: str, evidence: tuple[str, ...]
) -> Finding:
    place = nodes[0] if len(nodes) == 1 else f"between {listed(nodes)}"
    remedy = (_RANK_REMEDY if "rank" in trouble else _SEARCH_REMEDY).format(",".join(nodes))
    return Finding(
        CHECK, Severity.FAIL, place, trouble, evidence, _CONSEQUENCE, remedy, tuple(nodes),
        launch.network or "",
    )  # fmt: skip


def with_findings(ended: Ended, culprits_found: CulpritFindings) -> Ended:
    if not culprits_found.findings:
        return ended
    findings = [f"{finding.where}: {finding.what}" for finding in culprits_found.findings]
    message = "; ".join((*ended.changes, *findings))
    return msgspec.structs.replace(ended, message=message, culprits=culprits_found.findings)


def culprits_from_findings(findings: Iterable[Finding]) -> Iterator[ConnectionFault]:
    """Yield the nodes and pairs that findings of a stored launch name."""
    yield from (_culprit(finding.nodes) for finding in findings if 0 < len(finding.nodes) < 3)


def _culprit(nodes: Group) -> ConnectionFault:
    return ConnectionFault("node" if len(nodes) == 1 else "pair", tuple(nodes))
