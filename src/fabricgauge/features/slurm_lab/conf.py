"""Write Slurm's configuration, ``slurm.conf`` and ``cgroup.conf``, from a lab's nodes.

Each path in it is a mount point in the lab's nodes, so the text never contains a lab's name or the
path of its directory. Parameters as in slurm.conf(5) of Slurm 22.05.
"""

import re
from collections.abc import Sequence

from fabricgauge.lab.spec import HEAD, address
from fabricgauge.model.errors import LabError

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
