"""Judge the path by NCCL's and RCCL's own lines: sockets, GPUDirect RDMA, idle adapters."""

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from fabricgauge.judge.evidence.traffic import IDLE, without_traffic
from fabricgauge.judge.interface import Subject
from fabricgauge.judge.thresholds import MOVED_AT_ALL
from fabricgauge.model.evidence import LaunchTraffic
from fabricgauge.model.nccl import SUITES, NcclDevice, NcclEvidence, NcclWay
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words import figures, sentences

#: Most connections, and most devices of a dump, in the evidence.
MOST_LINES = 16
#: Prefixes of interface names of RDMA adapters: IPoIB, and HPE's Slingshot.
_RDMA_INTERFACES = ("ib", "hsn")
#: Variables that turn RDMA off, with their value (NCCL's documentation, "Environment").
_TURNED_OFF = {"NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket"}

_SOCKETS = (
    "find why NCCL has no RDMA adapter or plugin (the evidence has its reasons): check drivers and"
    " /dev/infiniband in the container, the plugin's library in LD_LIBRARY_PATH, NCCL_IB_DISABLE,"
    " NCCL_NET, NCCL_IB_HCA"
)
_DIRECT = (
    "load nvidia-peermem (AMD: a kernel with peer memory or dma-buf), turn ACS off between GPU and"
    " adapter, put both below one PCIe switch; NCCL_NET_GDR_LEVEL sets how far apart they may be"
)
FIND_ADAPTERS = (
    "check NCCL_IB_HCA, each adapter's link, and the GPUs of the ranks; with"
    " NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH NCCL prints how it chose"
)
_IDLE_CAUSE = (
    "NCCL_IB_HCA leaves them out, their links are down, or they belong to GPUs that no rank used"
)
MISSING = (
    "NCCL_IB_HCA or the container leaves the others out, their links are down, or the node has"
    " fewer than stated"
)
_ALONE = (
    "each rank ran alone: the program was built without MPI, or it was started without mpirun",
    "build it with `make clean; make MPI=1 MPI_HOME=…` and start it with mpirun or srun",
)
_LOCAL = "the ranks share a node, or NCCL takes several containers for one node (NCCL_HOSTID)"


def judge_paths(subject: Subject) -> Iterator[Verdict]:
    """Yield verdicts on the path of each table of nccl-tests and rccl-tests."""
    tables = {curve.place: curve for curve in subject.curves if curve.suite in SUITES}
    for place, curve in tables.items():
        if curve.ranks == 1:
            outcome = Outcome.INVALID if subject.claimed else Outcome.WARN
            sentence = f"{place}: one rank ran alone on one GPU: no byte crossed a network"
            yield Verdict(outcome, sentence, None, None, (), *_ALONE)
        elif curve.evidence.nccl is not None:
            yield from _judge_library(subject, curve, curve.evidence.nccl, place)


def describe_missing_adapters(subject: Subject, curve: SuiteCurve) -> str:
    """Return a sentence if NCCL found fewer adapters on a node than rails are stated, or empty."""
    log = curve.evidence.nccl
    names_by_node: dict[str, list[str]] = {}
    for adapter in log.adapters if log else ():
        if adapter.link:
            names_by_node.setdefault(adapter.node, []).append(adapter.name)
    # NCCL names adapters that it joins with a plus sign.
    node, names = min(
        names_by_node.items(), key=lambda item: "+".join(item[1]).count("+"), default=("", [])
    )
    count = len("+".join(names).split("+"))
    if not names or count >= subject.rails:
        return ""
    adapters = f"{sentences.counted(count, 'adapter')} on {node} ({sentences.listed(names, 8)})"
    return f"NCCL found {adapters}, but {subject.name} has {subject.rails} rails"


def _judge_library(
    subject: Subject, curve: SuiteCurve, log: NcclEvidence, place: str
) -> Iterator[Verdict]:
    evidence = tuple(_list_evidence(log, place))
    if missing := describe_missing_adapters(subject, curve):
        sentence = f"{place}: {missing}"
        yield Verdict(Outcome.WARN, sentence, None, None, evidence, MISSING, FIND_ADAPTERS)
    if log.sockets:
        yield _judge_sockets(subject, log, place, evidence)
    elif log.crossing:
        verdicts = [*_find_staged(log, place), *_find_idle_adapters(curve, log, place)]
        vias = sentences.listed(list(dict.fromkeys(crossing.via for crossing in log.crossing)))
        direct = all(crossing.direct for crossing in log.crossing)
        path = f"{vias} by {sentences.listed(_name_adapters(log))}"
        shown = f"{place}: NCCL's log shows {path}{' with GPUDirect RDMA' if direct else ''}"
        for verdict in verdicts or [Verdict(Outcome.PASS, shown)]:
            yield replace(verdict, evidence=evidence)
    elif log.ways:
        yield from _judge_inside_node(subject, curve, log, place, evidence)


def _list_evidence(log: NcclEvidence, place: str) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for connection in log.ways:
        way = f"{connection.node}: {connection.via}"
        if connection.adapter is not None:
            direct = ", GPUDirect RDMA" if connection.direct else ""
            way += f" by {_name_adapter(log, connection)}{direct}"
        counts[way] += connection.connections
    for line, count in sorted(counts.items())[:MOST_LINES]:
        yield f"{place}: {line}, {sentences.counted(count, 'connection')}"
    yield from (f"{place}: NCCL: {warning}" for warning in (*log.reasons, *log.warnings))

    for dump in log.dumps:
        yield from (
            f"{dump.source}: {_describe_device(device)}" for device in dump.devices[:MOST_LINES]
        )
        for graph in dump.graphs:
            by = sentences.listed([str(index) for index in graph.adapters]) or "none"
            between = figures.rate(graph.inter_bytes_per_s)
            yield (
                f"{dump.source}: graph {graph.identity}: {graph.channels} channels by adapters"
                f" {by}, {between} between nodes ({graph.inter})"
            )


def _describe_device(device: NcclDevice) -> str:
    """Return ``adapter 0 (mlx5_0): NUMA node 1, 200 Gb/s, GPUDirect RDMA``."""
    facts = [f"NUMA node {device.numa}"] if device.numa >= 0 else []
    facts += [figures.link_rate(device.rate_bit_s)] if device.rate_bit_s else []
    facts += [device.pcie] if device.pcie else []
    facts += [sentences.counted(device.links, "link") + " to other GPUs"] if device.links else []
    facts += ["GPUDirect RDMA" if device.direct else "no GPUDirect RDMA"]
    kind = "GPU" if device.kind == "gpu" else "adapter"
    return f"{kind} {device.index} ({device.name}): {', '.join(facts)}"


def _name_adapter(log: NcclEvidence, connection: NcclWay) -> str:
    place = connection.node, connection.adapter
    names = (adapter.name for adapter in log.adapters if (adapter.node, adapter.index) == place)
    return next(names, f"adapter {connection.adapter}")


def _name_adapters(log: NcclEvidence) -> list[str]:
    """Return the adapters that carried bytes between nodes."""
    return list(dict.fromkeys(_name_adapter(log, crossing) for crossing in log.crossing))


def _judge_sockets(
    subject: Subject, log: NcclEvidence, place: str, evidence: tuple[str, ...]
) -> Verdict:
    rdma_adapters = dict.fromkeys(
        adapter.name
        for adapter in log.adapters
        if adapter.link or adapter.name.startswith(_RDMA_INTERFACES)
    )
    used = _name_adapters(log)
    if used == ["lo"]:
        return Verdict(
            Outcome.INVALID, f"{place}: NCCL used the loopback interface, not a network",
            None, None, evidence, "the ranks share a machine, or NCCL_SOCKET_IFNAME is lo",
            "start ranks on both nodes, and set NCCL_SOCKET_IFNAME to the network's interface",
        )  # fmt: skip
    by = f" by {sentences.listed(used)}" if used else ""
    sentence = f"{place}: NCCL used sockets (TCP{by}), not RDMA"
    if subject.medium == "tcp":
        summary = f"{sentence}, as the stated network requires"
        return Verdict(Outcome.PASS, summary, evidence=evidence)
    settings = [f"{name}={log.variables.get(name)} was set" for name, value in _TURNED_OFF.items()
           if log.variables.get(name) == value]  # fmt: skip
    cause = sentences.listed(settings or list(log.reasons)[:2]) or "NCCL gives no reason"
    if subject.medium:
        sentence += f", but {subject.name} is an RDMA network"
    elif rdma_adapters:
        names = sentences.listed(list(rdma_adapters), 4)
        sentence += f", although the node has RDMA adapters ({names})"
    outcome = Outcome.INVALID if subject.medium or rdma_adapters else Outcome.WARN
    return Verdict(outcome, sentence, None, None, evidence, cause, _SOCKETS)


def _find_staged(log: NcclEvidence, place: str) -> Iterator[Verdict]:
    staged = [crossing for crossing in log.crossing if not crossing.direct]
    if not staged:
        return
    names = dict.fromkeys(f"{crossing.node}:{_name_adapter(log, crossing)}" for crossing in staged)
    reasons = [
        warning
        for warning in (*log.reasons, *log.warnings)
        if "GPU Direct" in warning or "GDR" in warning
    ]
    # A dump shows that GPU and adapter are capable of it.
    sources = (
        f"{dump.source} shows that GPU and adapter support GPUDirect RDMA"
        for dump in log.dumps
        if {device.kind for device in dump.devices if device.direct} == {"gpu", "net"}
    )
    capable = next(sources, "")
    no_module = any("no module" in line for line in reasons)
    sentence = f"{place}: no GPUDirect RDMA by {sentences.listed(list(names), 4)}"
    yield Verdict(
        Outcome.FAIL if capable or no_module else Outcome.WARN,
        f"{sentence}: the bytes go through host memory",
        cause=sentences.listed(reasons[:2]) or (capable or "NCCL gives no reason in this log"),
        remedy=_DIRECT,
    )  # fmt: skip


def _find_idle_adapters(curve: SuiteCurve, log: NcclEvidence, place: str) -> Iterator[Verdict]:
    """Yield adapters of a node that no connection uses, of the same kind as the used ones.

    With as many GPUs as adapters each GPU has one. Two GPUs at most share an adapter by design, so
    fewer adapters than half the GPUs is a fault. A job on some of a node's GPUs may leave the other
    adapters idle: that is a warning. A node is left out if the log lacks some of its ranks.
    """
    hosts = Counter(curve.evidence.rank_hosts)
    ranks_by_node = Counter(rank.node for rank in log.ranks)
    for node in dict.fromkeys(adapter.node for adapter in log.adapters if adapter.link):
        linked_adapters = {
            adapter.index: adapter
            for adapter in log.adapters
            if adapter.node == node and adapter.link
        }
        used_indexes = {crossing.adapter or 0 for crossing in log.crossing if crossing.node == node}
        # NCCL numbers adapters that it joins anew.
        if not used_indexes or not used_indexes <= linked_adapters.keys():
            continue
        links = {linked_adapters[index].link for index in used_indexes}
        idle = [
            adapter.name
            for index, adapter in linked_adapters.items()
            if index not in used_indexes and adapter.link in links
        ]
        gpus = hosts.get(node) or log.local_ranks or 1
        if not idle or ranks_by_node[node] < gpus:
            continue
        min_used = min(len(used_indexes) + len(idle), (gpus + 1) // 2)
        carried = sentences.listed(
            [adapter.name for index, adapter in linked_adapters.items() if index in used_indexes]
        )
        yield Verdict(
            Outcome.FAIL if len(used_indexes) < min_used else Outcome.WARN,
            f"{place}: on {node} {sentences.counted(gpus, 'GPU')} used only {carried};"
            f" no connection used {sentences.listed(idle, 8)}",
            cause=_IDLE_CAUSE,
            remedy=FIND_ADAPTERS,
        )


def _judge_inside_node(
    subject: Subject, curve: SuiteCurve, log: NcclEvidence, place: str, evidence: tuple[str, ...]
) -> Iterator[Verdict]:
    vias = sentences.listed(list(dict.fromkeys(connection.via for connection in log.ways)))
    memory = subject.medium == "memory"
    stated = {node for launch in subject.launches for node in launch.nodes}
    has_several_nodes = len(set(curve.evidence.rank_hosts) | stated) > 1
    if log.multi_node_nvlink:
        yield Verdict(
            Outcome.PASS, f"{place}: NCCL's log shows that NVLink joins the nodes ({vias})"
        )
    elif has_several_nodes or (subject.claimed and not memory):
        sentence = f"{place}: no connection left a node: all used {vias}"
        yield Verdict(
            Outcome.INVALID, sentence, None, None, evidence, _LOCAL, "start ranks on both nodes"
        )
    elif memory and any(connection.via == "SHM" for connection in log.ways):
        sentence = f"{place}: the GPUs used host memory (SHM), not {subject.name}"
        remedy = "check `nvidia-smi topo -p2p r`, NCCL_P2P_DISABLE and NCCL_P2P_LEVEL"
        cause = "the GPUs did not use peer access"
        yield Verdict(Outcome.INVALID, sentence, None, None, evidence, cause, remedy)
    else:
        yield Verdict(Outcome.PASS, f"{place}: NCCL's log shows {vias} inside a node")


def judge_counters(subject: Subject) -> Iterator[Verdict]:
    """Yield adapters that NCCL names but whose counters did not rise with the payload."""
    for launch, evidence in zip(subject.launches, subject.evidence.launches, strict=True):
        log = next((curve.evidence.nccl for curve in launch.curves if curve.evidence.nccl), None)
        if log is None:
            continue
        hosts = {placement.rank: placement.host for placement in launch.placements}
        for moved in evidence.moved:
            node = hosts.get(moved.rank, moved.node)
            crossings = (crossing for crossing in log.crossing if crossing.node == node)
            names = dict.fromkeys(_name_adapter(log, crossing) for crossing in crossings)
            counted = {name: moved.sent_bytes[name] for name in names if name in moved.sent_bytes}
            if counted:
                yield from _compare_counters(f"launch {launch.number}", moved, counted)


def _compare_counters(
    place: str, moved: LaunchTraffic, counted: dict[str, int]
) -> Iterator[Verdict]:
    """Yield contradictions between a node's adapter counters, in bytes by name, and NCCL."""
    payload = moved.payload_bytes
    total, of_payload = sum(counted.values()), f"of {figures.amount(payload)}"
    lines = tuple(
        f"{place}: {moved.node}: {name} sent {figures.amount(sent)} {of_payload}"
        for name, sent in counted.items()
    )
    if total < MOVED_AT_ALL * payload:
        yield Verdict(
            Outcome.INVALID,
            f"{place}: NCCL names {sentences.listed(list(counted))} on {moved.node}, but"
            f" their counters rose by {figures.amount(total)} {of_payload}",
            evidence=lines,
            cause="the bytes took another path, or the driver counts elsewhere",
            remedy="check the counters of all adapters in results.jsonl",
        )
        return
    if idle := without_traffic(counted, payload):
        yield Verdict(
            Outcome.FAIL,
            f"{place}: NCCL names {sentences.counted(len(counted), 'adapter')} on {moved.node};"
            f" by their counters {sentences.listed(idle, 8)} sent less than"
            f" {figures.percent(IDLE)} of an even part",
            evidence=lines, cause=_IDLE_CAUSE, remedy=FIND_ADAPTERS,
        )  # fmt: skip


def find_offload(curve: SuiteCurve) -> str:
    """Return ``SHARP`` or ``NVLS`` if named: more may arrive than the wire carries."""
    return curve.evidence.nccl.offloaded if curve.evidence.nccl else ""
