"""Intel MPI 2019 and later (libfabric only) and its Hydra.

Sources: Intel MPI Library Developer Reference 2021.13, "Hydra Environment Variables",
"Fabrics Control" and "Process Pinning"; fi_tcp(7).
"""

import os
import re
from ctypes.util import find_library

from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.run.mpi_impls.interface import (
    MpiImplementation,
    anywhere,
    has_own_cores,
    hydra_by_slurm,
    in_slurms_order,
    is_pinned,
    ranks_per_node,
)
from fabricgauge.words.networks import is_loopback


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """``mpiexec.hydra`` with one rank per entry of ``launch.nodes``, in that order."""
    argv = (
        *access.head_prefix,
        str(mpi.mpiexec),
        *_launcher(access, launch),
        "-n", str(len(launch.nodes)),
        *program,
    )  # fmt: skip
    extra = {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": " ".join(access.agent_options)}
    told = extra if access.agent_options else {}
    return LaunchCommand(
        argv, {**mpi.env, **_transport(launch, access, mpi), **hydra_by_slurm(access), **told}
    )


def _launcher(access: HostAccess, launch: PlannedLaunch) -> tuple[str, ...]:
    if access.launcher == "local":
        return ("-launcher", "fork")
    if anywhere(access):
        return ("-launcher", "slurm", "-ppn", str(ranks_per_node(launch)))
    if access.launcher == "slurm":
        in_slurms_order(launch, access)
        return ("-launcher", "slurm", *_hosts(launch))
    agent = ("-launcher-exec", access.agent) if access.agent and access.agent != "ssh" else ()
    return ("-launcher", "ssh", *agent, *_hosts(launch))


def _hosts(launch: PlannedLaunch) -> tuple[str, ...]:
    """``-hosts c1,c2 -ppn 1``: unlike MPICH's, this Hydra takes ``c1:1`` for two slots.

    With MPICH's words both ranks land on c1 and measure shared memory (seen with 2021.17).
    """
    names = tuple(dict.fromkeys(launch.nodes))
    return ("-hosts", ",".join(names), "-ppn", str(ranks_per_node(launch)))


def _transport(launch: PlannedLaunch, access: HostAccess, _mpi: Mpi) -> dict[str, str]:
    chosen = {} if has_own_cores(launch, access) else {"I_MPI_PIN": "0"}
    if access.launcher == "srun":
        chosen |= _slurms_pmi()
    if is_loopback(launch.network):
        return {**chosen, "I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
    if is_pinned(launch):
        return {**chosen, "I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}
    return chosen


def _slurms_pmi() -> dict[str, str]:
    """The library that this MPI loads to speak with srun, unless the site names its own."""
    library = os.environ.get("I_MPI_PMI_LIBRARY") or find_library("pmi2")
    return {"I_MPI_PMI_LIBRARY": library} if library else {}


#: Rank 0 prints ``[0] MPI startup(): libfabric provider: tcp``.
_PROVIDER = re.compile(r"MPI startup\(\): libfabric provider: (\S+)")


def _ways(line: str) -> tuple[str, ...]:
    found = _PROVIDER.search(line[:1000])
    return (f"libfabric {found[1]}",) if found else ()


#: It is heeded before FI_PROVIDER, and MPI_Init fails where they disagree.
CONTRARY = ("I_MPI_OFI_PROVIDER",)
MPI_IMPL = MpiImplementation(
    command, _transport, "pmi2", ("FI_TCP_IFACE",),
    contrary=CONTRARY, tells={"I_MPI_DEBUG": "2"}, ways=_ways,
)  # fmt: skip
