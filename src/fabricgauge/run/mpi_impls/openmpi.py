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
from fabricgauge.process import MARKER
from fabricgauge.run.mpi_impls import native
from fabricgauge.run.mpi_impls.interface import (
    MpiImplementation,
    anywhere,
    has_own_cores,
    hosts,
    is_pinned,
    ranks_per_node,
)
from fabricgauge.words.networks import is_loopback

#: A lab's nodes run as root of their namespace; Open MPI refuses root without both.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """``mpiexec`` with one rank per entry of ``launch.nodes``, in that order."""
    old, chosen = is_version_4(mpi), native.variables(launch)
    argv = (
        *access.head_prefix,
        str(mpi.mpiexec),
        *_prefix(mpi),
        *_launcher(access, launch, old),
        "-n", str(len(launch.nodes)),
        "--bind-to", "core" if has_own_cores(launch, access) else "none",
        "-x", MARKER,
        *(word for pair in _parameters(launch, old).items() for word in ("--mca", *pair)),
        *(word for name in chosen for word in ("-x", name)),
        *(("--mca", "mpi_yield_when_idle", "1") if shares_processors(launch, access) else ()),
        *program,
    )  # fmt: skip
    return LaunchCommand(argv, {**AS_ROOT, **chosen})


def shares_processors(launch: PlannedLaunch, access: HostAccess) -> bool:
    """Whether ranks of a virtual cluster are more than this machine's processors.

    The launcher counts nodes and cannot see it: ranks that wait would keep others from running.
    """
    return access.virtual and len(launch.nodes) > (os.cpu_count() or 1)


def is_version_4(mpi: Mpi) -> bool:
    """Whether the launcher is ORTE and shared memory is called vader."""
    return mpi.version.startswith("4.")


def _prefix(mpi: Mpi) -> tuple[str, ...]:
    """Where the nodes find Open MPI's daemon, unless it is where the system keeps its own."""
    home = PurePosixPath(mpi.mpiexec).parent.parent
    return () if str(home) in ("/usr", "/", ".") else ("--prefix", str(home))


def _launcher(access: HostAccess, launch: PlannedLaunch, old: bool) -> tuple[str, ...]:
    if access.launcher == "local":
        return ("--oversubscribe",) if old else ("--map-by", ":OVERSUBSCRIBE")
    if access.launcher == "slurm":
        slurm = ("--mca" if old else "--prtemca", "plm", "slurm")
        if anywhere(access):
            return (*slurm, "--map-by", f"ppr:{ranks_per_node(launch)}:node")
        return (*slurm, "--host", hosts(launch), "--map-by", "slot")
    agent = " ".join((access.agent or "ssh", *access.agent_options))
    if old:
        way = ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent)
    else:
        way = ("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", agent)
    return (*way, "--host", hosts(launch), "--map-by", "slot")


def _parameters(launch: PlannedLaunch, old: bool) -> dict[str, str]:
    """TCP and no other network, or RDMA ports and no TCP (ob1's BTLs, which one-sided may use).

    One-sided over TCP needs its component named.

    4.1 leaves pt2pt out unless it is asked for, and then one-sided over TCP has none;
    5 has rdma alone, whose windows on one node are shared memory even over loopback.
    """
    if launch.ports:
        provider = native.variables(launch).get("FI_PROVIDER", "")
        return {"pml": "^ob1", "btl": "^tcp", "mtl_ofi_provider_include": provider}
    osc = {"osc": "pt2pt" if old else "rdma"}
    if is_loopback(launch.network):
        return {**_btl("tcp,self", "lo"), **osc}
    if is_pinned(launch) and launch.subnet:
        _require_ipv4(launch.network, launch.subnet)
        return {**_btl(f"tcp,self,{'vader' if old else 'sm'}", launch.subnet), **osc}
    return osc if old else {}


def _require_ipv4(network: str | None, subnet: str) -> None:
    """Refuse a subnet that the BTL cannot read; its interface may have a name on each node."""
    if ":" in subnet:
        raise CannotRun(
            f"Open MPI cannot be kept to {network} ({subnet}): it takes subnets of IPv4 alone."
            " Measure with another MPI (--mpi mpich), without MPI (--tool iperf3), or other"
            " networks (--network)"
        )


def _btl(names: str, include: str) -> dict[str, str]:
    return {"pml": "ob1", "btl": names, "btl_tcp_if_include": include}


def _transport(launch: PlannedLaunch, _access: HostAccess, mpi: Mpi) -> dict[str, str]:
    chosen = _parameters(launch, is_version_4(mpi))
    named = {f"OMPI_MCA_{name}": value for name, value in chosen.items()}
    return {**named, **native.variables(launch)}


#: ob1's layer above the BTLs: ``mca: bml: Using tcp btl for send to [[33863,1],1] on node c2``.
_USES = re.compile(r"mca: bml: Using (\w+) btl for send to ")


def _ways(line: str) -> tuple[str, ...]:
    """``("btl tcp",)``, or what UCX says where the pml is ucx; nothing for self."""
    found = _USES.search(line[:1000])
    if found:
        return () if found[1] == "self" else (f"btl {found[1]}",)
    return native.ucx_ways(line)


#: ob1 has no TCP where both are set, include and exclude.
CONTRARY = ("OMPI_MCA_btl_tcp_if_exclude",)
TELLS = {"OMPI_MCA_btl_base_verbose": "10", **native.UCX_TELLS}
MPI_IMPL = MpiImplementation(
    command, _transport, "pmix", contrary=CONTRARY, tells=TELLS, ways=_ways
)
