"""How far the asking of many nodes is, on standard error."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fabricgauge.cli.progress import shown


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
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
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
