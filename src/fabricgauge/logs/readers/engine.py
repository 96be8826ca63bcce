"""Read the engine's JSON Lines, one at a time, and the line in which a rank states its place.

A rank of a suite's program prints its place before the program begins. Outputs of many tasks have
the task's number in front of each line, as of ``srun --label``.
"""

import re
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import (
    FORMAT_VERSION,
    Footer,
    Header,
    Measurement,
    Placement,
    Round,
)
from fabricgauge.model.measurement import Record as EngineRecord
from fabricgauge.model.run import RANK_PREFIX

_DECODER: msgspec.json.Decoder[EngineRecord] = msgspec.json.Decoder(
    Header | Placement | Round | Measurement | Footer
)

#: The engine writes whole lines only, so another hand ended it: a signal, a node that went down.
TORN = "a record that is cut off: the launch was ended while it was written"

#: Intel MPI, whose I_MPI_DEBUG we set, prints these on standard output.
SAID_WHEN_ASKED = "[0] MPI startup(): "


class NotUnderstood(msgspec.Struct, frozen=True):
    """A line that is no record: its text, shortened, and the form that was expected."""

    text: str
    reason: str


def parse_line(line: str) -> EngineRecord | NotUnderstood:
    """Return the record of one line of the engine's standard output.

    Launchers and MPI libraries write warnings between the records; those come back as
    NotUnderstood, never dropped, as does a record cut off by a dying launch.
    """
    text = line.strip()
    if text.startswith(SAID_WHEN_ASKED):
        return NotUnderstood("", "Intel MPI's own lines, which our settings request")
    if not text.startswith("{"):
        return NotUnderstood(text[:200], "not a record; most likely a message of the launcher")
    try:
        record = _DECODER.decode(text)
    except msgspec.MsgspecError as error:
        # A text that ends within a number is malformed at its very end.
        if "truncated" in str(error) or str(error).endswith(f"(byte {len(text.encode())})"):
            return NotUnderstood(text[:200], TORN)
        return NotUnderstood(text[:200], f"expected an engine record: {error}")
    except RecursionError:
        return NotUnderstood(text[:200], "expected an engine record: nested too deeply")
    if isinstance(record, Header) and _major(record.version) != _major(FORMAT_VERSION):
        reason = f"format version {record.version}; this program reads {FORMAT_VERSION}"
        return NotUnderstood(text[:200], reason)
    return record


def _major(version: str) -> str:
    return version.partition(".")[0]


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
