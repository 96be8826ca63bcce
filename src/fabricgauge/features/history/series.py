"""Read series from the index: figures over time, by place, network, pattern and size."""

import sqlite3
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.history.values import Group, History, Part, RunRow, SeriesKey, Share

#: Fewest places of a run that give it a level of its own.
FEWEST_PLACES = 4
#: Most figures of one table in memory: 10,000 runs of 2,000 places.
MOST_CELLS = 20_000_000


class Selection(msgspec.Struct, frozen=True):
    """Which series and runs to read; an empty field selects all.

    ``nodes`` selects places with any of them. ``sizes`` "usual" is one size for each pattern: 8 B
    or the nearest for a latency, 1 MiB or the nearest for a stream.
    """

    nodes: frozenset[str] = frozenset()
    network: str = ""
    pattern: str = ""
    part: str = ""
    place: str | None = None
    sizes: tuple[int, ...] = ()
    from_s: float = 0.0
    to_s: float = float("inf")
    settings: tuple[tuple[str, str], ...] = ()


def read_history(
    connection: sqlite3.Connection, root: Path, selection: Selection, *, figures: bool = True
) -> History:
    """Return the selected runs, oldest first, and with ``figures`` their series.

    A ``settings`` pair selects runs in which the run or a node has that value, with * and ?.
    """
    texts = _Texts(connection)
    rows = connection.execute(
        "SELECT id, name, started_s, complete, outcome, headline, place, nodes, networks, mpi,"
        " setting, node_setting, trouble FROM run WHERE started_s BETWEEN ? AND ?"
        " ORDER BY started_s, name",
        (selection.from_s, selection.to_s),
    )
    runs: list[RunRow] = []
    order: dict[int, int] = {}
    for number, *fields in rows:
        name, started_s, complete, outcome, headline, place, nodes, networks, mpi, *last = fields
        setting, node_setting, trouble = last
        row = RunRow(
            name, started_s, bool(complete), outcome, headline, place,
            texts.read_nodes(nodes), tuple(msgspec.json.decode(networks)), mpi, setting,
            node_setting, trouble,
        )  # fmt: skip
        if _selects(selection, row, texts):
            order[number] = len(runs)
            runs.append(row)
    groups = tuple(_read_groups(connection, selection, runs, order, texts)) if figures else ()
    return History(
        str(root), tuple(runs), groups,
        {row.setting: texts.read(row.setting) for row in runs},
        {row.node_setting: texts.read(row.node_setting) for row in runs},
    )  # fmt: skip


def read_shares(
    connection: sqlite3.Connection, history: History, network: str = ""
) -> Iterator[Share]:
    """Yield the verdicts' figures of a history's runs, on one network or all."""
    names = {run.name for run in history.runs}
    for name, shares in connection.execute("SELECT name, shares FROM run"):
        if name in names:
            for share in msgspec.json.decode(shares, type=tuple[Share, ...]):
                if network in ("", share.network):
                    yield share


def _selects(selection: Selection, row: RunRow, texts: "_Texts") -> bool:
    if selection.nodes and selection.nodes.isdisjoint(row.nodes):
        return False
    if selection.place is not None and row.place != selection.place:
        return False
    if selection.network and row.networks and selection.network not in row.networks:
        return False
    if not selection.settings:
        return True
    settings: dict[str, str] = texts.read(row.setting)
    per_node: dict[str, dict[str, str]] = texts.read(row.node_setting)
    return all(
        fnmatchcase(settings.get(name, ""), value)
        or any(fnmatchcase(node.get(name, ""), value) for node in per_node.values())
        for name, value in selection.settings
    )


class _Texts:
    """Decode each long text of the index once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._values: dict[int, Any] = {}
        self._nodes: dict[int, tuple[str, ...]] = {}

    def read(self, number: int) -> Any:
        if number not in self._values:
            query = "SELECT content FROM text WHERE id = ?"
            (content,) = self._connection.execute(query, (number,)).fetchone()
            self._values[number] = msgspec.json.decode(content)
        return self._values[number]

    def read_nodes(self, number: int) -> tuple[str, ...]:
        """Return a run's nodes; runs of the same nodes share them."""
        if number not in self._nodes:
            self._nodes[number] = tuple(self.read(number))
        return self._nodes[number]


def _read_groups(
    connection: sqlite3.Connection, selection: Selection, runs: list[RunRow],
    order: dict[int, int], texts: _Texts,
) -> Iterator[Group]:  # fmt: skip
    """Yield the groups of series; each has one row for a run that measured any of its places."""
    names = ("network", "part", "pattern")
    stated = {name: value for name in names if (value := getattr(selection, name))}
    where = " AND ".join(f"{name} = ?" for name in stated) or "1"
    panels = connection.execute(
        "SELECT run, network, part, pattern, variant, tool, places, sizes, figures, halves"  # noqa: S608 -- names of our own columns
        f" FROM panel WHERE {where}",
        tuple(stated.values()),
    )
    builders: dict[SeriesKey, _Builder] = {}
    wanted: dict[tuple[int, int, str, Part], tuple[list[int], list[int]]] = {}
    for run, network, part, pattern, variant, tool, places, sizes, figures, halves in panels:
        position = order.get(run)
        if position is None:
            continue
        cell = places, sizes, pattern, part
        if cell not in wanted:
            chosen = [
                row
                for row, place in enumerate(texts.read(places))
                if not selection.nodes or not selection.nodes.isdisjoint(place)
            ]
            wanted[cell] = chosen, _choose_sizes(selection.sizes, texts.read(sizes), pattern)
        rows, columns = wanted[cell]
        if not rows or not columns:
            continue
        row = runs[position]
        count = len(texts.read(sizes))
        for column in columns:
            key = SeriesKey(row.place, network, part, pattern, variant, tool, row.mpi,
                            texts.read(sizes)[column])  # fmt: skip
            builder = builders.get(key) or builders.setdefault(key, _Builder())
            entry = (
                _column(figures, "<f4", rows, column, count),
                _column(halves, "<f2", rows, column, count),
            )
            builder.add(position, places, texts.read(places), rows, *entry)
    for key in sorted(builders):
        yield from builders[key].build(key)


def _column(blob: bytes, kind: str, rows: list[int], column: int, count: int) -> Any:
    """Return one column of a table of ``count`` columns; a single row is read by itself."""
    if len(rows) == 1:
        place = rows[0] * count + column
        return np.frombuffer(blob, kind, 1, place * np.dtype(kind).itemsize)
    return np.frombuffer(blob, kind).reshape(-1, count)[rows, column]


def _choose_sizes(wanted: Collection[int], sizes: list[int], pattern: str) -> list[int]:
    """Return the positions of the wanted sizes; without any, that of the pattern's usual size."""
    if wanted:
        return [position for position, size in enumerate(sizes) if size in wanted]
    usual = 8 if SeriesKey("", "", "all", pattern, "", "", "", 0).is_latency else 1 << 20
    distances = [abs(np.log2(max(size, 1)) - np.log2(usual)) for size in sizes]
    return [int(np.argmin(distances))] if sizes else []


class _Builder:
    """Collect the rows of a group; places get columns in the order in which they appear."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, ...], int] = {}
        self._placed: dict[tuple[int, int], np.ndarray[Any, np.dtype[np.int64]]] = {}
        self._entries: dict[int, list[tuple[Any, Any, Any]]] = {}

    def add(
        self, run: int, number: int, places: list[list[str]], rows: list[int], values: Any,
        widths: Any,
    ) -> None:  # fmt: skip
        cell = number, len(rows)
        if cell not in self._placed:
            names = [tuple(places[row]) for row in rows]
            columns = [self._columns.setdefault(name, len(self._columns)) for name in names]
            self._placed[cell] = np.array(columns, dtype=np.int64)
        entry = (self._placed[cell], values, widths)
        self._entries.setdefault(run, []).append(entry)

    def build(self, key: SeriesKey) -> Iterator[Group]:
        """Yield the group, and for ways and pairs of more than two nodes one for single nodes.

        A sweep measures each pair rarely, but each node often. A table of pairs that would be too
        large to hold is left out: select nodes to see it.
        """
        runs = tuple(sorted(self._entries))
        if len(runs) * len(self._columns) <= MOST_CELLS:
            values = np.full((len(runs), len(self._columns)), np.nan, dtype=np.float32)
            halves = values.copy()
            for row, run in enumerate(runs):
                for columns, figures, widths in self._entries[run]:
                    values[row, columns], halves[row, columns] = figures, widths
            yield Group(key, tuple(self._columns), runs, values, halves)
        names = sorted({node for place in self._columns for node in place})
        if key.part in ("way", "pair") and len(names) > 2:
            ends = {"node": slice(2), "sender": slice(1), "receiver": slice(1, 2)}
            for part in ("node",) if key.part == "pair" else ("sender", "receiver"):
                nodes = [place[ends[part]] for place in self._columns]
                node_key = msgspec.structs.replace(key, part=part)
                yield self._over_partners(node_key, runs, names, nodes)

    def _over_partners(
        self, key: SeriesKey, runs: tuple[int, ...], names: list[str], ends: list[tuple[str, ...]]
    ) -> Group:
        """Return each node's median over the partners that it had in a run."""
        position = {name: number for number, name in enumerate(names)}
        values = np.full((len(runs), len(names)), np.nan, dtype=np.float32)
        halves = values.copy()
        for row, run in enumerate(runs):
            figures: dict[int, list[tuple[float, float]]] = {}
            for columns, numbers, widths in self._entries[run]:
                for column, number, width in zip(columns, numbers, widths, strict=True):
                    for node in ends[column]:
                        figures.setdefault(position[node], []).append((number, width))
            for node, pairs in figures.items():
                values[row, node], halves[row, node] = np.median(np.array(pairs), axis=0)
        places = tuple((name,) for name in names)
        return Group(key, places, runs, values, halves)


def split_common(group: Group) -> tuple[Group, Group] | None:
    """Return the level of all places of each run, and each place's share of it.

    A change of all nodes at once, such as a new version, then raises one alarm. None if runs
    measure too few places: their level would be that of a single node.
    """
    counts = np.isfinite(group.values).sum(axis=1)
    if not len(counts) or np.median(counts) < FEWEST_PLACES:
        return None
    level = median_over_places(group.values)
    spread = median_over_places(group.halves)
    key = msgspec.structs.replace(group.key, part="all")
    common = Group(key, ((),), group.runs, level[:, None].astype(np.float32),
                   np.asarray(spread, dtype=np.float32)[:, None])  # fmt: skip
    shares = msgspec.structs.replace(group, values=group.values / level[:, None])
    return common, shares


def median_over_places(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the median of each run's figures; NaN for a run without one."""
    ordered = np.sort(values, axis=1)  # NaN comes last
    counts = np.isfinite(ordered).sum(axis=1)
    rows = np.arange(len(ordered))
    low = ordered[rows, np.maximum(counts - 1, 0) // 2]
    high = ordered[rows, np.minimum(counts // 2, ordered.shape[1] - 1)]
    middle: NDArray[np.float32] = np.where(counts > 0, (low + high) / 2, np.float32(np.nan))
    return middle
