"""What a check has to measure, whoever measures it: our engine or another suite."""

from collections.abc import Iterator
from typing import Protocol

from fabricgauge.app.progress import Progress
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.store.run_directory import RunDirectory


class Job(Protocol):
    """A planned run, begun or broken off."""

    @property
    def directory(self) -> RunDirectory: ...

    @property
    def plan(self) -> Plan: ...

    def left(self) -> tuple[PlannedLaunch, ...]:
        """The launches, or parts of them, that have no result yet."""
        ...

    def measure(self, thresholds: Thresholds, progress: Progress) -> None:
        """Make what is left; one launch that breaks does not end the others."""
        ...

    def commands(self) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
        """What each launch of the plan would start; nothing is started."""
        ...
