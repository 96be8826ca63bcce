"""MPICH 4 and 5 (ch4 with UCX or OFI) and its launcher, Hydra.

Sources: ``mpiexec -help`` and ``mpivars`` of MPICH 4.0.2 and 5.0.2; ucx_info -cf (UCX);
fi_tcp(7) (libfabric).
"""

from fabricgauge.model.command import Command
from fabricgauge.model.engine import Mpi
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.run.stacks import ucx
from fabricgauge.run.stacks.interface import (
    Stack,
    anywhere,
    has_own_cores,
    hosts,
    hydra_by_slurm,
    in_slurms_order,
    is_loopback,
    is_pinned,
    ranks_per_node,
)

#: TCP alone, whichever netmod the library was built with or chooses.
PINNED = {"UCX_TLS": "tcp,self,sm", "FI_PROVIDER": "tcp"}

#: No shared memory at all, although both ranks are on one node. UCX finds no way from lo
#: to lo, but the kernel takes what is sent to any of its own addresses through lo.
OVER_LOOPBACK = {
    "MPIR_CVAR_NOLOCAL": "1",
    "UCX_TLS": "tcp,self",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": "lo",
}

#: UCX's and libfabric's; which of the two is used depends on how MPICH was built.
INTERFACE_VARIABLES = ("UCX_NET_DEVICES", "FI_TCP_IFACE")


def command(mpi: Mpi, launch: PlannedLaunch, reach: Reach, program: tuple[str, ...]) -> Command:
    """``mpiexec`` with one rank per entry of ``launch.nodes``, in that order."""
    argv = (
        *reach.head_prefix,
        str(mpi.mpiexec),
        *_launcher(reach, launch),
        "-n", str(len(launch.nodes)),
        "-bind-to", "core" if has_own_cores(launch, reach) else "none",
        *program,
    )  # fmt: skip
    extra = {"HYDRA_LAUNCHER_EXTRA_ARGS": " ".join(reach.agent_options)}
    told = {**hydra_by_slurm(reach), **(extra if reach.agent_options else {})}
    return Command(argv, {**_transport(launch, reach, mpi), **told})


def _launcher(reach: Reach, launch: PlannedLaunch) -> tuple[str, ...]:
    if reach.launcher == "local":
        return ("-launcher", "fork")
    if anywhere(reach):
        return ("-launcher", "slurm", "-ppn", str(ranks_per_node(launch)))
    if reach.launcher == "slurm":
        in_slurms_order(launch, reach)
        return ("-launcher", "slurm", "-hosts", hosts(launch))
    agent = ("-launcher-exec", reach.agent) if reach.agent and reach.agent != "ssh" else ()
    return ("-launcher", "ssh", *agent, "-hosts", hosts(launch))


def _transport(launch: PlannedLaunch, _reach: Reach, _mpi: Mpi) -> dict[str, str]:
    """Hydra hands its whole environment on to every rank, and so does srun."""
    if is_loopback(launch):
        return dict(OVER_LOOPBACK)
    return dict(PINNED) if is_pinned(launch) else {}


#: Built with OFI it says nothing short: then the libraries that were loaded are all that is known.
STACK = Stack(command, _transport, "pmi2", INTERFACE_VARIABLES, ucx.TELLS, ucx.ways)
