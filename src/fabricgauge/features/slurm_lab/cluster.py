"""Write the files of a lab's Slurm, start and end its daemons, and query their state.

Process id and start time identify a daemon. munged and slurmctld run on the head, a slurmd on each
other node. A virtual machine has a munged of its own, and its process ids mean nothing here. Each
path in the configuration is a mount point in the lab's nodes, so the text never contains a lab's
name or the path of its directory. Parameters as in slurm.conf(5) of Slurm 22.05.
"""

import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from fabricgauge.lab import tools
from fabricgauge.lab.holder import identify, is_alive, processes_in, start_script
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import HEAD, address
from fabricgauge.lab.state import Daemon, LabState, save
from fabricgauge.model.errors import LabError
from fabricgauge.nodes import process

#: Mount points in a lab's nodes of Slurm's files, its configuration and munge's socket.
ROOT, ETC, MUNGE = "/run/slurm", "/etc/slurm", "/run/munge"

PARTITION = "normal"

#: slurmd finds itself by gethostname(3) up to the first dot; brackets, commas and equal signs
#: have meanings in host lists and in slurm.conf.
_NODE_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")

#: Node names with a special meaning in slurm.conf(5).
_RESERVED = frozenset({"all", "default", "none"})

#: A silent node is DOWN after this. Short for tests, long enough for two busy processors.
SLURMD_TIMEOUT_S = 10

#: Time for the answer to one message.
_MESSAGE_TIMEOUT_S = 10

#: Time from SIGTERM to SIGKILL when a job is ended.
_KILL_WAIT_S = 2

_SETTINGS = f"""\
ClusterName=lab
SlurmctldHost={HEAD}({address(0, 0)})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={ROOT}/state
SlurmdSpoolDir={ROOT}/spool/%n
SlurmctldPidFile={ROOT}/pid/slurmctld
SlurmdPidFile={ROOT}/pid/slurmd.%n
SlurmctldLogFile={ROOT}/log/slurmctld.log
SlurmdLogFile={ROOT}/log/slurmd.%n.log
MailProg=/bin/true
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
TmpFS=/dev/shm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={ROOT}/log/jobs
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=10
KillWait={_KILL_WAIT_S}
InactiveLimit=0
PropagateResourceLimits=NONE
"""

#: /sys/fs/cgroup is empty in the nodes of a lab with Slurm, and slurmd would end if it searched
#: cgroups there.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def check_names(nodes: Sequence[str]) -> None:
    """Refuse node names that Slurm would not read as one node.

    Raises:
        LabError: a name that a lab allows but Slurm does not.
    """
    for name in nodes:
        if not _NODE_NAME.fullmatch(name) or name.lower() in _RESERVED:
            raise LabError(
                f"{name!r} cannot name a node of a lab with Slurm: begin with a letter, use "
                "letters, digits and hyphens, and none of 'all', 'default' and 'none'"
            )


def slurm_conf(
    nodes: Sequence[str], cpus: int, memory_mib: int, mpi: str, slowness: int = 1
) -> str:
    """Return ``slurm.conf`` for these nodes in their order, in one partition for all jobs.

    All nodes share the machine, so each has its size. ``mpi`` is the default plugin of jobs, by its
    name in ``srun --mpi=list``. Answers may take ``slowness`` times as long as on this machine.

    Raises:
        LabError: Slurm does not allow a node's name.
    """
    check_names(nodes)
    lines = [
        f"SlurmdTimeout={SLURMD_TIMEOUT_S * slowness}",
        f"MessageTimeout={_MESSAGE_TIMEOUT_S * slowness}",
        f"MpiDefault={mpi}",
    ]
    lines += [
        f"NodeName={name} NodeAddr={address(0, number)} CPUs={cpus} "
        f"RealMemory={memory_mib} State=UNKNOWN"
        for number, name in enumerate(nodes, 1)
    ]
    lines.append(
        f"PartitionName={PARTITION} Nodes={','.join(nodes)} Default=YES MaxTime=INFINITE State=UP"
    )
    return _SETTINGS + "\n".join(lines) + "\n"


#: All daemons answer within 2 s; the limit allows for a busy machine.
_READY_TIMEOUT_S, _POLL_S = 60.0, 0.05

#: Nodes with emulated processors may take that many times as long to answer.
_EMULATED_SLOWNESS = 6

#: A clean end takes up to 2 s; the limit allows for a busy machine.
_STOP_TIMEOUT_S = 20.0

#: Directories of a lab's Slurm; munged refuses a directory that others can write.
_DIRECTORIES = ("etc", "munge", "state", "spool", "log", "pid")

_BECOME = Path(__file__).with_name("become.py")
_START_NODE = Path(__file__).with_name("start_node.sh")

#: Options of each program; the daemons stay in the foreground, so that their process ids are known.
_OPTIONS = {
    "munged": (
        "--foreground",
        f"--key-file={ROOT}/munge.key",
        f"--socket={MUNGE}/munge.socket.2",
        f"--seed-file={ROOT}/munge.seed",
        f"--pid-file={ROOT}/pid/munged",
    ),
    "slurmctld": ("-D",),
    "slurmd": ("-D",),
}

_LAST_LINES = 4


def require(nodes: Sequence[str]) -> None:
    """Check that a Slurm can run on these nodes, before anything is made.

    Raises:
        LabError: not root, or Slurm does not allow a node's name.
        ToolMissing: Slurm or munge is not installed; the message has the command to install it.
    """
    if os.geteuid() != 0:
        raise LabError(
            "a lab with Slurm needs root: slurmctld and slurmd set their groups, which the "
            "kernel forbids in an ordinary user's namespaces (setgroups: Operation not "
            "permitted); run as root, or bring the lab up without --slurm"
        )
    check_names(nodes)
    tools.require_slurm()


def write_files(directory: Path, nodes: Sequence[str]) -> None:
    """Make the directory that the nodes mount as /run/slurm, with configuration and key."""
    spools = (f"spool/{node}" for node in nodes)
    for folder in (directory, *(directory / name for name in (*_DIRECTORIES, *spools))):
        folder.mkdir()
        folder.chmod(0o755)  # independent of umask; the lab's directory keeps other users out
    key = directory / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    (directory / "etc" / "cgroup.conf").write_text(CGROUP_CONF)
    _write_conf(directory, nodes, "none")


def _write_conf(directory: Path, nodes: Sequence[str], mpi: str, emulated: bool = False) -> None:
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    cpus, slowness = (1, _EMULATED_SLOWNESS) if emulated else (os.cpu_count() or 1, 1)
    text = slurm_conf(nodes, cpus, memory_mib, mpi, slowness)
    (directory / "etc" / "slurm.conf").write_text(text)


def start_all(state: LabState) -> LabState:
    """Start all daemons and wait until Slurm reports all nodes as idle.

    Raises:
        LabError: a daemon ended or does not answer; the message quotes its last lines.
    """
    state = _start_munged(state)
    names = [node.name for node in state.nodes if node.index]
    listed = _run(state, "srun", "--mpi=list")
    mpi = preferred_mpi(parse_mpi_list(listed.stdout + listed.stderr))
    _write_conf(Path(state.directory) / "slurm", names, mpi, emulated=bool(state.rdma))
    for node in state.nodes:
        if state.rdma and node.index:
            _start_in_machine(state, node.name)
        else:
            state = _start_daemon(state, "slurmd" if node.index else "slurmctld", node.name)
    _await(state, state.slurm, lambda: present(state) >= set(names), "not all nodes are idle")
    return state


def start(state: LabState, node: str) -> LabState:
    """Start a node's daemon and wait for it; on the head also start munged if it does not run.

    Raises:
        UsageError: no such node.
        LabError: no Slurm in this lab, or the daemon does not come up.
    """
    program = _program(state, node)
    if node == HEAD:
        state = _start_munged(state)
    state = _start_daemon(state, program, node)
    daemons = _recorded_daemons(state, program, node)
    if node == HEAD:
        _await(state, daemons, lambda: controller_answers(state), "it does not answer")
        return state
    _await(state, daemons, lambda: slurmd_answers(state, node), "it does not answer")
    if any(is_alive(daemon.process) for daemon in _recorded_daemons(state, "slurmctld", HEAD)):
        _await(state, daemons, lambda: node in present(state), "slurmctld does not list it")
    return state


def stop(state: LabState, node: str) -> None:
    """Ask a node's daemon to end; jobs and their steps go on until Slurm notices its silence.

    Raises:
        UsageError: no such node.
        LabError: no Slurm in this lab, or the daemon does not end.
    """
    for daemon in _recorded_daemons(state, _program(state, node), node):
        if is_alive(daemon.process):
            _signal([daemon.process.pid], signal.SIGTERM)
            remedy = "end it with 'fabricgauge lab slurm kill'"
            _await_end(daemon, lambda daemon: is_alive(daemon.process), remedy)


def kill(state: LabState, node: str) -> None:
    """End a node's daemon at once and, except on the head, all its processes, like a power cut.

    Raises:
        UsageError: no such node.
        LabError: no Slurm in this lab, or a process does not end.
    """
    for daemon in _recorded_daemons(state, _program(state, node), node):
        _await_end(daemon, partial(_kill_processes, state), "see dmesg")


def restart(state: LabState, node: str) -> LabState:
    """End a node's daemon, if it runs, and start it.

    Raises:
        LabError: as ``stop`` and ``start``.
    """
    stop(state, node)
    return start(state, node)


def _program(state: LabState, node: str) -> str:
    """Return the daemon that manages a node of the lab: slurmctld on the head, else slurmd."""
    if not state.slurm:
        raise LabError(
            f"lab {state.name!r} has no Slurm; bring it down and up again with "
            f"'fabricgauge lab up {state.name} --slurm'"
        )
    index = state.node(node).index
    if state.rdma and index:
        raise LabError(
            f"{node} is a virtual machine, and the lab only starts its slurmd; end it with"
            f" 'fabricgauge lab exec --name {state.name} {node} -- pkill slurmd'"
        )
    return "slurmd" if index else "slurmctld"


def _recorded_daemons(state: LabState, program: str, node: str) -> list[Daemon]:
    return [daemon for daemon in state.slurm if (daemon.program, daemon.node) == (program, node)]


def _start_in_machine(state: LabState, node: str) -> None:
    """Start munged and slurmd on a virtual machine."""
    files = Path(state.directory) / "slurm"
    argv = [*entry(state, node), "/bin/sh", str(_START_NODE), str(files)]
    limit_s = _READY_TIMEOUT_S * _EMULATED_SLOWNESS
    env = {"PATH": tools.SEARCH_PATH}
    completed = process.run(argv, timeout_s=limit_s, env=env, cwd=Path("/"))
    if completed.exit_code:
        reason = " ".join(completed.stderr.split()) or "no reason given"
        raise LabError(f"cannot start slurmd on {node} of lab {state.name!r}: {reason:.500}")


def _start_munged(state: LabState) -> LabState:
    state = _start_daemon(state, "munged", HEAD)
    munged = _recorded_daemons(state, "munged", HEAD)
    _await(state, munged, lambda: munge_works(state), "it issues no credential")
    return state


def _start_daemon(state: LabState, program: str, node: str) -> LabState:
    """Start a daemon on a node if it does not run; it may answer only some time later."""
    if any(is_alive(daemon.process) for daemon in _recorded_daemons(state, program, node)):
        return state
    failure = f"cannot start {program} on {node} of lab {state.name!r}"
    words = [str(_output_file(state, program, node)), tools.path_of(program), *_OPTIONS[program]]
    pid = start_script(entry(state, node), _BECOME, words, {}, failure)
    try:
        new_daemon = Daemon(program, node, identify(pid))
    except LabError as error:
        raise _failure(state, program, node, "ended at once") from error
    daemons = {(daemon.program, daemon.node): daemon for daemon in (*state.slurm, new_daemon)}
    changed = msgspec.structs.replace(state, slurm=tuple(daemons.values()))
    save(changed)
    return changed


def _await(
    state: LabState, daemons: Sequence[Daemon], ready: Callable[[], bool], problem: str
) -> None:
    """Wait until ``ready`` is true; fail with ``problem`` if time is up or a daemon has ended."""
    limit_s = _READY_TIMEOUT_S * (_EMULATED_SLOWNESS if state.rdma else 1)
    deadline = time.monotonic() + limit_s
    while not ready():
        for daemon in daemons:
            if not is_alive(daemon.process):
                raise _failure(state, daemon.program, daemon.node, "ended")
        if time.monotonic() > deadline:
            event = f"runs, but after {limit_s:.0f} s {problem}"
            raise _failure(state, daemons[-1].program, daemons[-1].node, event)
        time.sleep(_POLL_S)


def _failure(state: LabState, program: str, node: str, event: str) -> LabError:
    lines: list[str] = []
    with suppress(OSError):
        text = _output_file(state, program, node).read_text(errors="replace")
        lines = text.strip().splitlines()[-_LAST_LINES:]
    return LabError(
        f"{program} on {node} of lab {state.name!r} {event}; its last output: "
        f"{' | '.join(lines) or 'nothing'}; mend the cause "
        "(the lab's Slurm is set up for Debian's version 22.05)"
    )


def _output_file(state: LabState, program: str, node: str) -> Path:
    return Path(state.directory) / "slurm" / "log" / f"{program}.{node}.out"


def _kill_processes(state: LabState, daemon: Daemon) -> frozenset[int]:
    """Send SIGKILL to a daemon and, if it is slurmd, to its node's processes; return their ids.

    All are stopped first: a slurmstepd that outlives its task for a moment would report to Slurm
    that the job failed, which a power cut prevents.
    """
    pids = {daemon.process.pid} if is_alive(daemon.process) else set()
    holder = state.node(daemon.node).holder
    if daemon.program == "slurmd" and is_alive(holder):
        pids |= processes_in(holder.net_inode) - {holder.pid}
    for number in (signal.SIGSTOP, signal.SIGKILL):
        _signal(pids, number)
    return frozenset(pids)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _await_end(daemon: Daemon, remains: Callable[[Daemon], object], remedy: str) -> None:
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while remains(daemon):
        if time.monotonic() > deadline:
            raise LabError(
                f"{daemon.program} on {daemon.node} (process {daemon.process.pid}) does not end; "
                f"{remedy}"
            )
        time.sleep(0.02)


#: Slurm's clients wait up to MessageTimeout, 10 s here, for a controller that does not run.
_TIMEOUT_S = 30.0

#: Plugins in the order of preference; Open MPI and MPICH use PMIx, MPICH and Intel MPI PMI-2.
_MPI_PREFERENCE = ("pmix", "pmi2")

#: Compact node states (sinfo(1), NODE STATE CODES) of nodes that have not registered.
_ABSENT = frozenset({"down", "unk"})


def munge_works(state: LabState) -> bool:
    return _run(state, "munge", "--no-input").exit_code == 0


def parse_mpi_list(text: str) -> frozenset[str]:
    """Return the names in the output of ``srun --mpi=list``: lines with a single word.

    Some versions of Slurm print ``srun:`` before each line.
    """
    lines = [line.removeprefix("srun: ").strip() for line in text.splitlines()]
    return frozenset(line for line in lines if re.fullmatch(r"[a-z0-9_]+", line))


def preferred_mpi(plugins: frozenset[str]) -> str:
    """Return pmix if Slurm has it, else pmi2, else none."""
    return next((name for name in _MPI_PREFERENCE if name in plugins), "none")


def controller_answers(state: LabState) -> bool:
    return _run(state, "scontrol", "ping").stdout.rstrip().endswith("is UP")


def slurmd_answers(state: LabState, node: str) -> bool:
    return _run(state, "scontrol", "show", "slurmd", node=node).exit_code == 0


def present(state: LabState) -> frozenset[str]:
    """Return the nodes that slurmctld reports as present; none while it does not run."""
    return parse_present(_run(state, "sinfo", "-h", "-N", "-o", "%N %t").stdout)


def parse_present(text: str) -> frozenset[str]:
    """Return the present nodes from lines ``NODE STATE``; ``*`` marks a node without response."""
    rows = (line.split() for line in text.splitlines())
    return frozenset(
        row[0]
        for row in rows
        if len(row) == 2 and not row[1].endswith("*") and row[1] not in _ABSENT
    )


def _run(state: LabState, program: str, *words: str, node: str = HEAD) -> process.Completed:
    argv = [*entry(state, node), tools.path_of(program), *words]
    return process.run(argv, timeout_s=_TIMEOUT_S, env={"PATH": tools.SEARCH_PATH}, cwd=Path("/"))
