"""The connectivity round: each node connects to each other node of a network."""

import os
import re
from collections.abc import Callable, Iterable, Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.fabric import Network
from fabricgauge.model.host_access import HostAccess
from fabricgauge.nodes.connect.rounds import PORTS, connect
from fabricgauge.nodes.engines.connect_program import connect_program
from fabricgauge.nodes.engines.ready_made import sha256_of
from fabricgauge.nodes.launch.carrying import Parcel, on_nodes

Keep = Callable[[str, str], None]

#: Variables that limit an MPI to some ports, "FIRST:LAST" or "FIRST-LAST": a firewall may let only
#: these pass. Sources: the strings of MPICH 5.0 and Intel MPI 2021.18; UCX, ucx_info -cf.
PORT_VARIABLES = (
    "MPIR_CVAR_CH3_PORT_RANGE", "MPICH_PORT_RANGE", "MPIEXEC_PORT_RANGE", "I_MPI_PORT_RANGE",
    "UCX_TCP_PORT_RANGE",
)  # fmt: skip
#: Open MPI has two: the first port, and how many (ompi_info --param btl tcp).
FIRST_PORT, PORT_COUNT = "OMPI_MCA_btl_tcp_port_min_v4", "OMPI_MCA_btl_tcp_port_range_v4"
_RANGE = re.compile(r"(\d+)[:-](\d+)")


def mpi_ports(variables: Mapping[str, str]) -> range:
    """Return the ports that the environment allows MPI; by default the kernel's ephemeral ports."""
    for name in PORT_VARIABLES:
        ports = _RANGE.fullmatch(variables.get(name, ""))
        if ports and 0 < int(ports[1]) <= int(ports[2]) < 65536:
            return range(int(ports[1]), int(ports[2]) + 1)
    first, count = variables.get(FIRST_PORT, ""), variables.get(PORT_COUNT, "")
    if first.isdecimal() and count.isdecimal() and 0 < int(first) < 65536 - int(count):
        return range(int(first), int(first) + max(1, int(count)))
    return PORTS


def connectivity(
    access: HostAccess, networks: Iterable[Network], keep: Keep
) -> tuple[Connectivity, ...] | Skipped:
    """Make one round per network, one after the other; Skipped if no node could take part.

    ``keep(node, raw)`` receives the output of each node. A round in which no node could take part
    proves nothing: it is the reason to skip.
    """
    program = connect_program()
    if isinstance(program, Skipped):
        return program
    ports = mpi_ports(os.environ)
    parcel = Parcel(program, program.name, sha256_of(program))
    with on_nodes(parcel, access.hosts) as path:
        connectivities = tuple(connect(path, access, network, keep, ports) for network in networks)
    for network_round in connectivities:
        if network_round.silent and len(network_round.silent) == len(network_round.tried):
            node, reason = next(iter(network_round.silent.items()))
            return Skipped(f"{node}: {reason}")
    return connectivities
