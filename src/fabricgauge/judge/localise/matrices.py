"""Matrices of nodes from the passes of a round robin."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.localise.slowness import F32, F64, I64, Floats
from fabricgauge.model.pairs import PairMatrix, Quantity
from fabricgauge.model.passes import passes_of
from fabricgauge.model.plan import CLOSING
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import SuiteCurve


def node_of_rank(launch: Launch, names: Sequence[str]) -> I64:
    """Return for each rank the index of its node in ``names``, -1 if the node is unknown.

    With one rank for each node it is the launch's order. With more, ranks that recorded the same
    host are one node: the node of that name, else the hosts in order of their first rank.
    """
    index = {name: number for number, name in enumerate(names)}
    met = (np.flatnonzero(measured.ranks) for measured in passes_of(launch))
    highest = max((int(ranks.max(initial=-1)) for ranks in met), default=-1)
    stated = launch.header.ranks if launch.header else 0
    ranks = max(stated, len(launch.placements), 1 + highest)
    if ranks <= len(launch.nodes):
        return np.array([index.get(node, -1) for node in launch.nodes], dtype=np.int64)
    places = np.full(ranks, -1, dtype=np.int64)
    node_of_host = _node_of_host(launch)
    for entry in launch.placements:
        places[entry.rank] = index.get(node_of_host.get(entry.host, ""), -1)
    return places


def _node_of_host(launch: Launch) -> dict[str, str]:
    placements = sorted(launch.placements, key=lambda placement: placement.rank)
    hosts = list(dict.fromkeys(placement.host for placement in placements))
    short = {node.partition(".")[0]: node for node in launch.nodes}
    node_of = {host: short.get(host.partition(".")[0], "") for host in hosts}
    if all(node_of.values()) and len(set(node_of.values())) == len(hosts):
        return node_of
    return dict(zip(hosts, launch.nodes, strict=False))


Real = TypeVar("Real", bound=np.floating)


#: Network, quantity, message size.
_Case = tuple[str, Quantity, int]


class _Entries(NamedTuple):
    """Medians of single pairs of nodes: parallel arrays, each cell (row, column) once."""

    cells: tuple[I64, I64]
    values: Floats
    spread: Floats


class _Layer:
    """One value for each pair. The arrays of a pass that fills it alone are not copied."""

    def __init__(self, values: Floats, spread: F32, is_own: bool) -> None:
        self.values, self.spread, self._is_own = values, spread, is_own

    def is_free(self, entries: _Entries) -> bool:
        return not np.isfinite(self.values[entries.cells]).any()

    def overlaps(self, values: Floats) -> bool:
        rows = zip(self.values, values, strict=True)
        return any(bool((np.isfinite(row) & np.isfinite(other)).any()) for row, other in rows)

    def fill(self, entries: _Entries) -> None:
        if not self._is_own:
            self.values, self.spread, self._is_own = self.values.copy(), self.spread.copy(), True
        self.values[entries.cells] = entries.values
        self.spread[entries.cells] = entries.spread


def matrices(launches: Sequence[Launch]) -> tuple[PairMatrix, ...]:
    """Return a matrix per network, quantity and message size, in the order of first appearance.

    Its nodes are all nodes of the launches in order. Each launch, and each time that
    a launch makes the same round again, is a pass; passes that measured different pairs share a
    layer of ``repeats``. Several ranks of a node count as one: the median over the pairs of ranks.
    Pairs of ranks on one node are left out, and so are launches that measured pairs again. A log's
    matrix of ranks is a pass as well; a latency, measured from both ends, is two. A matrix whose
    pairs were measured at once is left out if some nodes have more ranks to share their links.
    """
    measured = [launch for launch in launches if launch.rounds and launch.purpose == "measure"]
    tables = [
        (launch, curve) for launch in launches for curve in launch.curves
        if curve.evidence.rank_pairs and curve.points and not _shares_unevenly(launch, curve)
    ]  # fmt: skip
    names = tuple(
        dict.fromkeys((
            *(node for launch in measured for node in launch.nodes),
            *(node for launch, curve in tables for node in _nodes_of_ranks(launch, curve)),
        ))
    )  # fmt: skip
    layers: dict[_Case, list[_Layer]] = {}
    for launch in measured:
        places = node_of_rank(launch, names)
        as_ranks = np.array_equal(places, np.arange(len(names)))
        for pair_pass in passes_of(launch):
            if pair_pass.case.endswith(CLOSING):
                continue
            key = launch.network or "", pair_pass.quantity, pair_pass.message_bytes
            of_case = layers.setdefault(key, [])
            whole = as_ranks and pair_pass.values.shape == (len(names), len(names))
            if whole and all(layer.overlaps(pair_pass.values) for layer in of_case):
                of_case.append(_Layer(pair_pass.values, pair_pass.spread, is_own=False))
            else:
                entries = _join_ranks(*pair_pass.entries(), places, len(names))
                _place(of_case, entries, pair_pass.values.dtype, len(names))
    for launch, curve in tables:
        index = {name: place for place, name in enumerate(names)}
        places = np.array([index[node] for node in _nodes_of_ranks(launch, curve)], dtype=np.int64)
        quantity: Quantity = "latency" if curve.quantity == "time" else "bandwidth"
        key = launch.network or "", quantity, curve.points[0].message_bytes or 0
        of_case = layers.setdefault(key, [])
        for table in _read_tables(curve):
            origins, targets = np.nonzero(np.isfinite(table))
            values = table[origins, targets]
            spread = np.zeros(len(values), dtype=np.float32)
            entries = _join_ranks(origins, targets, values, spread, places, len(names))
            _place(of_case, entries, np.dtype(np.float64), len(names))
    return tuple(_matrix(key, names, of_case) for key, of_case in layers.items())


def _shares_unevenly(launch: Launch, curve: SuiteCurve) -> bool:
    pairs = curve.evidence.rank_pairs
    at_once = pairs is not None and pairs.at_once
    return at_once and len(set(Counter(_nodes_of_ranks(launch, curve)).values())) > 1


def _nodes_of_ranks(launch: Launch, curve: SuiteCurve) -> tuple[str, ...]:
    """Return the node of each rank of a log's matrix; without a node for each, the ranks.

    Nodes that were stated come before those that follow from the latencies.
    """
    pairs = curve.evidence.rank_pairs
    ranks = pairs.ranks if pairs else 0
    hosts = launch.hosts_of(curve)
    for nodes in (hosts, curve.evidence.rank_nodes):
        if len(nodes) == ranks:
            return nodes
    return tuple(f"rank {rank}" for rank in range(ranks))


def _read_tables(curve: SuiteCurve) -> Iterator[F64]:
    """Yield a log's matrix, NaN if not measured. A latency is two, each of them symmetric."""
    pairs = curve.evidence.rank_pairs
    if pairs is None:
        return
    table = np.array(pairs.values, dtype=np.float64).reshape(pairs.ranks, pairs.ranks)
    table[table <= 0.0] = np.nan
    if curve.quantity != "time":
        yield table
        return
    for half in (np.triu(np.ones_like(table), 1), np.tril(np.ones_like(table), -1)):
        one_end = np.where(half > 0, table, np.nan)
        if np.isfinite(one_end).any():
            yield np.fmax(one_end, one_end.T)


def _join_ranks(
    origins: NDArray[np.integer], targets: NDArray[np.integer], values: Floats,
    spread: Floats, places: I64, nodes: int,
) -> _Entries:  # fmt: skip
    """Return one value for each pair of nodes; ``places`` are the ranks' nodes."""
    rows, columns = places[origins], places[targets]
    good = (rows != columns) & (rows >= 0) & (columns >= 0)
    rows, columns, values, spread = rows[good], columns[good], values[good], spread[good]
    cells, cell_of = np.unique(rows * nodes + columns, return_inverse=True)
    medians = (_medians(cell_of, figures, cells.size) for figures in (values, spread))
    return _Entries(np.divmod(cells, nodes), *medians)


def _medians(cells: I64, values: Floats, count: int) -> Floats:
    """Return the median of each cell's values; ``cells`` are 0 to ``count`` - 1, none empty."""
    if cells.size == count:
        single = np.empty(count, dtype=values.dtype)
        single[cells] = values
        return single
    ordered = values[np.lexsort((values, cells))]
    sizes = np.bincount(cells, minlength=count)
    first = np.cumsum(sizes) - sizes
    low, high = ordered[first + (sizes - 1) // 2], ordered[first + sizes // 2]
    middle: Floats = 0.5 * (low + high)
    return middle


def _place(layers: list[_Layer], entries: _Entries, precision: np.dtype, nodes: int) -> None:
    """Put a pass into the first layer in which all its cells are free, or into a new one."""
    layer = next((layer for layer in layers if layer.is_free(entries)), None)
    if layer is None:
        shape = nodes, nodes
        layer = _Layer(
            np.full(shape, np.nan, dtype=precision), np.full(shape, np.nan, dtype=np.float32),
            is_own=True,
        )  # fmt: skip
        layers.append(layer)
    layer.fill(entries)


def _matrix(key: _Case, names: tuple[str, ...], layers: Sequence[_Layer]) -> PairMatrix:
    # Of many ranks they have single precision.
    values = [cast("F64", layer.values) for layer in layers]
    spreads = [layer.spread for layer in layers]
    repeats = values[0][None] if len(layers) == 1 else np.stack(values)
    return PairMatrix(*key, names, _over(values), _over(spreads), repeats)


def _over(layers: Sequence[NDArray[Real]]) -> NDArray[Real]:
    """Return the median over the layers that have a value; NaN if none has."""
    if len(layers) == 1:
        return layers[0]
    medians, columns = np.empty_like(layers[0]), np.arange(len(layers[0]))
    for number, rows in enumerate(zip(*layers, strict=True)):
        ordered = np.sort(rows, axis=0)
        counts = np.isfinite(ordered).sum(axis=0)
        low, high = np.maximum(counts - 1, 0) // 2, np.minimum(counts // 2, len(layers) - 1)
        medians[number] = 0.5 * (ordered[low, columns] + ordered[high, columns])
    return medians
