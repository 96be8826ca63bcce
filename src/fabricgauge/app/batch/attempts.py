"""What the starts of a job left in the run directory, and how it becomes the run's."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from fabricgauge.app.breakage import (
    CulpritFindings,
    FailedLaunch,
    culprit_from_output,
    culprit_from_pair,
    culprit_from_states,
    with_findings,
)
from fabricgauge.files.reading import read_text
from fabricgauge.model.errors import UsageError
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.parse.engine import NotUnderstood, parse_line
from fabricgauge.parse.tasks import by_task
from fabricgauge.run.batch.slurm import lost_nodes
from fabricgauge.run.launch import FOOTER, outcome, printed, run_of, tail
from fabricgauge.run.launchers.nodes import require_host_names
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory

#: Stands for a subnet that the folder of a launch does not tell.
UNKNOWN = "?"
#: What steps.sh puts in the place of the ends of a node's lines.
_END_OF_LINE = "\x01"

#: What of ``scontrol --oneliner show job`` bears on what is measured (scontrol(1) of Slurm 22.05).
_FACTS = (
    "JobId", "Partition", "QOS", "Account", "Reservation", "Features", "OverSubscribe", "TimeLimit",
    "NodeList", "TRES", "TresPerNode", "Restarts",
)  # fmt: skip
_FACT = re.compile(rf"(?:^|\s)({'|'.join(_FACTS)})=(\S{{1,300}})")
_NOTHING = frozenset({"(null)", "N/A", "None"})


class Attempt(msgspec.Struct, frozen=True):
    """One start of a job, also after a requeue.

    ``nodes`` are in Slurm's order, empty if unknown.
    """

    number: int
    job: str
    folder: str
    nodes: tuple[str, ...]
    subnets: tuple[str, ...]
    path: Path

    @property
    def ended(self) -> bool:
        """Whether the script came to its last line."""
        return (self.path / "end").exists()

    def answers(self) -> dict[str, str]:
        """Each node's own description."""
        tasks = by_task(_read(self.path / "discovered").split("\n"))
        with_findings = ("".join(pieces).split(_END_OF_LINE) for pieces in tasks.values())
        return {lines[0].removeprefix("node "): "\n".join(lines[1:]) for lines in with_findings}

    def facts(self) -> dict[str, str]:
        """Slurm's own facts about the job, for the run's environment."""
        said = _FACT.findall(_read(self.path / "slurm"))
        known = {name: value for name, value in reversed(said) if value not in _NOTHING}
        return {f"Slurm {name}": known[name] for name in _FACTS if name in known}

    def trouble(self) -> str:
        """What the step that asked the nodes complained of."""
        return " ".join(_read(self.path / "discovered.err").split())[:500]

    def connected(self) -> Iterator[tuple[str, dict[int, str], dict[str, str]]]:
        """Of each round of connections: its subnet, the nodes by number, what each printed.

        A round in which not all programs listened in time says nothing of the network.
        """
        for place in sorted(self.path.glob("connect-*")):
            members = [line.split() for line in _read(place / "members").splitlines()]
            names = dict(enumerate(require_host_names(one[0] for one in members if one), 1))
            said = {node: _read(place / f"{node}.txt") for node in names.values()}
            if len(names) > 1 and not (place / "late").exists():
                yield _read(place / "subnet").strip(), names, said

    def launches(self) -> Iterator[tuple[int, Path]]:
        """Number and folder of each launch that was begun, in order."""
        folders = self.path.parent.glob(f"launch-*-{self.number}")
        numbered = ((folder.name.split("-")[1], folder) for folder in folders)
        yield from sorted((int(number), path) for number, path in numbered if number.isdecimal())


def attempts(raw: Path) -> tuple[Attempt, ...]:
    """In the order in which they were made; one whose files are unreadable has no nodes."""
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
    return Attempt(number, job, folder, nodes, subnets, path)


def ended(folder: Path, why: str) -> Ended:
    """How a launch of a job ended; ``why`` is why it was cut short, if it was."""
    argv = tuple(_read(folder / "command").splitlines())
    code = _read(folder / "exit").strip()
    wall_s = _seconds(folder / "ended") - _seconds(folder / "began")
    if not code.lstrip("-").isdecimal():
        message = f"the job ended before this launch did ({why})"
        return Ended("broken", None, message, argv, 0.0)
    complete = any(line.startswith(FOOTER) for line in _read(folder / "stdout.jsonl").splitlines())
    said = tail(folder / "stderr.txt")
    status, message = outcome(int(code), said, silent_s=None, complete=complete)
    return Ended(status, int(code), message, argv, max(0.0, wall_s))


def pinned_to(folder: Path) -> str | None:
    """The subnet that a launch was pinned to, None for none, UNKNOWN where no file says it."""
    try:
        return read_text(folder / "subnet", run_of(folder)).strip() or None
    except OSError:
        return UNKNOWN


class Taken:
    """Launches of jobs that became the run's: their records, and how they ended.

    A collector may have been ended in the middle of one: what it took is not taken again.
    """

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        entries, _ = directory.read_lines("results.jsonl", run_files.RESULT_DECODER.decode)
        closed, _ = directory.read_lines("launches.jsonl", run_files.LAUNCH_DECODER.decode)
        self._begun = Counter((one.launch, one.attempt) for one in entries)
        self._closed = {(one.launch, one.attempt) for one in closed}

    def take(
        self, launch: PlannedLaunch, attempt: int, folder: Path, why: str, *, pair: bool = False
    ) -> None:
        """Take what ``folder`` holds, unless that was done; ``why`` is why it was cut short.

        ``pair`` is whether the job was of two nodes alone.
        """
        key = (launch.number, attempt)
        if key in self._closed:
            return
        found, unparsed = [], []
        for line in _read(folder / "stdout.jsonl").splitlines():
            record = parse_line(line)
            if not isinstance(record, NotUnderstood):
                found.append(record)
            elif record.text:
                unparsed.append(f"{record.text} ({record.reason})")
        run_files.append_records(self._directory, *key, found[self._begun[key] :])
        end = ended(folder, why)
        if end.status != "ok":
            said = f"{printed(folder)}\n{why}"
            lost, mute = lost_nodes(launch.nodes), pair and not found
            end = _blamed(
                end, launch, said, lost, culprit_from_pair if mute else culprit_from_output
            )
        started = run_files.LaunchLine(*key, launch.network, launch.nodes, end, tuple(unparsed))
        run_files.append_launch(self._directory, started)
        self._closed.add(key)


def _blamed(
    end: Ended,
    launch: PlannedLaunch,
    said: str,
    lost: dict[str, str],
    otherwise: Callable[[FailedLaunch], CulpritFindings | None],
) -> Ended:
    """The end with who broke the launch: nodes that Slurm has lost, else as ``otherwise`` says."""
    states = {node: f"Slurm says that it is {state}" for node, state in lost.items()}
    broken = FailedLaunch(launch, end.exit_code, states, said)
    changes = tuple(f"{node} cannot be reached since then: {what}" for node, what in states.items())
    end = msgspec.structs.replace(end, changes=changes, change_kinds=("node",) * len(changes))
    return with_findings(end, culprit_from_states(broken) or otherwise(broken) or CulpritFindings())


def _seconds(path: Path) -> float:
    said = _read(path).strip()
    return float(said) if said.isdecimal() else 0.0


def _read(path: Path) -> str:
    try:
        return read_text(path, run_of(path))
    except OSError:
        return ""
