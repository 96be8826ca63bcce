"""A stored run as a list of runs shows it."""

import msgspec


class StoredRun(msgspec.Struct, frozen=True):
    """A run's kind (its verb), start, nodes and verdict; ``path`` is its directory.

    ``verdict`` is that of the day of the measurement, empty for what is not judged. ``problem`` is
    the reason why the run cannot be read, empty if it can.
    """

    path: str
    kind: str
    started_utc: str
    nodes: tuple[str, ...]
    verdict: str
    complete: bool
    problem: str = ""


class StoredRuns(msgspec.Struct, frozen=True):
    """The newest runs first; ``older`` counts the runs that are left out."""

    roots: tuple[str, ...]
    runs: tuple[StoredRun, ...]
    older: int = 0
