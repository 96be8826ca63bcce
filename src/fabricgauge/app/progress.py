"""What the work reports on its progress."""

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.together import Round


class Progress:
    """Receives each step as it happens; must not raise. This class ignores every step."""

    def stage(self, text: str) -> None:
        """A stage begins, e.g. ``discovering c1, c2``."""

    def planned(self, launches: tuple[PlannedLaunch, ...]) -> None:
        """The launches that are about to be made."""

    def launch(self, launch: PlannedLaunch) -> None:
        """A launch begins."""

    def case(self, measurement: Measurement) -> None:
        """A case has ended, well or not."""

    def round(self, made: Round) -> None:
        """A round of disjoint pairs has ended."""

    def trouble(self, text: str) -> None:
        """Something went wrong; the work goes on."""

    def close(self) -> None:
        """Nothing more will come."""


SILENT = Progress()
