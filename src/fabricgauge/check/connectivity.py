"""Find which nodes can connect, before any measuring, and keep each answer."""

from collections import Counter
from collections.abc import Sequence

from fabricgauge.check.target import Target
from fabricgauge.model.absence import Skipped
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.fabric import Network
from fabricgauge.nodes.connectivity import connectivity
from fabricgauge.store.run_directory import RunDirectory

#: The folder of the nodes' answers about connections; later rounds add a number to the name.
CONNECTIONS = "connect"


def try_connections(
    target: Target, networks: Sequence[Network], directory: RunDirectory
) -> tuple[Connectivity, ...]:
    """Find which nodes can connect over ``networks``; keep each answer. Empty if none can try."""
    if target.simulation or len(target.access.hosts) < 2 or not networks:
        return ()
    target.progress.stage("every node connects to every other node")
    rounds = Counter[str]()
    before = sum(1 for _ in (directory.path / "raw").glob(f"{CONNECTIONS}*"))

    def keep(node: str, raw: str) -> None:
        rounds[node] += 1
        number = before + rounds[node]
        directory.keep_raw(CONNECTIONS if number == 1 else f"{CONNECTIONS}-{number}", node, raw)

    connectivities = connectivity(target.access, networks, keep)
    if isinstance(connectivities, Skipped):
        target.progress.trouble(
            f"connections were not tried: {connectivities.reason}; two nodes that cannot connect"
            " are found only when a launch breaks"
        )
        return ()
    return connectivities
