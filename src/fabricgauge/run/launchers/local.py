"""The local launcher: every rank on this machine, nothing in front of a command."""

from fabricgauge.model.reach import Door, Reach
from fabricgauge.run.launchers.nodes import checked


def reach(nodes: tuple[str, ...]) -> Reach:
    """Doors that lead nowhere else; ``nodes`` are names for this machine.

    Raises:
        UsageError: a name that no host can have.
    """
    return Reach("local", tuple(Door(node, ()) for node in checked(nodes)))
