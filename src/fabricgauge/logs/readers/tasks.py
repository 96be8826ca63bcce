"""Read the line in which each rank of a suite's program states its place.

The output is of many tasks; each line begins with its task's number, as of ``srun --label``.
"""

import re
from collections.abc import Iterable

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Placement
from fabricgauge.model.run import RANK_PREFIX

_LABEL = re.compile(r"\s*(\d+):(?: |$)")


def by_task(lines: Iterable[str]) -> dict[int, list[str]]:
    """Return each task's own lines without their label; a line without one is left out."""
    lines_of_task: dict[int, list[str]] = {}
    for line in lines:
        label = _LABEL.match(line)
        if label:
            lines_of_task.setdefault(int(label[1]), []).append(line[label.end() :])
    return lines_of_task


_LINE = re.compile(
    RANK_PREFIX + r"rank=(\d+) pid=(\d+) boot_id=(\S*) net=(\S*) cpus=(\S*) cpu=(\d+)"
    r" numa=(\d*) interface=(\S*) host=(\S+)"
)


def is_telling(line: str) -> bool:
    """Check whether a line is a rank's statement about itself, complete or not."""
    return RANK_PREFIX in line


def placement(line: str) -> Placement | None:
    """Return the place of a rank; None for a line that is cut off or mixed with another's."""
    match = _LINE.search(line)
    if match is None:
        return None
    rank, pid, boot_id, net, cpus, cpu, numa, interface, host = match.groups()
    node = int(numa) if numa else Skipped("its kernel reports no NUMA nodes")
    return Placement(
        rank=int(rank), host=host, pid=int(pid), boot_id=boot_id, net_namespace=net,
        cpus_allowed=cpus, cpu=int(cpu), numa_node=node, interface=interface,
    )  # fmt: skip
