"""Show progress on standard error: the case and the remaining time, or the number of answers."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from fabricgauge.model.measurement import Measurement, Round
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.model.progress import SILENT
from fabricgauge.model.progress import Progress as Watcher
from fabricgauge.model.words.networks import named
from fabricgauge.report.visible import visible


class _Quiet(Console):
    """A console that becomes silent when its reader closes the pipe; the work goes on."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


def _bar(console: Console, *columns: ProgressColumn) -> Progress:
    """Return a task's name, a bar and further columns; shown on terminals, removed at the end."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), *columns,
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip


class ProgressBar(Watcher):
    """Shows stages and cases; in a pipe, prints one line per launch instead."""

    def __init__(self) -> None:
        self._console = _Quiet(stderr=True)
        self._pending_cases: list[Case] = []
        self._ranks, self._rounds_s = 0, 0.0
        self._shown_reasons: set[str] = set()  # show a reason once, with the first case that has it
        self._progress = _bar(self._console, TaskProgressColumn(), TimeRemainingColumn())
        self._task: TaskID | None = None

    def stage(self, text: str) -> None:
        self._console.print(f"[dim]{shown(text)}[/dim]", highlight=False)

    def planned(self, launches: tuple[PlannedLaunch, ...]) -> None:
        total_s = sum(launch.longest_s for launch in launches)
        self._task = self._progress.add_task("starting", total=total_s)
        self._progress.start()

    def launch(self, launch: PlannedLaunch) -> None:
        self._pending_cases = list(launch.cases)
        self._ranks, self._rounds_s = len(launch.nodes), 0.0
        self._advance(0.0)
        network = named(launch.network)
        nodes = ", ".join(launch.nodes) if len(launch.nodes) <= 4 else f"{len(launch.nodes)} ranks"
        self.stage(f"launch {launch.number}: {network}, {len(launch.cases)} cases on {nodes}")

    def case(self, measurement: Measurement) -> None:
        if self._task is None:
            return
        case_s = self._pending_cases.pop(0).longest_s(self._ranks) if self._pending_cases else 0.0
        self._advance(max(0.0, case_s - self._rounds_s))
        self._rounds_s = 0.0
        reason = f"{measurement.status}: {measurement.reason}"
        if measurement.status != "ok" and reason not in self._shown_reasons:
            self._shown_reasons.add(reason)
            self.trouble(f"{measurement.case}: {reason}")

    def round(self, round_: Round) -> None:
        if self._pending_cases:
            planned_s = self._pending_cases[0].round_s(self._ranks)
            self._rounds_s += planned_s
            self._advance(planned_s, f"{round_.case}, round {round_.round + 1} of {round_.rounds}")

    def _advance(self, planned_s: float, description: str = "") -> None:
        """Move the bar on; the engine runs the cases in the planned order."""
        if self._task is None:
            return
        description = description or (self._pending_cases[0].name if self._pending_cases else "")
        self._progress.update(self._task, advance=planned_s, description=shown(description))
        if (self._progress.tasks[-1].remaining or 0.0) <= 1e-9:
            self.close()

    def trouble(self, text: str) -> None:
        self._progress.console.print(f"[yellow]{shown(text)}[/yellow]", highlight=False)

    def close(self) -> None:
        self._progress.stop()


class Troubles(Watcher):
    """Prints problems and nothing else."""

    def trouble(self, text: str) -> None:
        click.echo(visible(text), err=True)


@contextmanager
def progress_shown(quiet: bool) -> Iterator[Watcher]:
    """Show a progress bar during the work, or nothing."""
    watcher = SILENT if quiet else ProgressBar()
    try:
        yield watcher
    finally:
        watcher.close()


def shown(text: str) -> str:
    """Return text of nodes and tools without markup of rich or control codes of terminals."""
    return escape(visible(text))


class AnswerCount:
    """A bar that counts answers on terminals; prints the first MOST_TROUBLES problems at once.

    ``unanswered`` counts the nodes without an answer.
    """

    #: Many unreachable nodes must not scroll all other output away.
    MOST_TROUBLES = 10

    def __init__(self, nodes: int) -> None:
        self._console = Console(stderr=True)
        self.unanswered = nodes
        self._troubles = 0
        self._progress = _bar(self._console, MofNCompleteColumn())
        self._task = self._progress.add_task("asking", total=nodes)

    def __enter__(self) -> "AnswerCount":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def count(self, trouble: str) -> None:
        """Count the answer of one more node; ``trouble`` is the problem with it, or empty."""
        self.unanswered -= 1
        self._progress.advance(self._task)
        self._troubles += bool(trouble)
        if trouble and self._troubles <= self.MOST_TROUBLES:
            self._progress.console.print(f"[yellow]{shown(trouble)}[/yellow]", highlight=False)
        elif trouble and self._troubles == self.MOST_TROUBLES + 1:
            self._progress.console.print("[yellow]see the report for more problems[/yellow]")
