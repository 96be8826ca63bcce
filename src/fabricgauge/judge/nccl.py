"""Judge the path by NCCL's and RCCL's own lines: sockets, GPUDirect RDMA, idle adapters."""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.judge.interface import Said
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.thresholds import MOVED_AT_ALL
from fabricgauge.model.evidence import Moved
from fabricgauge.model.nccl import SUITES, NcclAdapter, NcclDevice, NcclEvidence
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome
from fabricgauge.words import figures, sentences

#: Ways, and devices of a dump, that stand in the evidence.
MOST_LINES = 16
#: Below this share of an adapter's even part of the payload nothing that counts crossed it: what
#: opens connections and manages the fabric crosses each.
IDLE = 0.1
#: Beginnings of interfaces of RDMA adapters: IPoIB, and HPE's name for Slingshot's.
_RDMA_INTERFACES = ("ib", "hsn")
#: Variables that turn RDMA off, with the value that does (NCCL's documentation, "Environment").
_TURNED_OFF = {"NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket"}

_SOCKETS = (
    "find why NCCL has no RDMA adapter or plugin (its reasons are in the evidence): drivers and"
    " /dev/infiniband in the container, the plugin's library in LD_LIBRARY_PATH, NCCL_IB_DISABLE,"
    " NCCL_NET, NCCL_IB_HCA"
)
_DIRECT = (
    "load nvidia-peermem (AMD: a kernel with peer memory or dma-buf), turn ACS off between GPU and"
    " adapter, put both below one PCIe switch; NCCL_NET_GDR_LEVEL says how far apart they may be"
)
_ADAPTERS = (
    "look at NCCL_IB_HCA, at each adapter's link, and at which GPUs the ranks have; with"
    " NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH NCCL says how it chose"
)
_IDLE_CAUSE = "NCCL was told to leave them out, their links are down, or they are other GPUs'"
_ALONE = (
    "each rank ran alone: the program was built without MPI, or was started without mpirun",
    "build it with `make clean; make MPI=1 MPI_HOME=…` and start it with mpirun or srun",
)
_LOCAL = "the ranks share a node, or NCCL takes several containers for one (NCCL_HOSTID)"


def words(subject: Subject) -> Iterator[Said]:
    """Yield what each table of nccl-tests and rccl-tests gives away, one word after the other."""
    tables = {
        (curve.source, curve.first_line): curve for curve in subject.curves if curve.suite in SUITES
    }
    for curve in tables.values():
        place = f"{curve.source}:{curve.first_line}"
        if curve.ranks == 1:
            outcome = Outcome.INVALID if subject.claimed else Outcome.WARN
            sentence = f"{place}: one rank alone on one GPU: no byte crossed any network"
            yield Said(outcome, sentence, None, None, (), *_ALONE)
        elif curve.evidence.nccl is not None:
            yield from _judge_library(subject, curve, curve.evidence.nccl, place)


def _judge_library(
    subject: Subject, curve: SuiteCurve, log: NcclEvidence, place: str
) -> Iterator[Said]:
    evidence = tuple(_evidence(log, place))
    if log.sockets:
        yield _sockets(subject, log, place, evidence)
    elif log.crossing:
        verdicts = [*_without_gpudirect(log, place), *_idle(curve, log, place)]
        yield from (
            Said(
                verdict.outcome,
                verdict.summary,
                None,
                None,
                evidence,
                verdict.cause,
                verdict.remedy,
            )
            for verdict in verdicts
            or (Said(Outcome.PASS, f"{place}: {_by(log)}, by NCCL's own word"),)
        )
    elif log.ways:
        yield from _inside(subject, curve, log, place, evidence)


def _evidence(log: NcclEvidence, place: str) -> Iterator[str]:
    connections: Counter[str] = Counter()
    for way in log.ways:
        direct = ", GPUDirect RDMA" if way.direct else ""
        of = f" by {_name(log, way.node, way.adapter)}{direct}" if way.adapter is not None else ""
        connections[f"{way.node}: {way.via}{of}"] += way.connections
    for connection, count in sorted(connections.items())[:MOST_LINES]:
        yield f"{place}: {connection}, {sentences.counted(count, 'connection')}"
    yield from (f"{place}: NCCL says: {warning}" for warning in (*log.reasons, *log.warnings))

    for dump in log.dumps:
        yield from (f"{dump.source}: {_device(device)}" for device in dump.devices[:MOST_LINES])
        for graph in dump.graphs:
            by = sentences.listed([str(index) for index in graph.adapters]) or "none"
            between = figures.rate(graph.inter_bytes_per_s)
            yield (
                f"{dump.source}: graph {graph.identity}: {graph.channels} channels by adapters"
                f" {by}, {between} between nodes ({graph.inter})"
            )


def _device(device: NcclDevice) -> str:
    """``adapter 0 (mlx5_0): NUMA node 1, 200 Gb/s, GPUDirect RDMA``."""
    facts = [f"NUMA node {device.numa}"] if device.numa >= 0 else []
    facts += [figures.link_rate(device.rate_bit_s)] if device.rate_bit_s else []
    facts += [device.pcie] if device.pcie else []
    facts += [sentences.counted(device.links, "link") + " to other GPUs"] if device.links else []
    facts += ["GPUDirect RDMA" if device.direct else "no GPUDirect RDMA"]
    kind = "GPU" if device.kind == "gpu" else "adapter"
    return f"{kind} {device.index} ({device.name}): {', '.join(facts)}"


def _name(log: NcclEvidence, node: str, index: int | None) -> str:
    names = (
        adapter.name for adapter in log.adapters if (adapter.node, adapter.index) == (node, index)
    )
    return next(names, f"adapter {index}")


def _by(log: NcclEvidence) -> str:
    """``NET/IB by mlx5_0:1 and mlx5_1:1 with GPUDirect RDMA``."""
    vias = dict.fromkeys(way.via for way in log.crossing)
    names = dict.fromkeys(_name(log, way.node, way.adapter) for way in log.crossing)
    direct = " with GPUDirect RDMA" if all(way.direct for way in log.crossing) else ""
    return f"{sentences.listed(list(vias))} by {sentences.listed(list(names))}{direct}"


def _sockets(subject: Subject, log: NcclEvidence, place: str, evidence: tuple[str, ...]) -> Said:
    adapters = dict.fromkeys(adapter.name for adapter in log.adapters if _is_rdma(adapter))
    interfaces = dict.fromkeys(_name(log, way.node, way.adapter) for way in log.crossing)
    by = f" by {sentences.listed(list(interfaces))}"
    sentence = f"{place}: NCCL sent by sockets (TCP{by if interfaces else ''}), not by RDMA"
    if subject.medium == "tcp":
        return Said(
            Outcome.PASS, f"{sentence}, as the stated network is for TCP", None, None, evidence
        )
    off = [f"{name}={log.variables.get(name)} was set" for name, value in _TURNED_OFF.items()
           if log.variables.get(name) == value]  # fmt: skip
    cause = sentences.listed(off or list(log.reasons)[:2]) or "NCCL does not say why"
    if subject.medium:
        sentence += f", which {subject.name} is meant for"
    elif adapters:
        names = sentences.listed(list(adapters), 4)
        sentence += f", although RDMA adapters are there ({names})"
    outcome = Outcome.INVALID if subject.medium or adapters else Outcome.WARN
    return Said(outcome, sentence, None, None, evidence, cause, _SOCKETS)


def _is_rdma(adapter: NcclAdapter) -> bool:
    return bool(adapter.link) or adapter.name.startswith(_RDMA_INTERFACES)


def _without_gpudirect(log: NcclEvidence, place: str) -> Iterator[Said]:
    staged = [way for way in log.crossing if not way.direct]
    if not staged:
        return
    names = dict.fromkeys(f"{way.node}:{_name(log, way.node, way.adapter)}" for way in staged)
    why = [
        warning
        for warning in (*log.reasons, *log.warnings)
        if "GPU Direct" in warning or "GDR" in warning
    ]
    able = _able(log)
    lacks = any("no module" in line for line in why)
    sentence = f"{place}: no GPUDirect RDMA by {sentences.listed(list(names), 4)}"
    yield Said(
        Outcome.FAIL if able or lacks else Outcome.WARN,
        f"{sentence}: bytes go through host memory",
        cause=sentences.listed(why[:2]) or (able or "NCCL gave no reason in this log"),
        remedy=_DIRECT,
    )  # fmt: skip


def _able(log: NcclEvidence) -> str:
    """Check whether a dump shows that a GPU and an adapter of a node can do it."""
    for dump in log.dumps:
        able = {device.kind for device in dump.devices if device.direct}
        if able == {"gpu", "net"}:
            return f"{dump.source} says that GPU and adapter can do it"
    return ""


def _idle(curve: SuiteCurve, log: NcclEvidence, place: str) -> Iterator[Said]:
    """Adapters of a node that no connection uses, of the kind of those that are used.

    With as many GPUs as adapters each has one to use; designs share an adapter by two GPUs at the
    most, so fewer than half as many adapters as GPUs is a fault. A job on a part of a node's GPUs
    leaves other GPUs' adapters alone, which is told. Of a node whose ranks did not all tell nothing
    is said.
    """
    hosts = Counter(curve.evidence.rank_hosts)
    ranks_by_node = Counter(rank.node for rank in log.ranks)
    for node in dict.fromkeys(adapter.node for adapter in log.adapters if adapter.link):
        mine = {
            adapter.index: adapter
            for adapter in log.adapters
            if adapter.node == node and adapter.link
        }
        used = {way.adapter or 0 for way in log.crossing if way.node == node}
        if not used or not used <= mine.keys():  # those that NCCL joined have numbers of their own
            continue
        links = {mine[index].link for index in used}
        idle = [
            adapter.name
            for index, adapter in mine.items()
            if index not in used and adapter.link in links
        ]
        if not idle:
            continue
        gpus = hosts.get(node) or log.local_ranks or 1
        if ranks_by_node[node] < gpus:
            continue
        enough = min(len(used) + len(idle), (gpus + 1) // 2)
        carried = sentences.listed(
            [adapter.name for index, adapter in mine.items() if index in used]
        )
        yield Said(
            Outcome.FAIL if len(used) < enough else Outcome.WARN,
            f"{place}: on {node} {sentences.counted(gpus, 'GPU')} used {carried} alone;"
            f" nothing went by {sentences.listed(idle, 8)}",
            cause=_IDLE_CAUSE,
            remedy=_ADAPTERS,
        )


def _inside(
    subject: Subject, curve: SuiteCurve, log: NcclEvidence, place: str, evidence: tuple[str, ...]
) -> Iterator[Said]:
    vias = sentences.listed(list(dict.fromkeys(way.via for way in log.ways)))
    memory = subject.medium == "memory"
    stated = {node for launch in subject.launches for node in launch.nodes}
    several = len(set(curve.evidence.rank_hosts) | stated) > 1
    if log.multi_node_nvlink:
        yield Said(Outcome.PASS, f"{place}: NVLink joins the nodes ({vias}), by NCCL's own word")
    elif several or (subject.claimed and not memory):
        sentence = f"{place}: no connection left a node: all went by {vias}"
        yield Said(
            Outcome.INVALID, sentence, None, None, evidence, _LOCAL, "start ranks on both nodes"
        )
    elif memory and any(way.via == "SHM" for way in log.ways):
        sentence = f"{place}: GPUs exchanged by host memory (SHM), not by {subject.name}"
        remedy = "see `nvidia-smi topo -p2p r`, NCCL_P2P_DISABLE, NCCL_P2P_LEVEL"
        yield Said(
            Outcome.INVALID, sentence, None, None, evidence, "no peer access was used", remedy
        )
    else:
        yield Said(Outcome.PASS, f"{place}: inside a node by {vias}, by NCCL's own word")


def unconfirmed(subject: Subject) -> Iterator[Said]:
    """Adapters that NCCL names and whose own counters did not move with the payload."""
    for launch, evidence in zip(subject.launches, subject.evidence.launches, strict=True):
        log = next((curve.evidence.nccl for curve in launch.curves if curve.evidence.nccl), None)
        if log is None:
            continue
        hosts = {placement.rank: placement.host for placement in launch.placements}
        for moved in evidence.moved:
            node = hosts.get(moved.rank, moved.node)
            crossings = [crossing for crossing in log.crossing if crossing.node == node]
            names = dict.fromkeys(_name(log, node, crossing.adapter) for crossing in crossings)
            counted = {name: moved.sent_bytes[name] for name in names if name in moved.sent_bytes}
            if counted:
                yield from _against(f"launch {launch.number}", moved, counted)


def _against(place: str, moved: Moved, counted: dict[str, int]) -> Iterator[Said]:
    """Yield contradictions between a node's adapter counters, in bytes by name, and NCCL."""
    payload = moved.payload_bytes
    lines = tuple(f"{place}: {moved.node}: {name} sent {figures.amount(sent)} of"
                 f" {figures.amount(payload)}" for name, sent in counted.items())  # fmt: skip
    if sum(counted.values()) < MOVED_AT_ALL * payload:
        yield Said(
            Outcome.INVALID,
            f"{place}: NCCL names {sentences.listed(list(counted))} on {moved.node}, whose"
            f" counters moved by {figures.amount(sum(counted.values()))} of"
            f" {figures.amount(payload)}",
            evidence=lines,
            cause="the bytes took another way, or the driver counts elsewhere",
            remedy="look at the counters of all adapters in results.jsonl",
        )
        return
    if idle := without_traffic(counted, payload):
        yield Said(
            Outcome.FAIL,
            f"{place}: NCCL names {sentences.counted(len(counted), 'adapter')} on {moved.node};"
            f" next to nothing crossed {sentences.listed(idle, 8)}, by their own counters",
            evidence=lines, cause=_IDLE_CAUSE, remedy=_ADAPTERS,
        )  # fmt: skip


def without_traffic(counted: dict[str, int], payload_bytes: float) -> list[str]:
    """Return adapters that carried none of a shared payload, by the bytes that each sent."""
    least = IDLE * payload_bytes / len(counted)
    return [name for name, sent in counted.items() if sent < least]


def offload(curve: SuiteCurve) -> str:
    """Return ``SHARP`` or ``NVLS`` if named: more may arrive than the wire carries."""
    return curve.evidence.nccl.offloaded if curve.evidence.nccl else ""
