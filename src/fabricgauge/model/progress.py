"""The steps that the work reports."""

from fabricgauge.model.measurement import Measurement, Round
from fabricgauge.model.plan import PlannedLaunch


class Progress:
    """Receives each step as it happens; must not raise. This class ignores every step."""

    def stage(self, text: str) -> None:
        """Report that a stage begins, e.g. ``discovering c1, c2``."""

    def planned(self, launches: tuple[PlannedLaunch, ...]) -> None:
        """Report the launches that are about to be made."""

    def launch(self, launch: PlannedLaunch) -> None:
        """Report that a launch begins."""

    def case(self, measurement: Measurement) -> None:
        """Report that a case has ended, well or not."""

    def round(self, ended: Round) -> None:
        """Report that a round of disjoint pairs has ended."""

    def trouble(self, text: str) -> None:
        """Report that something went wrong; the work goes on."""

    def close(self) -> None:
        """End the reports."""


SILENT = Progress()
