"""Does every node answer, and do its limits and its kernel's settings suit MPI? pure."""

import re
from collections.abc import Iterator

from fabricgauge.doctor.checks import (
    Check,
    examine_separately,
    explain_no_answer,
    make_finding,
)
from fabricgauge.doctor.places import Cluster, KnownNode, Place, find_outliers, get_rate
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.words import figures
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.sentences import listed


def _examine_answers(cluster: Cluster, _: object) -> Iterator[Finding]:
    for lost in cluster.preflight.fabric.unreached:
        yield make_finding(
            Severity.FAIL, lost.name, "does not answer", lost.reason, nodes=(lost.name,)
        )
    for node in cluster.nodes:
        if node.inventory.facts.get("answer") == "cut off":
            yield make_finding(
                Severity.WARN, node, "was cut off while it answered: the rest was not checked",
                *node.inventory.troubles, remedy=ASK_AGAIN,
                why="A check examines the answer, and finds nothing in the missing part.",
            )  # fmt: skip


ASK_AGAIN = (
    "ask the node once more; if it is cut off again, check whether it hangs or is overloaded"
)


REACH = Check(
    "reach",
    "Every node answers to the end",
    "Nothing can be started on a node that does not answer, and its state is unknown.",
    lambda cluster: (*cluster.answered_nodes, *cluster.preflight.fabric.unreached),
    explain_no_answer,
    _examine_answers,
    "check whether the node is up, and whether you can run a command there by the same launcher"
    " (ssh NODE true)",
)

MEMLOCK, FILES, SHM, MEMORY = (
    "max locked memory bytes", "max open files", "/dev/shm bytes", "memory bytes",  # noqa: S108
)  # fmt: skip

#: Minimum of a node without RDMA: Linux gave 64 KiB to every user until 5.15 and gives 8 MiB since
#: (include/uapi/linux/resource.h, MLOCK_LIMIT); less than 1 MiB is the old default, which io_uring,
#: XPMEM and GPU runtimes exceed.
MIN_MEMLOCK_BYTES = 1 << 20

#: With RDMA every buffer of every rank is locked: the limit must be nearly all of the memory, or at
#: least these bytes if the memory is unknown.
MIN_RDMA_SHARE, MIN_RDMA_BYTES = 0.9, 16 << 30

#: The usual soft limit: a rank opens a socket to each of the other ranks.
MIN_FILES = 1024

#: MPI's shared-memory transports take some MiB for all pairs of ranks together.
MIN_SHM_BYTES, MIN_SHM_SHARE = 64 << 20, 0.01

LIMITS_FILE = (
    "put '* soft memlock unlimited' and '* hard memlock unlimited' into /etc/security/limits.conf"
    " of the node and its image, and LimitMEMLOCK=infinity into the units of sshd and slurmd; log"
    " in again"
)

#: Root needs no limit (capabilities(7), CAP_IPC_LOCK), and ``*`` does not set root's limit
#: (limits.conf(5)): the users' limit is unknown.
AS_USER = (
    "check the users' limit (ulimit -l), because '*' in limits.conf does not apply to root;"
    f" {LIMITS_FILE}"
)


def _examine_limits(cluster: Cluster, _: object) -> Iterator[Finding]:
    for group in cluster.peer_groups:
        max_memlock, max_files = (
            max(limit if isinstance(limit := node.get_number(fact), float) else 0 for node in group)
            for fact in (MEMLOCK, FILES)
        )
        for node in group:
            yield from _examine_memlock(node, max_memlock, cluster.preflight.fabric.virtual)
            yield from _examine_files(node, max_files)
            yield from _examine_shm(node)


def _examine_memlock(node: KnownNode, peer_limit: float, is_virtual: bool) -> Iterator[Finding]:
    """Nodes of a lab have the limits of the user who started it: only differences count."""
    limit, memory = node.get_number(MEMLOCK), node.get_number(MEMORY)
    if isinstance(limit, Skipped):
        return
    severity, remedy = Severity.WARN, ""
    summary = f"may lock only {figures.memory(limit)} of memory"
    evidence = f"{node.name}: max locked memory {figures.memory(limit)}"
    required, share = float(MIN_RDMA_BYTES), figures.memory(MIN_RDMA_BYTES)
    if not isinstance(memory, Skipped):
        required, share = MIN_RDMA_SHARE * memory, f"{100 * MIN_RDMA_SHARE:g} % of the memory"
    if node.has_rdma and limit < required:
        summary += f", RDMA needs {share}"
        severity = Severity.FAIL
        if node.get_fact("user id") == "0":
            severity, remedy, evidence = Severity.WARN, AS_USER, f"{evidence} (root's)"
    elif limit < peer_limit:
        summary += f", like nodes {figures.memory(peer_limit)}"
    elif limit >= MIN_MEMLOCK_BYTES or is_virtual:
        return
    yield make_finding(severity, node, summary, evidence, remedy=remedy)


def _examine_files(node: KnownNode, peer_limit: float) -> Iterator[Finding]:
    limit = node.get_number(FILES)
    if isinstance(limit, Skipped) or (limit >= MIN_FILES and limit == peer_limit):
        return
    evidence = f"{node.name}: max open files {limit:,.0f}; like nodes {peer_limit:,.0f}"
    yield make_finding(
        Severity.WARN, node, f"may open only {limit:,.0f} files", evidence,
        remedy="raise nofile in /etc/security/limits.conf and LimitNOFILE of sshd and slurmd",
    )  # fmt: skip


def _examine_shm(node: KnownNode) -> Iterator[Finding]:
    size, memory = node.get_number(SHM), node.get_number(MEMORY)
    if isinstance(size, Skipped):
        return
    required, total = float(MIN_SHM_BYTES), ""
    if not isinstance(memory, Skipped):
        required = max(required, MIN_SHM_SHARE * memory)
        total = f" of {figures.memory(memory)} of memory"
    if size < required:
        yield make_finding(
            Severity.WARN, node, f"has only {figures.memory(size)} in /dev/shm",
            f"{node.name}: /dev/shm has {figures.memory(size)}{total}",
            remedy="mount -o remount,size=50% /dev/shm, and the same in /etc/fstab of the image",
        )  # fmt: skip


LIMITS = Check(
    "limits",
    "Locked memory, open files and /dev/shm suffice for MPI",
    "RDMA and shared-memory transports lock and share memory; without permission MPI fails or falls"
    " back to something slower.",
    lambda cluster: [
        node
        for node in cluster.nodes
        if any(isinstance(node.get_number(fact), float) for fact in (MEMLOCK, SHM))
    ],
    "no node reports its limits",
    _examine_limits,
    LIMITS_FILE,
)

#: Governors that lower the frequency of a processor that waits (Linux,
#: Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst).
SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil", "userspace"})


def _examine_governor(node: KnownNode) -> Iterator[Finding]:
    governor = node.get_fact("cpu governor")
    if governor in SAVING:
        evidence = f"{node.name}: scaling_governor {governor}"
        mend = Command(node.name, ("cpupower", "frequency-set", "-g", "performance"))
        summary = f"has the frequency governor {governor}"
        yield make_finding(Severity.WARN, node, summary, evidence, mends=[mend])


GOVERNOR = Check(
    "governor",
    "The processors' frequency governor is performance",
    "A processor that slows down between messages adds microseconds to latency, and they vary.",
    lambda cluster: [node for node in cluster.nodes if node.get_fact("cpu governor")],
    "no node reports its governor: virtual machines have none",
    examine_separately(_examine_governor),
    "set it to performance, also at each start (tuned-adm profile network-latency or hpc-compute)",
    "the nodes share one machine's processors",
)

COMMAND_LINE = "kernel command line"

#: Options that limit how deep a waiting processor sleeps, and the deepest state that wakes in about
#: a microsecond (Linux, Documentation/admin-guide/kernel-parameters.txt and pm/intel_idle.rst).
INTEL_STATES, ANY_STATES, SHALLOW = "intel_idle.max_cstate", "processor.max_cstate", 1


def _examine_sleep_states(node: KnownNode) -> Iterator[Finding]:
    """Report a command line that asks for deep states.

    ``intel_idle.max_cstate=0`` leaves the states to ``processor.max_cstate``.
    """
    options = dict(word.partition("=")[::2] for word in node.get_fact(COMMAND_LINE).split())
    limits = {
        name: int(options[name])
        for name in (INTEL_STATES, ANY_STATES)
        if options.get(name, "").isdecimal()
    }
    name = INTEL_STATES if limits.get(INTEL_STATES) else ANY_STATES
    is_deep = limits.get(name, 0) > SHALLOW and options.get("idle") not in ("poll", "halt")
    if is_deep and not node.get_fact("virtual machine"):
        summary = f"permits deep sleep states on its kernel's command line ({name}={limits[name]})"
        yield make_finding(Severity.NOTE, node, summary, f"{node.name}: {name}={limits[name]}")


IDLE = Check(
    "idle",
    "The kernel's command line asks for no deep sleep states of processors",
    "A processor that sleeps deeply takes 50 to 200 µs to wake: each message to a waiting process"
    " over TCP may be that much later.",
    lambda cluster: [node for node in cluster.nodes if COMMAND_LINE in node.facts],
    "no node reports its kernel's command line",
    examine_separately(_examine_sleep_states),
    "put intel_idle.max_cstate=1 processor.max_cstate=1 on the command line, or use a profile that"
    " holds /dev/cpu_dma_latency low (tuned-adm profile network-latency); none, if saving power is"
    " more important",
    "the nodes share one kernel",
)

FACT = "transparent hugepages"


def _get_mode(node: KnownNode) -> str:
    """Return the word in brackets: ``always [madvise] never``."""
    return node.get_fact(FACT).partition("[")[2].partition("]")[0]


def _examine_huge_pages(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    common, outliers = find_outliers(
        {node.name: mode for node in group if (mode := _get_mode(node))}
    )
    for node in group:
        mode = _get_mode(node)
        evidence = f"{node.name}: {FACT}: {mode}"
        if node.name in outliers and isinstance(common, str):
            summary = f"has transparent huge pages set to {mode}, like nodes to {common}"
            yield make_finding(Severity.WARN, node, summary, evidence)
        elif mode == "never":
            summary = "has transparent huge pages switched off"
            yield make_finding(Severity.NOTE, node, summary, evidence)


THP = Check(
    "thp",
    "Transparent huge pages are on, and the same on like nodes",
    "Large buffers in small pages cost registration time and TLB misses; nodes then differ.",
    lambda cluster: cluster.peer_groups if any(map(_get_mode, cluster.nodes)) else (),
    "no node reports its setting of transparent huge pages",
    examine_separately(_examine_huge_pages),
    "write madvise or always to /sys/kernel/mm/transparent_hugepage/enabled, also at each start"
    " (kernel command line: transparent_hugepage=madvise)",
    "the nodes share one kernel",
)

#: Options that switch translation on, that let the kernel's own devices bypass it, and that make it
#: strict (Linux, Documentation/admin-guide/kernel-parameters.txt).
ON = ("intel_iommu=on", "amd_iommu=on", "iommu=force", "iommu=nopt", "iommu.passthrough=0")
PASSING = ("iommu=pt", "iommu.passthrough=1", "intel_iommu=off", "amd_iommu=off", "iommu=off")
STRICT = ("iommu.strict=1", "intel_iommu=strict", "iommu=strict")

#: Linux, Documentation/ABI/testing/sysfs-kernel-iommu_groups: types of a group's domain.
TRANSLATING = {"DMA": "each packet in strict mode", "DMA-FQ": "in lazy mode"}

IOMMU_FAST_BIT_S = 10e9


def _examine_iommu(node: KnownNode) -> Iterator[Finding]:
    """Use the kernel's types of groups; without them, use the command line."""
    rates = map(get_rate, node.probe.interfaces)
    is_fast = node.has_rdma or node.inventory.gpus or max(rates, default=0.0) >= IOMMU_FAST_BIT_S
    types, options = _find_iommu_types(node), node.get_fact(COMMAND_LINE).split()
    evidence = [
        f"{node.name}: {listed(names)}: {kind}, {TRANSLATING[kind]}"
        for kind in dict.fromkeys(types.values())
        if kind in TRANSLATING and (names := [name for name in types if types[name] == kind])
    ]
    translating_options = [option for option in options if option in (*ON, *STRICT)]
    is_off = any(option in PASSING for option in options) or node.get_number("iommu groups") == 0.0
    if not types and translating_options and not is_off:
        evidence = [f"{node.name}: kernel command line has {' '.join(translating_options)}"]
    if evidence and is_fast and not node.get_fact("virtual machine"):
        summary = "has an IOMMU that translates for the kernel's own devices"
        yield make_finding(Severity.WARN, node, summary, *evidence)


def _find_iommu_types(node: KnownNode) -> dict[str, str]:
    """Return the known group type of each fast port, RDMA device and GPU."""
    names = [port.name for port in node.probe.interfaces if get_rate(port) >= IOMMU_FAST_BIT_S]
    names += [device for adapter in node.adapters for device in adapter.rdma_devices]
    names += [port.device for port in node.inventory.rdma_ports]
    buses = {f"GPU {gpu.index}": gpu.bus for gpu in node.inventory.gpus if gpu.bus}
    fact_keys = {name: name for name in names} | buses
    types = {name: node.get_fact(f"iommu type of {key}") for name, key in fact_keys.items()}
    return {name: kind for name, kind in types.items() if kind}


IOMMU = Check(
    "iommu",
    "No IOMMU translates the addresses of fast adapters and GPUs",
    "Translating each buffer costs processors and bandwidth; strict mode does so at each packet."
    " GPUs and adapters no longer reach each other directly.",
    lambda cluster: [
        node for node in cluster.nodes if COMMAND_LINE in node.facts or _find_iommu_types(node)
    ],
    "no node reports its IOMMU's groups or its kernel's command line",
    examine_separately(_examine_iommu),
    "put iommu=pt on the kernel's command line (grubby, or the image's boot parameters) and restart"
    " the node",
    "the nodes share one kernel",
)

#: From this rate on one processor is the limit; a node needs this many processors to spread.
IRQS_FAST_BIT_S, MIN_PROCESSORS = 10e9, 4

_SPREAD = re.compile(r"(\d{1,6}) on (\d{1,6}) processors?")


def _find_interrupts(cluster: Cluster) -> list[tuple[Place, int, int]]:
    return [
        (Place(node, interface), int(spread[1]), int(spread[2]))
        for node in cluster.nodes
        for interface in node.probe.interfaces
        if (spread := _SPREAD.fullmatch(node.get_fact(f"irqs of {interface.name}")))
    ]


def _examine_interrupts(port_interrupts: tuple[Place, int, int]) -> Iterator[Finding]:
    place, interrupts, processors = port_interrupts
    node, rate_bit_s = place.node, get_rate(place.interface)
    can_spread = node.probe.cpu_count >= MIN_PROCESSORS
    if rate_bit_s >= IRQS_FAST_BIT_S and interrupts > 1 >= processors and can_spread:
        yield make_finding(
            Severity.WARN, place, "has all its interrupts on one processor",
            f"{place.label} at {link_rate(rate_bit_s)}: {interrupts} interrupts on 1 processor",
            f"{node.name} has {node.probe.cpu_count} processors",
            f"service irqbalance: {node.facts.get('service irqbalance', 'unknown')}",
        )  # fmt: skip


IRQS = Check(
    "irqs",
    "A fast port's interrupts are spread over several processors",
    "One processor handles some 10 to 20 Gb/s of TCP; the port cannot carry more than it does.",
    _find_interrupts,
    "no node reports which processors take the interrupts of its ports",
    examine_separately(_examine_interrupts),
    "let irqbalance run (systemctl enable --now irqbalance), or set the affinity with the driver's"
    " script (set_irq_affinity)",
    "the nodes share one kernel",
)
