"""A progress bar on standard error that names the case and the time left."""

import time

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.plan import Plan, PlannedLaunch


class Bar:
    """Shows stages and cases; in a pipe it prints one line per launch instead."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._budgets: dict[str, float] = {}
        self._left_s = 0.0
        self._booked_s = 0.0
        self._since = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def stage(self, text: str) -> None:
        self._console.print(f"[dim]{escape(text)}[/dim]", highlight=False)

    def planned(self, plan: Plan, launches: tuple[PlannedLaunch, ...]) -> None:
        self._left_s = sum(case.budget_s for launch in launches for case in launch.cases)
        self._booked_s = 0.0
        self._since = time.monotonic()
        self._task = self._progress.add_task("starting", total=self._left_s, left="")
        self._progress.start()

    def launch(self, launch: PlannedLaunch) -> None:
        self._budgets = {case.name: case.budget_s for case in launch.cases}
        where = launch.network or "MPI's own choice of network"
        nodes = ", ".join(launch.nodes)
        text = f"launch {launch.number}: {where}, {len(launch.cases)} cases on {nodes}"
        self._progress.console.print(f"[dim]{escape(text)}[/dim]", highlight=False)

    def case(self, measurement: Measurement) -> None:
        if self._task is None:
            return
        budget_s = self._budgets.get(measurement.case, 0.0)
        self._booked_s += budget_s
        self._left_s -= budget_s
        elapsed_s = time.monotonic() - self._since
        left_s = self._left_s * elapsed_s / self._booked_s if self._booked_s else self._left_s
        self._progress.update(
            self._task,
            advance=budget_s,
            description=escape(measurement.case),
            left=f"{left_s:.0f} s left",
        )
        if measurement.status != "ok":
            self.trouble(f"{measurement.case}: {measurement.status}: {measurement.reason}")
        if self._left_s <= 1e-9:
            self.close()

    def trouble(self, text: str) -> None:
        self._progress.console.print(f"[yellow]{escape(text)}[/yellow]", highlight=False)

    def close(self) -> None:
        self._progress.stop()
