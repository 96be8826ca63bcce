"""The nodes' /etc/hosts: a file for each, so that one of them can be wrong."""

from collections.abc import Sequence
from pathlib import Path

from fabricgauge.lab.fault_kinds import Fault, HostsEntry
from fabricgauge.lab.spec import address

FOLDER = "hosts"


def text(networks: Sequence[str], nodes: Sequence[str], wrong: Sequence[HostsEntry] = ()) -> str:
    """What stands in the file: ``nodes`` begins with the head, ``wrong`` are its wrong lines.

    In the first network a node has its plain name, in network NET the alias NODE-NET.
    """
    instead = {(entry.network, entry.name): entry.ip for entry in wrong}
    lines = ["127.0.0.1 localhost"]
    for index, network in enumerate(networks):
        for number, name in enumerate(nodes):
            plain = f"{name} " if index == 0 else ""
            ip = instead.get((network, name)) or address(index, number)
            lines.append(f"{ip} {plain}{name}-{network}")
    return "\n".join(lines) + "\n"


def write(
    directory: Path, networks: Sequence[str], nodes: Sequence[str], faults: Sequence[Fault] = ()
) -> None:
    """Write every node's file in place: the nodes have it mounted, and a new one would not be."""
    folder = directory / FOLDER
    folder.mkdir(exist_ok=True)
    for node in nodes:
        wrong = [one for one in faults if isinstance(one, HostsEntry) and one.node == node]
        (folder / node).write_text(text(networks, nodes, wrong))
