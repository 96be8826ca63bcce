"""The connectivity round of all networks: who can connect to whom, before anything is measured."""

from collections.abc import Callable, Iterable

from fabricgauge.connect.rounds import connect
from fabricgauge.engines.connect_program import connect_program
from fabricgauge.model.absence import Skipped
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Network
from fabricgauge.model.host_access import HostAccess

Keep = Callable[[str, str], None]


def connectivity(
    access: HostAccess, networks: Iterable[Network], keep: Keep
) -> tuple[Connectivity, ...] | Skipped:
    """One round per network, one after the other; Skipped where none could be made.

    ``keep(node, raw)`` is handed what each node printed. A round in which no node could play
    its part tells nothing: it is the reason to skip.
    """
    try:
        program = connect_program()
    except CannotRun as error:
        return Skipped(str(error))
    if isinstance(program, Skipped):
        return program
    made = tuple(connect(program, access, network, keep) for network in networks)
    for one in made:
        if one.silent and len(one.silent) == len(one.tried):
            node, reason = next(iter(one.silent.items()))
            return Skipped(f"{node}: {reason}")
    return made
