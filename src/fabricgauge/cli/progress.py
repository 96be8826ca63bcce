"""Progress on standard error: the case and the time left, or how many nodes have answered."""

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

from fabricgauge.app.progress import SILENT
from fabricgauge.app.progress import Progress as Watcher
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.model.together import Round
from fabricgauge.report.visible import visible
from fabricgauge.words.networks import named


class _Quiet(Console):
    """A console that falls silent when nobody reads it any more; the work goes on."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


def _bar(console: Console, *columns: ProgressColumn) -> Progress:
    """What is under way, a bar and further columns, where somebody watches; removed at the end."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), *columns,
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip


class ProgressBar(Watcher):
    """Shows stages and cases; in a pipe it prints one line per launch instead."""

    def __init__(self) -> None:
        self._console = _Quiet(stderr=True)
        self._to_come: list[Case] = []
        self._ranks, self._rounds_s = 0, 0.0
        self._told: set[str] = set()  # of many cases with one reason the first is told
        self._progress = _bar(self._console, TaskProgressColumn(), TimeRemainingColumn())
        self._task: TaskID | None = None

    def stage(self, text: str) -> None:
        self._console.print(f"[dim]{shown(text)}[/dim]", highlight=False)

    def planned(self, launches: tuple[PlannedLaunch, ...]) -> None:
        total_s = sum(launch.longest_s for launch in launches)
        self._task = self._progress.add_task("starting", total=total_s)
        self._progress.start()

    def launch(self, launch: PlannedLaunch) -> None:
        self._to_come = list(launch.cases)
        self._ranks, self._rounds_s = len(launch.nodes), 0.0
        self._advance(0.0)
        where = named(launch.network)
        nodes = ", ".join(launch.nodes) if len(launch.nodes) <= 4 else f"{len(launch.nodes)} ranks"
        self.stage(f"launch {launch.number}: {where}, {len(launch.cases)} cases on {nodes}")

    def case(self, measurement: Measurement) -> None:
        if self._task is None:
            return
        done_s = self._to_come.pop(0).longest_s(self._ranks) if self._to_come else 0.0
        self._advance(max(0.0, done_s - self._rounds_s))
        self._rounds_s = 0.0
        told = f"{measurement.status}: {measurement.reason}"
        if measurement.status != "ok" and told not in self._told:
            self._told.add(told)
            self.trouble(f"{measurement.case}: {told}")

    def round(self, made: Round) -> None:
        if self._to_come:
            booked_s = self._to_come[0].round_s(self._ranks)
            self._rounds_s += booked_s
            self._advance(booked_s, f"{made.case}, round {made.round + 1} of {made.rounds}")

    def _advance(self, booked_s: float, what: str = "") -> None:
        """The engine takes the cases in the order in which they were planned."""
        if self._task is None:
            return
        what = what or (self._to_come[0].name if self._to_come else "")
        self._progress.update(self._task, advance=booked_s, description=shown(what))
        if (self._progress.tasks[-1].remaining or 0.0) <= 1e-9:
            self.close()

    def trouble(self, text: str) -> None:
        self._progress.console.print(f"[yellow]{shown(text)}[/yellow]", highlight=False)

    def close(self) -> None:
        self._progress.stop()


class Troubles(Watcher):
    """Says what went wrong, and nothing else."""

    def trouble(self, text: str) -> None:
        click.echo(visible(text), err=True)


@contextmanager
def bar(quiet: bool) -> Iterator[Watcher]:
    """Who watches the work: a bar, or nobody."""
    watcher = SILENT if quiet else ProgressBar()
    try:
        yield watcher
    finally:
        watcher.close()


def shown(text: str) -> str:
    """What nodes and tools say, as text that neither rich nor a terminal obeys."""
    return escape(visible(text))


class Gathering:
    """A bar that counts answers where somebody watches; troubles as they come, of many the first.

    ``left`` is how many nodes have not answered.
    """

    #: A fleet that is down must not scroll everything else away.
    MOST_TROUBLES = 10

    def __init__(self, nodes: int) -> None:
        self._console = Console(stderr=True)
        self.left = nodes
        self._troubles = 0
        self._progress = _bar(self._console, MofNCompleteColumn())
        self._task = self._progress.add_task("asking", total=nodes)

    def __enter__(self) -> "Gathering":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def answered(self, trouble: str) -> None:
        """One more node, with what was wrong with its answer or nothing."""
        self.left -= 1
        self._progress.advance(self._task)
        if not trouble:
            return
        self._troubles += 1
        if self._troubles <= self.MOST_TROUBLES:
            self._progress.console.print(f"[yellow]{shown(trouble)}[/yellow]", highlight=False)
        elif self._troubles == self.MOST_TROUBLES + 1:
            self._progress.console.print("[yellow]more such are in the report[/yellow]")
