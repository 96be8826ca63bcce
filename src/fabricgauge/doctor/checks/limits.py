"""May programs lock memory, open files, share memory as MPI needs to?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, like, nodes
from fabricgauge.doctor.wording import amount
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "limits"
TITLE = "Locked memory, open files and /dev/shm suffice for MPI"
WHY = (
    "RDMA and shared-memory transports lock and share memory; where they may not, MPI fails or"
    " falls back to something slower."
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


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = nodes(preflight)
    if all(isinstance(seen.number(fact), Skipped) for seen in every for fact in (MEMLOCK, SHM)):
        return Skipped("no node says its limits")
    virtual = preflight.fabric.virtual
    found: list[Finding] = []
    for group in like(preflight):
        memlock, files = _most(group, MEMLOCK), _most(group, FILES)
        for seen in group:
            found += (*_memlock(seen, memlock, virtual), *_files(seen, files), *_shm(seen))
    return tuple(found)


def _most(group: tuple[Seen, ...], fact: str) -> float:
    values = [seen.number(fact) for seen in group]
    return max((value for value in values if not isinstance(value, Skipped)), default=0.0)


def _memlock(seen: Seen, most: float, virtual: bool) -> Iterator[Finding]:
    """Nodes of a lab have the limits of whoever brought it up: only differences are theirs."""
    limit, memory = seen.number(MEMLOCK), seen.number(MEMORY)
    if isinstance(limit, Skipped):
        return
    told = f"{seen.name}: max locked memory {amount(limit)}"
    enough = LEAST_RDMA_BYTES if isinstance(memory, Skipped) else 0.9 * memory
    if seen.has_rdma and limit < enough:
        root = seen.facts.get("user id") == "0"
        what = f"may lock only {amount(limit)} of memory, and has RDMA"
        told += " (root's)" * root
        severity, remedy = (Severity.WARN, AS_USER) if root else (Severity.FAIL, LIMITS_FILE)
        yield _finding(seen, severity, what, told, remedy)
    elif limit < most:
        what = f"may lock only {amount(limit)} of memory, like nodes {amount(most)}"
        yield _finding(seen, Severity.WARN, what, told, LIMITS_FILE)
    elif limit < LEAST_MEMLOCK_BYTES and not virtual:
        what = f"may lock only {amount(limit)} of memory"
        yield _finding(seen, Severity.WARN, what, told, LIMITS_FILE)


def _files(seen: Seen, most: float) -> Iterator[Finding]:
    limit = seen.number(FILES)
    if isinstance(limit, Skipped) or (limit >= LEAST_FILES and limit == most):
        return
    told = f"{seen.name}: max open files {limit:,.0f}; like nodes {most:,.0f}"
    remedy = "raise nofile in /etc/security/limits.conf and LimitNOFILE of sshd and slurmd"
    yield _finding(seen, Severity.WARN, f"may open only {limit:,.0f} files", told, remedy)


def _shm(seen: Seen) -> Iterator[Finding]:
    size, memory = seen.number(SHM), seen.number(MEMORY)
    if isinstance(size, Skipped):
        return
    share = 0.0 if isinstance(memory, Skipped) else LEAST_SHM_SHARE * memory
    if size < max(LEAST_SHM_BYTES, share):
        of = "" if isinstance(memory, Skipped) else f" of {amount(memory)} of memory"
        told = f"{seen.name}: /dev/shm has {amount(size)}{of}"
        remedy = "mount -o remount,size=50% /dev/shm, and the same in /etc/fstab of the image"
        yield _finding(seen, Severity.WARN, f"has only {amount(size)} in /dev/shm", told, remedy)


def _finding(seen: Seen, severity: Severity, what: str, told: str, remedy: str) -> Finding:
    return Finding(ID, severity, seen.name, what, (told,), WHY, remedy, (seen.name,))
