"""Does every node answer, and do its limits and its kernel's settings suit MPI? pure."""

import re
from collections.abc import Iterator

from fabricgauge.doctor.places import Check, KnownNode, fault, found, like, nodes, rate, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight
from fabricgauge.words import figures
from fabricgauge.words.figures import link_rate
from fabricgauge.words.sentences import listed


def look_at_reach(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if not preflight.fabric.nodes and not preflight.fabric.unreached:
        return Skipped("there is no node to look at")
    return tuple(
        fault(
            Severity.FAIL, lost.name, "does not answer", (lost.reason,),
            "see whether the node is up, and whether you can run a command there by the same"
            " launcher (ssh NODE true)",
            nodes=(lost.name,),
        )
        for lost in preflight.fabric.unreached
    )  # fmt: skip


REACH = Check(
    "reach",
    "Every node answers",
    "Nothing can be started on a node that does not answer, and nothing is known of it.",
    look_at_reach,
)

MEMLOCK, FILES, SHM, MEMORY = (
    "max locked memory bytes", "max open files", "/dev/shm bytes", "memory bytes",  # noqa: S108
)  # fmt: skip

#: What a node without RDMA needs at least: Linux gave 64 KiB to everybody until 5.15 and gives
#: 8 MiB since (include/uapi/linux/resource.h, MLOCK_LIMIT); less than 1 MiB is the old default,
#: which io_uring, XPMEM and GPU runtimes run into.
LEAST_MEMLOCK_BYTES = 1 << 20

#: With RDMA every buffer of every rank is locked: all of the memory, or so much.
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


def look_at_limits(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = nodes(preflight)
    if all(isinstance(seen.number(fact), Skipped) for seen in every for fact in (MEMLOCK, SHM)):
        return Skipped("no node says its limits")
    virtual = preflight.fabric.virtual
    findings: list[Finding] = []
    for group in like(preflight):
        memlock, files = _most(group, MEMLOCK), _most(group, FILES)
        for seen in group:
            findings += (*_memlock(seen, memlock, virtual), *_files(seen, files), *_shm(seen))
    return tuple(findings)


def _most(group: tuple[KnownNode, ...], fact: str) -> float:
    values = [seen.number(fact) for seen in group]
    return max((value for value in values if not isinstance(value, Skipped)), default=0.0)


def _memlock(seen: KnownNode, most: float, virtual: bool) -> Iterator[Finding]:
    """Nodes of a lab have the limits of the user who brought it up: only differences count."""
    limit, memory = seen.number(MEMLOCK), seen.number(MEMORY)
    if isinstance(limit, Skipped):
        return
    told = f"{seen.name}: max locked memory {figures.memory(limit)}"
    enough = LEAST_RDMA_BYTES if isinstance(memory, Skipped) else 0.9 * memory
    if seen.has_rdma and limit < enough:
        root = seen.facts.get("user id") == "0"
        what = f"may lock only {figures.memory(limit)} of memory, and has RDMA"
        told += " (root's)" * root
        severity, remedy = (Severity.WARN, AS_USER) if root else (Severity.FAIL, LIMITS_FILE)
        yield found(severity, seen, what, told, remedy=remedy)
    elif limit < most:
        what = f"may lock only {figures.memory(limit)} of memory, like nodes {figures.memory(most)}"
        yield found(Severity.WARN, seen, what, told)
    elif limit < LEAST_MEMLOCK_BYTES and not virtual:
        what = f"may lock only {figures.memory(limit)} of memory"
        yield found(Severity.WARN, seen, what, told)


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
    look_at_limits,
    LIMITS_FILE,
)

#: Governors that lower the frequency of a processor that waits (Linux,
#: Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst).
SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil", "userspace"})


def look_at_governor(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    told = [(seen, seen.facts.get("cpu governor", "").strip()) for seen in nodes(preflight)]
    if not any(governor for _, governor in told):
        return Skipped("no node says its governor: virtual machines have none")
    argv = ("cpupower", "frequency-set", "-g", "performance")
    return tuple(
        found(
            Severity.WARN, seen, f"its governor is {governor}",
            f"{seen.name}: scaling_governor {governor}", mends=(Command(seen.name, argv),),
        )
        for seen, governor in told
        if governor in SAVING
    )  # fmt: skip


GOVERNOR = Check(
    "governor",
    "The processors' frequency governor is performance",
    "A processor that slows down between messages adds microseconds to latency, and they vary.",
    look_at_governor,
    "set it to performance, at each start as well (tuned-adm profile network-latency or"
    " hpc-compute)",
    "the nodes share one machine's processors",
)

FACT = "transparent hugepages"


def look_at_thp(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if not any(_mode(seen) for seen in nodes(preflight)):
        return Skipped("no node says whether it has transparent huge pages")
    return tuple(one for group in like(preflight) for one in _thp_findings(group))


def _mode(seen: KnownNode) -> str:
    """The word in brackets: ``always [madvise] never``."""
    return seen.facts.get(FACT, "").partition("[")[2].partition("]")[0]


def _thp_findings(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
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
    look_at_thp,
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

COMMAND_LINE = "kernel command line"

IOMMU_FAST_BIT_S = 10e9


def look_at_iommu(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    known = [seen for seen in nodes(preflight) if COMMAND_LINE in seen.facts or _types(seen)]
    if not known:
        return Skipped("no node says its IOMMU's groups or its kernel's command line")
    return tuple(one for seen in known for one in _iommu_findings(seen))


def _iommu_findings(seen: KnownNode) -> Iterator[Finding]:
    if not _fast(seen) or seen.facts.get("virtual machine"):
        return
    types = _types(seen)
    told = _translated(seen, types) if types else _asked(seen)
    if told:
        what = "its IOMMU translates for the kernel's own devices"
        yield found(Severity.WARN, seen, what, *told)


def _types(seen: KnownNode) -> dict[str, str]:
    """What the kernel does for each fast port and RDMA device; empty where it does not say so."""
    fast = [one.name for one in seen.node.interfaces if rate(one) >= IOMMU_FAST_BIT_S]
    rdma = [name for one in seen.adapters for name in one.rdma_devices]
    rdma += [one.device for one in seen.inventory.rdma_ports]
    asked = ((name, seen.facts.get(f"iommu type of {name}", "")) for name in (*fast, *rdma))
    return {name: told for name, told in asked if told}


def _translated(seen: KnownNode, types: dict[str, str]) -> tuple[str, ...]:
    by_type: dict[str, list[str]] = {}
    for name, told in types.items():
        if told in TRANSLATING:
            by_type.setdefault(told, []).append(name)
    return tuple(
        f"{seen.name}: {listed(names)}: {told}, {TRANSLATING[told]}"
        for told, names in by_type.items()
    )


def _asked(seen: KnownNode) -> tuple[str, ...]:
    """By the command line, where the kernel does not say what it does."""
    words = seen.facts[COMMAND_LINE].split()
    asked = [word for word in words if word in (*ON, *STRICT)]
    off = any(word in PASSING for word in words) or seen.number("iommu groups") == 0.0
    if not asked or off:
        return ()
    return (f"{seen.name}: kernel command line has {' '.join(asked)}",)


def _fast(seen: KnownNode) -> bool:
    return seen.has_rdma or any(rate(one) >= IOMMU_FAST_BIT_S for one in seen.node.interfaces)


IOMMU = Check(
    "iommu",
    "No IOMMU translates the addresses of fast adapters",
    "Translating each buffer costs processors and bandwidth; strict mode does so at each packet.",
    look_at_iommu,
    "put iommu=pt onto the kernel's command line (grubby, or the image's boot parameters) and start"
    " the node again",
    "the nodes share one kernel",
)

#: From this rate on one processor is the limit; a node needs this many to spread over.
IRQS_FAST_BIT_S, LEAST_PROCESSORS = 10e9, 4

_SPREAD = re.compile(r"(\d{1,6}) on (\d{1,6}) processors?")


def look_at_irqs(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    known = [
        (seen, one, spread)
        for seen in nodes(preflight)
        for one in seen.node.interfaces
        if (spread := _SPREAD.fullmatch(seen.facts.get(f"irqs of {one.name}", "")))
    ]
    if not known:
        return Skipped("no node says where the interrupts of its ports go")
    return tuple(
        _irqs_finding(seen, one, spread.group(1))
        for seen, one, spread in known
        if rate(one) >= IRQS_FAST_BIT_S
        and int(spread.group(1)) > 1 >= int(spread.group(2))
        and seen.node.cpu_count >= LEAST_PROCESSORS
    )


def _irqs_finding(seen: KnownNode, one: Interface, irqs: str) -> Finding:
    where = f"{seen.name}:{one.name}"
    return fault(
        Severity.WARN, where, "has all its interrupts on one processor",
        (f"{where} at {link_rate(rate(one))}: {irqs} interrupts on 1 processor",
         f"{seen.name} has {seen.node.cpu_count} processors",
         f"service irqbalance: {seen.facts.get('service irqbalance', 'not told')}"),
        nodes=(seen.name,),
    )  # fmt: skip


IRQS = Check(
    "irqs",
    "A fast port's interrupts are spread over several processors",
    "One processor handles some 10 to 20 Gb/s of TCP; the port cannot carry more than it does.",
    look_at_irqs,
    "let irqbalance run (systemctl enable --now irqbalance), or set the affinity by the driver's"
    " own script (set_irq_affinity)",
    "the nodes share one kernel",
)
