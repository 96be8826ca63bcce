"""Read what the starts of a job left in the run directory, and add it to the run."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.check.breakage import (
    CulpritFindings,
    FailedLaunch,
    culprit_from_memory,
    culprit_from_output,
    culprit_from_pair,
    culprit_from_states,
    with_findings,
)
from fabricgauge.features.jobs.slurm.slurm import lost_nodes
from fabricgauge.logs.readers.engine import NotUnderstood, by_task, parse_line
from fabricgauge.model.errors import UsageError
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.nodes.launch.launch import FOOTER, outcome, printed, run_of, tail
from fabricgauge.nodes.launch.launchers.nodes import require_host_names
from fabricgauge.store import run_files
from fabricgauge.store.files.reading import read_text
from fabricgauge.store.run_directory import RunDirectory

#: The subnet of a launch whose folder does not hold it.
UNKNOWN_SUBNET = "?"
#: steps.sh replaces the ends of a node's lines by this.
_END_OF_LINE = "\x01"

#: Fields of ``scontrol --oneliner show job`` that affect the figures (scontrol(1), Slurm 22.05).
_FACTS = (
    "JobId", "Partition", "QOS", "Account", "Reservation", "Features", "OverSubscribe", "TimeLimit",
    "NodeList", "TRES", "TresPerNode", "Restarts",
)  # fmt: skip
_FACT = re.compile(rf"(?:^|\s)({'|'.join(_FACTS)})=(\S{{1,300}})")
_NO_VALUES = frozenset({"(null)", "N/A", "None"})


class Attempt(msgspec.Struct, frozen=True):
    """One start of a job, also after a requeue.

    ``nodes`` are in Slurm's order, empty if unknown. ``ports`` are the networks of RDMA ports that
    the job found, as ``infiniband mlx5_0:1,mlx5_1:1``.
    """

    number: int
    job: str
    folder: str
    nodes: tuple[str, ...]
    subnets: tuple[str, ...]
    path: Path
    ports: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Check if the script reached its last line."""
        return (self.path / "end").exists()

    def answers(self) -> dict[str, str]:
        """Return each node's own description."""
        tasks = by_task(_read(self.path / "discovered").split("\n"))
        answers = ("".join(pieces).split(_END_OF_LINE) for pieces in tasks.values())
        return {lines[0].removeprefix("node "): "\n".join(lines[1:]) for lines in answers}

    def facts(self) -> dict[str, str]:
        """Return Slurm's own facts about the job, for the run's environment."""
        slurm_facts = _FACT.findall(_read(self.path / "slurm"))
        facts_by_name = {
            name: value for name, value in reversed(slurm_facts) if value not in _NO_VALUES
        }
        facts = {f"Slurm {name}": facts_by_name[name] for name in _FACTS if name in facts_by_name}
        place = _read(self.path / "base").strip()
        return {**facts, **({"Place of the carried programs": place} if place else {})}

    def trouble(self) -> str:
        """Return the error messages of the step that asked the nodes."""
        return " ".join(_read(self.path / "discovered.err").split())[:500]

    def unable(self) -> dict[str, str]:
        """Return the nodes that cannot take part in a carried job, each with the reason."""
        rows = (line.partition(" ") for line in _read(self.path / "unable").splitlines())
        return {node: reason for node, _, reason in rows if node in self.nodes}

    @property
    def gave_up(self) -> bool:
        """Check if the job's first node could hold nothing, so that no node was asked."""
        return bool(self.unable()) and not (self.path / "discovered").exists()

    def connected(self) -> Iterator[tuple[str, dict[int, str], dict[str, str]]]:
        """Yield each round of connections: its subnet, the nodes by number, the output of each.

        A round in which not all programs listened in time proves nothing about the network.
        """
        for place in sorted(self.path.glob("connect-*")):
            members = [line.split() for line in _read(place / "members").splitlines()]
            names = dict(
                enumerate(require_host_names(member[0] for member in members if member), 1)
            )
            outputs = {node: _read(place / f"{node}.txt") for node in names.values()}
            if len(names) > 1 and not (place / "late").exists():
                yield _read(place / "subnet").strip(), names, outputs

    def launches(self) -> Iterator[tuple[int, Path]]:
        """Yield number and folder of each launch that began, in order."""
        folders = self.path.parent.glob(f"launch-*-{self.number}")
        numbered = ((folder.name.split("-")[1], folder) for folder in folders)
        yield from sorted((int(number), path) for number, path in numbered if number.isdecimal())


def find_attempts(raw: Path) -> tuple[Attempt, ...]:
    """Return the starts in their order; one whose files are unreadable has no nodes."""
    folders = ((path.name.removeprefix("attempt-"), path) for path in raw.glob("attempt-*"))
    return tuple(
        _attempt(number, path)
        for number, path in sorted((int(n), p) for n, p in folders if n.isdecimal())
    )


def _attempt(number: int, path: Path) -> Attempt:
    try:
        nodes = require_host_names(_read(path / "nodes").split())
    except UsageError:
        nodes = ()
    subnets = tuple(_read(path / "subnets").split())
    job, folder = _read(path / "job").strip(), _read(path / "folder").strip()
    rows = (line.split() for line in _read(path / "ports").splitlines())
    ports = tuple(f"{row[0]} {row[2]}" for row in rows if len(row) == 4)
    return Attempt(number, job, folder, nodes, subnets, path, ports)


def end_of_launch(folder: Path, why: str) -> Ended:
    """Return how a launch of a job ended; ``why`` is why it was cut short, if it was."""
    argv = tuple(_read(folder / "command").splitlines())
    code = _read(folder / "exit").strip()
    wall_s = _seconds(folder / "ended") - _seconds(folder / "began")
    if not code.lstrip("-").isdecimal():
        message = f"the job ended before this launch did ({why})"
        return Ended("broken", None, message, argv, 0.0)
    complete = any(line.startswith(FOOTER) for line in _read(folder / "stdout.jsonl").splitlines())
    errors = tail(folder / "stderr.txt")
    status, message = outcome(int(code), errors, silent_s=None, complete=complete)
    return Ended(status, int(code), message, argv, max(0.0, wall_s))


def subnet_of_launch(folder: Path) -> str | None:
    """Return a launch's pinned subnet; None for none, UNKNOWN_SUBNET without a file."""
    try:
        return read_text(folder / "subnet", run_of(folder)).strip() or None
    except OSError:
        return UNKNOWN_SUBNET


class ClaimedAttempts:
    """Add launches of jobs to the run: their records, and how they ended.

    A collector may have been ended in the middle of a launch: its stored records are not added
    again.
    """

    def __init__(self, directory: RunDirectory, memory: str = "") -> None:
        self._directory, self._memory = directory, memory
        entries, _ = directory.read_lines("results.jsonl", run_files.RESULT_DECODER.decode)
        closed, _ = directory.read_lines("launches.jsonl", run_files.LAUNCH_DECODER.decode)
        self._begun = Counter((entry.launch, entry.attempt) for entry in entries)
        self._closed = {(closed_launch.launch, closed_launch.attempt) for closed_launch in closed}

    def claim(
        self, launch: PlannedLaunch, attempt: int, folder: Path, why: str, *, pair: bool = False,
        stopped: bool = False,
    ) -> None:  # fmt: skip
        """Add the records in ``folder``, unless they were added; ``why`` is why it was cut short.

        ``pair`` is true if the job was of two nodes alone, ``stopped`` if Slurm ended the launch:
        then its output names ranks that Slurm killed.
        """
        key = (launch.number, attempt)
        if key in self._closed:
            return
        records, unparsed = [], []
        for line in _read(folder / "stdout.jsonl").splitlines():
            record = parse_line(line)
            if not isinstance(record, NotUnderstood):
                records.append(record)
            elif record.text:
                unparsed.append(f"{record.text} ({record.reason})")
        run_files.append_records(self._directory, *key, records[self._begun[key] :])
        end = end_of_launch(folder, why)
        if end.status != "ok":
            # The culprits are nodes that Slurm has lost, else what the output shows.
            lost = lost_nodes(launch.nodes).items()
            states = {node: f"Slurm reports the state {state}" for node, state in lost}
            broken = FailedLaunch(
                launch, end.exit_code, states, f"{printed(folder)}\n{why}", memory=self._memory
            )
            changes = tuple(
                f"{node} cannot be reached since then: {trouble}"
                for node, trouble in states.items()
            )
            end = msgspec.structs.replace(
                end, changes=changes, change_kinds=("node",) * len(changes)
            )
            find_culprits = culprit_from_pair if pair and not records else culprit_from_output
            culprits = culprit_from_states(broken)
            if not (culprits or stopped):
                culprits = culprit_from_memory(broken) or find_culprits(broken)
            end = with_findings(end, culprits or CulpritFindings())
        started = run_files.LaunchLine(*key, launch.network, launch.nodes, end, tuple(unparsed))
        run_files.append_launch(self._directory, started)
        self._closed.add(key)


def _seconds(path: Path) -> float:
    text = _read(path).strip()
    return float(text) if text.isdecimal() else 0.0


def _read(path: Path) -> str:
    try:
        return read_text(path, run_of(path))
    except OSError:
        return ""
