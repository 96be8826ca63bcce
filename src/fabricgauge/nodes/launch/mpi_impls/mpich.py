"""MPICH 4 and 5 (ch4 with UCX or OFI), and Hydra, its launcher and that of Intel MPI.

Sources: ``mpivars`` and ``mpiexec -help`` of MPICH 4.0.2 and 5.0.2; ucx_info -cf (UCX); fi_tcp(7)
(libfabric); Intel MPI Library Developer Reference 2021.13, "Hydra Environment Variables".
"""

from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.nodes.launch.mpi_impls import (
    MpiImplementation,
    has_own_cores,
    hosts,
    is_pinned,
    lets_slurm_place,
    native,
    ranks_per_node,
)

#: Only TCP, with any netmod of the library. UCX leaves bridges out by default
#: (uct_tcp_query_devices in tcp_iface.c, UCX 1.20), but a host of virtual machines has its address
#: on a bridge. Versions without that variable would warn about it.
PINNED = {
    "UCX_TLS": "tcp,self,sm",
    "UCX_TCP_BRIDGE_ENABLE": "y",
    "UCX_WARN_UNUSED_ENV_VARS": "n",
    "FI_PROVIDER": "tcp",
}

#: No shared memory, although both ranks are on one node. UCX finds no path from lo to lo, but the
#: kernel sends data for any of its own addresses through lo.
OVER_LOOPBACK = {
    "MPIR_CVAR_NOLOCAL": "1",
    "UCX_TLS": "tcp,self",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": "lo",
}

#: Variables of UCX and of libfabric; MPICH uses one of the two, depending on its build.
INTERFACE_VARIABLES = ("UCX_NET_DEVICES", "FI_TCP_IFACE")


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """Return ``mpiexec`` with the binding of each rank."""
    bound_program = ("-bind-to", "core" if has_own_cores(launch, access) else "none", *program)
    env = _transport(launch, access, mpi)
    if access.virtual or access.launcher == "local":
        # A proxy (pmip) on this machine that shares hwloc's topology with its ranks writes
        # /tmp/hydra_hwloc_xmlfile_*, which stays there if the proxy is killed; it writes none if
        # HWLOC_XMLFILE is set (topo_hwloc.c, MPICH 4.0 to 5.0). An empty value names no file, so
        # that hwloc reads the machine as usual.
        env["HWLOC_XMLFILE"] = ""
    host_words = ("-hosts", hosts(launch))
    agent_variable = "HYDRA_LAUNCHER_EXTRA_ARGS"
    return hydra(mpi, launch, access, bound_program, host_words, env, agent_variable)


def hydra(
    mpi: Mpi,
    launch: PlannedLaunch,
    access: HostAccess,
    program: tuple[str, ...],
    host_words: tuple[str, ...],
    env: dict[str, str],
    agent_variable: str,
) -> LaunchCommand:
    """Return ``mpiexec`` with one rank per entry of ``launch.nodes``, in that order.

    ``host_words`` name the nodes. All ranks get ``env``. ``agent_variable`` takes the options of
    the program that reaches a node.
    """
    argv = (
        *access.head_prefix,
        str(mpi.mpiexec),
        *_launcher(access, launch, host_words),
        "-n", str(len(launch.nodes)),
        *program,
    )  # fmt: skip
    variables = dict(env)
    if access.agent_options:
        variables[agent_variable] = " ".join(access.agent_options)
    if access.launcher == "slurm":
        # Hydra starts the ranks, so its proxies, which srun starts, need no PMI of Slurm. A site's
        # default of ``pmix`` would set variables with which MPICH 5 finds two PMIs and ends.
        variables["SLURM_MPI_TYPE"] = "none"
    return LaunchCommand(argv, variables)


def _launcher(
    access: HostAccess, launch: PlannedLaunch, host_words: tuple[str, ...]
) -> tuple[str, ...]:
    if access.launcher == "local":
        return ("-launcher", "fork")
    if lets_slurm_place(access):
        return ("-launcher", "slurm", "-ppn", str(ranks_per_node(launch)))
    if access.launcher == "slurm":
        names = tuple(dict.fromkeys(launch.nodes))
        if names != tuple(node for node in access.nodes if node in names):
            raise CannotRun(
                f"this MPI's launcher starts ranks in Slurm's order of nodes, not in the order"
                f" {', '.join(names)}: leave --rank-order out, or use --launcher srun"
            )
        return ("-launcher", "slurm", *host_words)
    agent = ("-launcher-exec", access.agent) if access.agent and access.agent != "ssh" else ()
    return ("-launcher", "ssh", *agent, *host_words)


def _transport(launch: PlannedLaunch, _access: HostAccess, _mpi: Mpi) -> dict[str, str]:
    """Return the variables of a launch; Hydra and srun pass them to all ranks."""
    if is_loopback(launch.network):
        return dict(OVER_LOOPBACK)
    if launch.ports:
        return native.variables(launch)
    if not is_pinned(launch):
        return {}
    # An interface may have IPv4 and IPv6 addresses: UCX uses the first family.
    family = {"UCX_TCP_AF_PRIO": "inet6,inet"} if ":" in (launch.subnet or "") else {}
    return {**PINNED, **family}


#: A build with OFI prints no transports: then only the loaded libraries are known.
MPI_IMPL = MpiImplementation(
    command, _transport, "pmi2", INTERFACE_VARIABLES, native.UCX_VERBOSE,
    native.parse_ucx_transports,
)  # fmt: skip
