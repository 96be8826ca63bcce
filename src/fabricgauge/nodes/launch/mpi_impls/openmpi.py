"""Open MPI 4.1 (ORTE) and 5 (PRRTE).

Sources: mpirun(1) of 4.1.4 and 5.0.11; ``ompi_info --param all all --level 9`` of both.
"""

import os
import re
from pathlib import PurePosixPath

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
from fabricgauge.nodes.process import MARKER

#: A lab's nodes run as root of their namespace; Open MPI refuses root without both.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """Return ``mpiexec`` with one rank per entry of ``launch.nodes``, in that order."""
    is_orte, variables = is_version_4(mpi), native.variables(launch)
    home = str(PurePosixPath(mpi.mpiexec).parent.parent)
    argv = (
        *access.head_prefix,
        str(mpi.mpiexec),
        # The path of Open MPI's daemon, unless it is a system path.
        *(() if home in ("/usr", "/", ".") else ("--prefix", home)),
        *_launcher(access, launch, is_orte),
        "-n", str(len(launch.nodes)),
        "--bind-to", "core" if has_own_cores(launch, access) else "none",
        "-x", MARKER,
        *(word for pair in _parameters(launch, is_orte).items() for word in ("--mca", *pair)),
        *(word for name in variables for word in ("-x", name)),
        *(("--mca", "mpi_yield_when_idle", "1") if shares_processors(launch, access) else ()),
        *program,
    )  # fmt: skip
    return LaunchCommand(argv, {**AS_ROOT, **variables})


def shares_processors(launch: PlannedLaunch, access: HostAccess) -> bool:
    """Check whether a virtual cluster has more ranks than this machine has processors.

    The launcher counts nodes and cannot know that: waiting ranks would keep other ranks from
    running.
    """
    return access.virtual and len(launch.nodes) > (os.cpu_count() or 1)


def is_version_4(mpi: Mpi) -> bool:
    """Check whether the launcher is ORTE and the component for shared memory is named vader."""
    return mpi.version.startswith("4.")


def _launcher(access: HostAccess, launch: PlannedLaunch, is_orte: bool) -> tuple[str, ...]:
    if access.launcher == "local":
        return ("--oversubscribe",) if is_orte else ("--map-by", ":OVERSUBSCRIBE")
    if access.launcher == "slurm":
        slurm = ("--mca" if is_orte else "--prtemca", "plm", "slurm")
        if lets_slurm_place(access):
            return (*slurm, "--map-by", f"ppr:{ranks_per_node(launch)}:node")
        return (*slurm, "--host", hosts(launch), "--map-by", "slot")
    agent = " ".join((access.agent or "ssh", *access.agent_options))
    if is_orte:
        remote_start = ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent)
    else:
        remote_start = ("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", agent)
    return (*remote_start, "--host", hosts(launch), "--map-by", "slot")


def _parameters(launch: PlannedLaunch, is_orte: bool) -> dict[str, str]:
    """Return MCA parameters for only TCP, or for RDMA ports without TCP.

    TCP is in ob1's BTLs, which one-sided operations may use. One-sided operations over TCP need
    the name of a component: 4.1 loads pt2pt only on request and has no other; 5 has only rdma,
    whose windows on one node are shared memory even over loopback.
    """
    if launch.ports:
        provider = native.variables(launch).get("FI_PROVIDER", "")
        return {"pml": "^ob1", "btl": "^tcp", "mtl_ofi_provider_include": provider}
    osc = {"osc": "pt2pt" if is_orte else "rdma"}
    if is_loopback(launch.network):
        return {**_btl("tcp,self", "lo"), **osc}
    if is_pinned(launch) and launch.subnet:
        # Names of interfaces may differ between nodes, so subnets are given.
        if ":" in launch.subnet:
            raise CannotRun(
                f"Open MPI cannot be pinned to {launch.network} ({launch.subnet}): it accepts only"
                " IPv4 subnets. Measure with another MPI (--mpi mpich), without MPI (--tool"
                " iperf3), or other networks (--network)"
            )
        return {**_btl(f"tcp,self,{'vader' if is_orte else 'sm'}", launch.subnet), **osc}
    return osc if is_orte else {}


def _btl(names: str, include: str) -> dict[str, str]:
    return {"pml": "ob1", "btl": names, "btl_tcp_if_include": include}


def _transport(launch: PlannedLaunch, _access: HostAccess, mpi: Mpi) -> dict[str, str]:
    parameters = _parameters(launch, is_version_4(mpi))
    variables = {f"OMPI_MCA_{name}": value for name, value in parameters.items()}
    return {**variables, **native.variables(launch)}


#: ob1's layer above the BTLs: ``mca: bml: Using tcp btl for send to [[33863,1],1] on node c2``.
_BTL_LINE = re.compile(r"mca: bml: Using (\w+) btl for send to ")


def _parse_transports(line: str) -> tuple[str, ...]:
    """Return e.g. ``("btl tcp",)``, or UCX's transports if the pml is ucx; empty for self."""
    match = _BTL_LINE.search(line[:1000])
    if match:
        return () if match[1] == "self" else (f"btl {match[1]}",)
    return native.parse_ucx_transports(line)


#: ob1 has no TCP if both include and exclude are set.
CONFLICTING_VARIABLES = ("OMPI_MCA_btl_tcp_if_exclude",)
MPI_IMPL = MpiImplementation(
    command, _transport, "pmix",
    verbose_variables={"OMPI_MCA_btl_base_verbose": "10", **native.UCX_VERBOSE},
    parse_transports=_parse_transports,
    conflicting_variables=CONFLICTING_VARIABLES,
)  # fmt: skip
