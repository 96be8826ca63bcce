"""Intel MPI 2019 and later (libfabric only).

Sources: Intel MPI Library Developer Reference 2021.13, "Fabrics Control" and "Process Pinning";
fi_tcp(7).
"""

import os
import re
from ctypes.util import find_library

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.nodes.launch.mpi_impls import (
    MpiImplementation,
    has_own_cores,
    is_pinned,
    native,
    ranks_per_node,
)
from fabricgauge.nodes.launch.mpi_impls.mpich import hydra


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """Return ``mpiexec.hydra`` with the variables that Intel's set-up script would set.

    Unlike MPICH's Hydra, this one reads ``c1:1`` as two slots: with MPICH's words both ranks run on
    c1 and measure shared memory (observed with 2021.17).
    """
    host_words, env = _host_words(launch), {**mpi.env, **_transport(launch, access, mpi)}
    agent_variable = "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"
    return hydra(mpi, launch, access, program, host_words, env, agent_variable)


def _host_words(launch: PlannedLaunch) -> tuple[str, ...]:
    """Return each node once with its number of ranks; else, if not ordered by node, each rank's.

    The second form also has one proxy per node for all ranks there (observed with 2021.18).
    """
    names, count = tuple(dict.fromkeys(launch.nodes)), ranks_per_node(launch)
    if launch.nodes == tuple(name for name in names for _ in range(count)):
        return ("-hosts", ",".join(names), "-ppn", str(count))
    return ("-hosts", ",".join(launch.nodes), "-ppn", "1")


def _transport(launch: PlannedLaunch, access: HostAccess, _mpi: Mpi) -> dict[str, str]:
    variables = {} if has_own_cores(launch, access) else {"I_MPI_PIN": "0"}
    if access.launcher == "srun":  # the library with which this MPI talks to srun
        library = os.environ.get("I_MPI_PMI_LIBRARY") or find_library("pmi2")
        variables |= {"I_MPI_PMI_LIBRARY": library} if library else {}
    if is_loopback(launch.network):
        return {**variables, "I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
    if launch.ports:
        variables |= {"I_MPI_FABRICS": "shm:ofi", **native.variables(launch)}
        if variables.get("FI_PROVIDER") == native.VERBS:
            variables["FI_PROVIDER"] = "mlx,verbs"  # mlx is its own provider on top of UCX
        return variables
    if is_pinned(launch):
        return {**variables, "I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}
    return variables


#: Rank 0 prints ``[0] MPI startup(): libfabric provider: tcp``.
_PROVIDER = re.compile(r"MPI startup\(\): libfabric provider: (\S+)")


def _parse_transports(line: str) -> tuple[str, ...]:
    match = _PROVIDER.search(line[:1000])
    return (f"libfabric {match[1]}",) if match else ()


#: It has precedence over FI_PROVIDER, and MPI_Init fails if they differ.
CONFLICTING_VARIABLES = ("I_MPI_OFI_PROVIDER",)
MPI_IMPL = MpiImplementation(
    command, _transport, "pmi2", ("FI_TCP_IFACE",),
    verbose_variables={"I_MPI_DEBUG": "2"},
    parse_transports=_parse_transports,
    conflicting_variables=CONFLICTING_VARIABLES,
)  # fmt: skip
