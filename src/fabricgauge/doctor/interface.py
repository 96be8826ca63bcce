"""What a check is."""

from typing import Protocol

from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding
from fabricgauge.model.preflight import Preflight


class Check(Protocol):
    """A module with these names is a check; ``ID`` is that of its section in the docs.

    ``TITLE`` says what is so on a sound cluster, ``WHY`` what it does to the figures
    where it isn't.
    """

    ID: str
    TITLE: str
    WHY: str

    def look(self, preflight: Preflight) -> tuple[Finding, ...] | Skipped:
        """One finding for each place that is not as it should be; places that share a
        sentence are put together later. ``Skipped`` where there was nothing to look at."""
        ...
