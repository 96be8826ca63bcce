"""MPICH 4 and 5 (ch4 with UCX or OFI).

Sources: ``mpivars`` of MPICH 4.0.2 and 5.0.2; ucx_info -cf (UCX);
fi_tcp(7) (libfabric).
"""

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.run.mpi_impls import native
from fabricgauge.run.mpi_impls.hydra import hydra
from fabricgauge.run.mpi_impls.interface import MpiImplementation, has_own_cores, hosts, is_pinned
from fabricgauge.words.networks import is_loopback

#: TCP alone, whichever netmod the library was built with or chooses. UCX leaves bridges out unless
#: it is told otherwise (uct_tcp_query_devices in tcp_iface.c, UCX 1.20), and a host of virtual
#: machines has its address on one. Versions without that variable would warn of it.
PINNED = {
    "UCX_TLS": "tcp,self,sm",
    "UCX_TCP_BRIDGE_ENABLE": "y",
    "UCX_WARN_UNUSED_ENV_VARS": "n",
    "FI_PROVIDER": "tcp",
}

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


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """``mpiexec`` with each rank bound as it should be."""
    bound = ("-bind-to", "core" if has_own_cores(launch, access) else "none", *program)
    env = _transport(launch, access, mpi)
    named = ("-hosts", hosts(launch))
    return hydra(mpi, launch, access, bound, named, env, "HYDRA_LAUNCHER_EXTRA_ARGS")


def _transport(launch: PlannedLaunch, _access: HostAccess, _mpi: Mpi) -> dict[str, str]:
    """Hydra hands its whole environment on to every rank, and so does srun."""
    if is_loopback(launch.network):
        return dict(OVER_LOOPBACK)
    if launch.ports:
        return native.variables(launch)
    if not is_pinned(launch):
        return {}
    # An interface may have addresses of both kinds: UCX takes the first.
    family = {"UCX_TCP_AF_PRIO": "inet6,inet"} if ":" in (launch.subnet or "") else {}
    return {**PINNED, **family}


#: Built with OFI it says nothing short: then the libraries that were loaded are all that is known.
MPI_IMPL = MpiImplementation(
    command, _transport, "pmi2", INTERFACE_VARIABLES, native.UCX_TELLS, native.ucx_ways
)
