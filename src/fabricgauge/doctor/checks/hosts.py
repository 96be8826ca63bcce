"""Does every node answer, and do its limits and its kernel's settings suit MPI? pure."""

import re
from collections.abc import Iterator

from fabricgauge.doctor.check import Check, each, found, no_answer
from fabricgauge.doctor.places import Cluster, KnownNode, Place, rate, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.words import figures
from fabricgauge.words.figures import link_rate
from fabricgauge.words.sentences import listed


def _silent(cluster: Cluster, _: object) -> Iterator[Finding]:
    for lost in cluster.preflight.fabric.unreached:
        yield found(Severity.FAIL, lost.name, "does not answer", lost.reason, nodes=(lost.name,))
    for known in cluster.nodes:
        if known.inventory.facts.get("answer") == "cut off":
            cut = "was cut off while it answered: what is not known of it was not looked at"
            why = "A check looks at what a node said, and finds nothing in what is missing."
            yield found(Severity.WARN, known, cut, *known.inventory.troubles, remedy=AGAIN, why=why)


AGAIN = "ask the node once more; if it is cut off again, see whether it is hung or overloaded"


REACH = Check(
    "reach",
    "Every node answers to the end",
    "Nothing can be started on a node that does not answer, and nothing is known of it.",
    lambda cluster: (*cluster.asked, *cluster.preflight.fabric.unreached),
    no_answer,
    _silent,
    "see whether the node is up, and whether you can run a command there by the same launcher (ssh"
    " NODE true)",
)

MEMLOCK, FILES, SHM, MEMORY = (
    "max locked memory bytes", "max open files", "/dev/shm bytes", "memory bytes",  # noqa: S108
)  # fmt: skip

#: What a node without RDMA needs at least: Linux gave 64 KiB to everybody until 5.15 and gives
#: 8 MiB since (include/uapi/linux/resource.h, MLOCK_LIMIT); less than 1 MiB is the old default,
#: which io_uring, XPMEM and GPU runtimes run into.
LEAST_MEMLOCK_BYTES = 1 << 20

#: With RDMA every buffer of every rank is locked: the limit is all of the memory, or at least this.
LEAST_RDMA_BYTES = 16 << 30

#: The usual soft limit: a rank opens a socket to each of the others.
LEAST_FILES = 1024

#: What MPI's shared-memory transports take for each pair of ranks adds up to some MiB.
LEAST_SHM_BYTES, LEAST_SHM_SHARE = 64 << 20, 0.01

LIMITS_FILE = (
    "put '* soft memlock unlimited' and '* hard memlock unlimited' into /etc/security/limits.conf"
    " of the node and its image, and LimitMEMLOCK=infinity into the units of sshd and slurmd; log"
    " in anew"
)

#: Root needs no limit (capabilities(7), CAP_IPC_LOCK), and ``*`` does not set root's
#: (limits.conf(5)): what users may is not known.
AS_USER = f"see what users may (ulimit -l), since '*' in limits.conf is not for root; {LIMITS_FILE}"


def _limits(cluster: Cluster, _: object) -> Iterator[Finding]:
    for group in cluster.alike:
        memlock, files = (
            max((n for seen in group if isinstance(n := seen.number(fact), float)), default=0.0)
            for fact in (MEMLOCK, FILES)
        )
        for seen in group:
            yield from _memlock(seen, memlock, cluster.preflight.fabric.virtual)
            yield from _files(seen, files)
            yield from _shm(seen)


def _memlock(seen: KnownNode, most: float, virtual: bool) -> Iterator[Finding]:
    """Nodes of a lab have the limits of the user who brought it up: only differences count."""
    limit, memory = seen.number(MEMLOCK), seen.number(MEMORY)
    if isinstance(limit, Skipped):
        return
    severity, remedy, may = Severity.WARN, "", f"may lock only {figures.memory(limit)} of memory"
    told = f"{seen.name}: max locked memory {figures.memory(limit)}"
    enough = LEAST_RDMA_BYTES if isinstance(memory, Skipped) else 0.9 * memory
    if seen.has_rdma and limit < enough:
        may += ", and has RDMA"
        severity = Severity.FAIL
        if seen.fact("user id") == "0":
            severity, remedy, told = Severity.WARN, AS_USER, f"{told} (root's)"
    elif limit < most:
        may += f", like nodes {figures.memory(most)}"
    elif limit >= LEAST_MEMLOCK_BYTES or virtual:
        return
    yield found(severity, seen, may, told, remedy=remedy)


def _files(seen: KnownNode, most: float) -> Iterator[Finding]:
    limit = seen.number(FILES)
    if isinstance(limit, Skipped) or (limit >= LEAST_FILES and limit == most):
        return
    told = f"{seen.name}: max open files {limit:,.0f}; like nodes {most:,.0f}"
    remedy = "raise nofile in /etc/security/limits.conf and LimitNOFILE of sshd and slurmd"
    yield found(Severity.WARN, seen, f"may open only {limit:,.0f} files", told, remedy=remedy)


def _shm(seen: KnownNode) -> Iterator[Finding]:
    size, memory = seen.number(SHM), seen.number(MEMORY)
    if isinstance(size, Skipped):
        return
    share = 0.0 if isinstance(memory, Skipped) else LEAST_SHM_SHARE * memory
    if size < max(LEAST_SHM_BYTES, share):
        of = "" if isinstance(memory, Skipped) else f" of {figures.memory(memory)} of memory"
        told = f"{seen.name}: /dev/shm has {figures.memory(size)}{of}"
        remedy = "mount -o remount,size=50% /dev/shm, and the same in /etc/fstab of the image"
        what = f"has only {figures.memory(size)} in /dev/shm"
        yield found(Severity.WARN, seen, what, told, remedy=remedy)


LIMITS = Check(
    "limits",
    "Locked memory, open files and /dev/shm suffice for MPI",
    "RDMA and shared-memory transports lock and share memory; where they may not, MPI fails or"
    " falls back to something slower.",
    lambda cluster: [
        seen
        for seen in cluster.nodes
        if any(isinstance(seen.number(fact), float) for fact in (MEMLOCK, SHM))
    ],
    "no node says its limits",
    _limits,
    LIMITS_FILE,
)

#: Governors that lower the frequency of a processor that waits (Linux,
#: Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst).
SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil", "userspace"})


def _governor(seen: KnownNode) -> Iterator[Finding]:
    governor = seen.fact("cpu governor")
    if governor in SAVING:
        told = f"{seen.name}: scaling_governor {governor}"
        mend = Command(seen.name, ("cpupower", "frequency-set", "-g", "performance"))
        yield found(Severity.WARN, seen, f"its governor is {governor}", told, mends=[mend])


GOVERNOR = Check(
    "governor",
    "The processors' frequency governor is performance",
    "A processor that slows down between messages adds microseconds to latency, and they vary.",
    lambda cluster: [seen for seen in cluster.nodes if seen.fact("cpu governor")],
    "no node says its governor: virtual machines have none",
    each(_governor),
    "set it to performance, at each start as well (tuned-adm profile network-latency or"
    " hpc-compute)",
    "the nodes share one machine's processors",
)

COMMAND_LINE = "kernel command line"

#: Words that limit how deep a waiting processor sleeps, and states that wake in about a microsecond
#: (Linux, Documentation/admin-guide/kernel-parameters.txt and pm/intel_idle.rst).
INTEL_STATES, ANY_STATES, SHALLOW = "intel_idle.max_cstate", "processor.max_cstate", 1


def _sleeps(seen: KnownNode) -> Iterator[Finding]:
    """By the command line alone: it counts where it asks for deep states by itself.

    ``intel_idle.max_cstate=0`` leaves the states to the other driver.
    """
    words = dict(word.partition("=")[::2] for word in seen.fact(COMMAND_LINE).split())
    limits = {
        name: int(words[name])
        for name in (INTEL_STATES, ANY_STATES)
        if words.get(name, "").isdecimal()
    }
    name = INTEL_STATES if limits.get(INTEL_STATES) else ANY_STATES
    deep = limits.get(name, 0) > SHALLOW and words.get("idle") not in ("poll", "halt")
    if deep and not seen.fact("virtual machine"):
        what = f"its kernel's command line permits deep sleep states ({name}={limits[name]})"
        yield found(Severity.NOTE, seen, what, f"{seen.name}: {name}={limits[name]}")


IDLE = Check(
    "idle",
    "The kernel's command line asks for no deep sleep states of processors",
    "A processor that sleeps deeply takes 50 to 200 µs to wake: each message to a waiting process"
    " over TCP may be that much later.",
    lambda cluster: [seen for seen in cluster.nodes if COMMAND_LINE in seen.facts],
    "no node says its kernel's command line",
    each(_sleeps),
    "intel_idle.max_cstate=1 processor.max_cstate=1 on the command line, or a profile that holds"
    " /dev/cpu_dma_latency low (tuned-adm profile network-latency); none where saving power counts"
    " more",
    "the nodes share one kernel",
)

FACT = "transparent hugepages"


def _mode(seen: KnownNode) -> str:
    """The word in brackets: ``always [madvise] never``."""
    return seen.fact(FACT).partition("[")[2].partition("]")[0]


def _thp(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    common, odd = unusual({seen.name: mode for seen in group if (mode := _mode(seen))})
    for seen in group:
        mode = _mode(seen)
        told = f"{seen.name}: {FACT}: {mode}"
        if seen.name in odd and isinstance(common, str):
            yield found(Severity.WARN, seen, f"has huge pages {mode}, like nodes {common}", told)
        elif mode == "never":
            yield found(Severity.NOTE, seen, "has transparent huge pages switched off", told)


THP = Check(
    "thp",
    "Transparent huge pages are not off, and the same on like nodes",
    "Large buffers in small pages cost registration time and TLB misses; nodes then differ.",
    lambda cluster: cluster.alike if any(map(_mode, cluster.nodes)) else (),
    "no node says whether it has transparent huge pages",
    each(_thp),
    "write madvise or always to /sys/kernel/mm/transparent_hugepage/enabled, at each start as"
    " well (kernel command line: transparent_hugepage=madvise)",
    "the nodes share one kernel",
)

#: Linux, Documentation/admin-guide/kernel-parameters.txt: what switches translation on, what
#: lets the kernel's own devices pass by it, and what makes it strict.
ON = ("intel_iommu=on", "amd_iommu=on", "iommu=force", "iommu=nopt", "iommu.passthrough=0")
PASSING = ("iommu=pt", "iommu.passthrough=1", "intel_iommu=off", "amd_iommu=off", "iommu=off")
STRICT = ("iommu.strict=1", "intel_iommu=strict", "iommu=strict")

#: Linux, Documentation/ABI/testing/sysfs-kernel-iommu_groups: types of a group's domain.
TRANSLATING = {"DMA": "each packet in strict mode", "DMA-FQ": "in lazy mode"}

IOMMU_FAST_BIT_S = 10e9


def _iommu(seen: KnownNode) -> Iterator[Finding]:
    """By the command line, where the kernel does not say what it does."""
    fast = seen.has_rdma or bool(seen.inventory.gpus)
    fast = fast or any(rate(one) >= IOMMU_FAST_BIT_S for one in seen.node.interfaces)
    types, words = _types(seen), seen.fact(COMMAND_LINE).split()
    told = [
        f"{seen.name}: {listed(names)}: {kind}, {TRANSLATING[kind]}"
        for kind in dict.fromkeys(types.values())
        if kind in TRANSLATING and (names := [name for name in types if types[name] == kind])
    ]
    asked = [word for word in words if word in (*ON, *STRICT)]
    off = any(word in PASSING for word in words) or seen.number("iommu groups") == 0.0
    if not types and asked and not off:
        told = [f"{seen.name}: kernel command line has {' '.join(asked)}"]
    if told and fast and not seen.fact("virtual machine"):
        what = "its IOMMU translates for the kernel's own devices"
        yield found(Severity.WARN, seen, what, *told)


def _types(seen: KnownNode) -> dict[str, str]:
    """What the kernel does for each fast port, RDMA device and GPU; empty where it does not say."""
    fast = [one.name for one in seen.node.interfaces if rate(one) >= IOMMU_FAST_BIT_S]
    rdma = [name for one in seen.adapters for name in one.rdma_devices]
    rdma += [one.device for one in seen.inventory.rdma_ports]
    buses = {f"GPU {gpu.index}": gpu.bus for gpu in seen.inventory.gpus if gpu.bus}
    every = {name: name for name in (*fast, *rdma)} | buses
    facts = {name: seen.fact(f"iommu type of {where}") for name, where in every.items()}
    return {name: told for name, told in facts.items() if told}


IOMMU = Check(
    "iommu",
    "No IOMMU translates the addresses of fast adapters and GPUs",
    "Translating each buffer costs processors and bandwidth; strict mode does so at each packet."
    " GPUs and adapters no longer reach each other directly.",
    lambda cluster: [seen for seen in cluster.nodes if COMMAND_LINE in seen.facts or _types(seen)],
    "no node says its IOMMU's groups or its kernel's command line",
    each(_iommu),
    "put iommu=pt onto the kernel's command line (grubby, or the image's boot parameters) and start"
    " the node again",
    "the nodes share one kernel",
)

#: From this rate on one processor is the limit; a node needs this many to spread over.
IRQS_FAST_BIT_S, LEAST_PROCESSORS = 10e9, 4

_SPREAD = re.compile(r"(\d{1,6}) on (\d{1,6}) processors?")


def _told(cluster: Cluster) -> list[tuple[Place, int, int]]:
    """Each port with its interrupts and the processors that they go to."""
    return [
        (Place(seen, one), int(spread[1]), int(spread[2]))
        for seen in cluster.nodes
        for one in seen.node.interfaces
        if (spread := _SPREAD.fullmatch(seen.fact(f"irqs of {one.name}")))
    ]


def _irqs(told: tuple[Place, int, int]) -> Iterator[Finding]:
    place, irqs, processors = told
    seen, fast = place.seen, rate(place.interface)
    enough = seen.node.cpu_count >= LEAST_PROCESSORS
    if fast >= IRQS_FAST_BIT_S and irqs > 1 >= processors and enough:
        yield found(
            Severity.WARN, place, "has all its interrupts on one processor",
            f"{place.where} at {link_rate(fast)}: {irqs} interrupts on 1 processor",
            f"{seen.name} has {seen.node.cpu_count} processors",
            f"service irqbalance: {seen.facts.get('service irqbalance', 'not told')}",
        )  # fmt: skip


IRQS = Check(
    "irqs",
    "A fast port's interrupts are spread over several processors",
    "One processor handles some 10 to 20 Gb/s of TCP; the port cannot carry more than it does.",
    _told,
    "no node says where the interrupts of its ports go",
    each(_irqs),
    "let irqbalance run (systemctl enable --now irqbalance), or set the affinity by the driver's"
    " own script (set_irq_affinity)",
    "the nodes share one kernel",
)
