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
from fabricgauge.run.mpi_impls import native
from fabricgauge.run.mpi_impls.hydra import hydra
from fabricgauge.run.mpi_impls.interface import (
    MpiImplementation,
    has_own_cores,
    is_pinned,
    ranks_per_node,
)
from fabricgauge.words.networks import is_loopback


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """``mpiexec.hydra``, with what Intel's own set-up script would set.

    Unlike MPICH's, this Hydra takes ``c1:1`` for two slots: with MPICH's words both ranks land on
    c1 and measure shared memory (seen with 2021.17).
    """
    named, env = _hosts(launch), {**mpi.env, **_transport(launch, access, mpi)}
    return hydra(mpi, launch, access, program, named, env, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS")


def _hosts(launch: PlannedLaunch) -> tuple[str, ...]:
    """Each node once, with its number of ranks; in any other order than by node, that of each rank.

    The latter has one proxy on a node as well, which knows all ranks there (seen with 2021.18).
    """
    names, each = tuple(dict.fromkeys(launch.nodes)), ranks_per_node(launch)
    if launch.nodes == tuple(name for name in names for _ in range(each)):
        return ("-hosts", ",".join(names), "-ppn", str(each))
    return ("-hosts", ",".join(launch.nodes), "-ppn", "1")


def _transport(launch: PlannedLaunch, access: HostAccess, _mpi: Mpi) -> dict[str, str]:
    chosen = {} if has_own_cores(launch, access) else {"I_MPI_PIN": "0"}
    if access.launcher == "srun":
        chosen |= _slurms_pmi()
    if is_loopback(launch.network):
        return {**chosen, "I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
    if launch.ports:
        return {**chosen, "I_MPI_FABRICS": "shm:ofi", **_native(launch)}
    if is_pinned(launch):
        return {**chosen, "I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}
    return chosen


def _native(launch: PlannedLaunch) -> dict[str, str]:
    """Intel MPI ships a provider of its own on top of UCX, ``mlx``, and names verbs alone."""
    chosen = native.variables(launch)
    if chosen.get("FI_PROVIDER") == native.VERBS:
        chosen["FI_PROVIDER"] = "mlx,verbs"
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
