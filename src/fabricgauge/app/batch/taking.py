"""A launch that a job made becomes one of the run's: its records, and how it ended."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.app.batch.attempts import ended, run_of
from fabricgauge.app.breakage import Breakage, Broken, of_states, of_words, told
from fabricgauge.files.reading import read_text
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.parse.engine import NotUnderstood, parse_line
from fabricgauge.run.batch.slurm import lost_nodes
from fabricgauge.run.launch import printed
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import ResultLine, Started, append_launch, append_records

#: Stands for a subnet that the folder of a launch does not tell.
UNKNOWN = "?"


def pinned_to(folder: Path) -> str | None:
    """The subnet that a launch was pinned to, None for none, UNKNOWN where no file says it."""
    try:
        return read_text(folder / "subnet", run_of(folder)).strip() or None
    except OSError:
        return UNKNOWN


class Taken:
    """Which launches were taken before; a collector may have been ended in the middle of one."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._closed, self._begun = set(_closed(directory)), Counter(_begun(directory))

    def take(self, launch: PlannedLaunch, attempt: int, folder: Path, why: str) -> None:
        """Take what ``folder`` holds, unless that was done; ``why`` is why it was cut short."""
        key = (launch.number, attempt)
        if key in self._closed:
            return
        _take(self._directory, launch, attempt, folder, why, self._begun[key])
        self._closed.add(key)


def _closed(directory: RunDirectory) -> Iterator[tuple[int, int]]:
    started, _ = directory.read_lines("launches.jsonl", msgspec.json.Decoder(Started).decode)
    return ((one.launch, one.attempt) for one in started)


def _begun(directory: RunDirectory) -> Iterator[tuple[int, int]]:
    """The launch of each record: a collector may have been ended before it closed one."""
    entries, _ = directory.read_lines("results.jsonl", msgspec.json.Decoder(ResultLine).decode)
    return ((one.launch, one.attempt) for one in entries)


def _take(
    directory: RunDirectory,
    launch: PlannedLaunch,
    attempt: int,
    folder: Path,
    why: str,
    there: int,
) -> None:
    """``there`` is how many of its records were taken before."""
    found, strange = [], []
    try:
        lines = read_text(folder / "stdout.jsonl", run_of(folder)).splitlines()
    except OSError:
        lines = []
    for line in lines:
        record = parse_line(line)
        if not isinstance(record, NotUnderstood):
            found.append(ResultLine(launch.number, attempt, record))
        elif record.text:
            strange.append(f"{record.text} ({record.reason})")
    append_records(directory, found[there:])
    end = ended(folder, why)
    if end.status != "ok":
        said = f"{printed(folder, run_of(folder))}\n{why}"
        end = _blamed(end, launch, said, lost_nodes(launch.nodes))
    append_launch(
        directory,
        Started(launch.number, attempt, launch.network, launch.nodes, end, tuple(strange)),
    )


def _blamed(end: Ended, launch: PlannedLaunch, said: str, lost: dict[str, str]) -> Ended:
    """The end with who broke the launch: nodes that Slurm has lost, else whom the words name."""
    states = {node: f"Slurm says that it is {state}" for node, state in lost.items()}
    broken = Broken(launch, end.exit_code, states, said)
    changes = tuple(f"{node} cannot be reached since then: {what}" for node, what in states.items())
    end = msgspec.structs.replace(end, changes=changes, change_kinds=("node",) * len(changes))
    return told(end, of_states(broken) or of_words(broken) or Breakage())
