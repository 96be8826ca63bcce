"""Values of the history: a stored run, its panels, and the series made of them."""

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pattern import LATENCY_PATTERNS

#: The part of a network that a figure describes: a way from one node to another, a pair of nodes,
#: a node that sends, receives or does both, or all nodes of a run.
Part = Literal["way", "pair", "sender", "receiver", "node", "all"]


class Panel(msgspec.Struct, frozen=True, eq=False):
    """Figures of one run: one pattern on one network, by place and message size.

    ``places`` are the nodes or pairs of nodes. ``values`` are (places, sizes): seconds per sample,
    or payload bytes/s of one direction; NaN if not measured. ``halves`` are the relative
    half-widths of their intervals; for a node, half the interquartile range over its partners.
    """

    network: str
    part: Part
    pattern: str
    variant: str
    tool: str
    places: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]
    values: NDArray[np.float32]
    halves: NDArray[np.float32]


class RunHead(msgspec.Struct, frozen=True):
    """A run's name, time, verdict and nodes; ``place`` is empty for real nodes."""

    name: str
    started_s: float
    complete: bool
    outcome: str
    headline: str
    place: str
    nodes: tuple[str, ...]
    networks: tuple[str, ...]


class StoredRun(RunHead, frozen=True, eq=False):
    """One run directory in the index; ``trouble`` is the reason if it could not be read.

    ``place`` separates labs and simulations from real nodes. ``settings`` are versions and options
    of the whole run, ``node_settings`` those of each node as JSON: those of 1,000 nodes go from
    process to process three times as fast.
    """

    settings: dict[str, str]
    node_settings: msgspec.Raw
    panels: tuple[Panel, ...]
    shares: tuple["Share", ...] = ()
    trouble: str = ""


class Share(msgspec.Struct, frozen=True):
    """A verdict's figure against a threshold's name: the raw material of learned thresholds."""

    threshold: str
    network: str
    value: float
    outcome: str


class SeriesKey(msgspec.Struct, frozen=True, order=True):
    """Identify figures that are comparable over time. ``mpi`` is its kind, without the version."""

    place: str
    network: str
    part: Part
    pattern: str
    variant: str
    tool: str
    mpi: str
    message_bytes: int

    @property
    def is_latency(self) -> bool:
        return self.pattern in LATENCY_PATTERNS

    @property
    def unit(self) -> str:
        return "s" if self.is_latency else "bytes/s"


class Group(msgspec.Struct, frozen=True, eq=False):
    """Series with one key: a row for each run, a column for each place.

    ``runs`` are positions in ``History.runs``, ascending in time. ``values`` and ``halves`` are
    (runs, places); NaN if a run did not measure the place.
    """

    key: SeriesKey
    places: tuple[tuple[str, ...], ...]
    runs: tuple[int, ...]
    values: NDArray[np.float32]
    halves: NDArray[np.float32]


class RunRow(RunHead, frozen=True):
    """A run in lists: the fields of ``StoredRun`` without its figures."""

    mpi: str
    setting: int
    node_setting: int
    trouble: str


class History(msgspec.Struct, frozen=True, eq=False):
    """Runs in order of time, the groups of their series, and what was set in each run."""

    root: str
    runs: tuple[RunRow, ...]
    groups: tuple[Group, ...] = ()
    settings: dict[int, dict[str, str]] = {}
    node_settings: dict[int, dict[str, dict[str, str]]] = {}
