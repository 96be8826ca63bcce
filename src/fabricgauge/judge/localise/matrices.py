"""Matrices of nodes from the rounds of a round robin."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairMatrix, Quantity
from fabricgauge.model.plan import CLOSING
from fabricgauge.model.run import Launch
from fabricgauge.model.together import Round


def node_of_rank(launch: Launch, names: Sequence[str]) -> NDArray[np.int64]:
    """Return for each rank the index of its node in ``names``, -1 if the node is unknown.

    With one rank for each node it is the launch's order. With more, ranks that recorded the same
    host are one node: the node of that name, else the hosts in order of their first rank.
    """
    index = {name: number for number, name in enumerate(names)}
    highest = (max(*entry.origins, *entry.targets) for entry in launch.rounds if entry.origins)
    stated = launch.header.ranks if launch.header else 0
    ranks = max(stated, len(launch.placements), 1 + max(highest, default=-1))
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


_PICOSECOND_S = 1e-12


Real = TypeVar("Real", bound=np.floating)


#: Network, quantity, message size.
_Case = tuple[str, Quantity, int]


class _Entries(NamedTuple):
    """Medians of single pairs of nodes: parallel arrays, each cell (row, column) once."""

    cells: tuple[NDArray[np.int64], NDArray[np.int64]]
    values: NDArray[np.float64]
    spread: NDArray[np.float64]


def matrices(launches: Sequence[Launch]) -> tuple[PairMatrix, ...]:
    """Return a matrix per network, quantity and message size, in the order of first appearance.

    Its nodes are all nodes of the launches in order. Each launch, and each time that
    a launch makes the same round again, is a pass; passes that measured different pairs share a
    layer of ``repeats``. Several ranks of a node count as one: the median over the pairs of ranks.
    Pairs of ranks on one node are left out, and so are launches that measured pairs again.
    """
    measured = [launch for launch in launches if launch.rounds and launch.purpose == "measure"]
    names = tuple(dict.fromkeys(node for launch in measured for node in launch.nodes))
    passes: dict[_Case, list[_Entries]] = {}
    for launch in measured:
        for key, rounds in _passes(launch):
            passes.setdefault(key, []).append(_entries(launch, names, key[1], rounds))
    return tuple(_matrix(key, names, entries) for key, entries in passes.items())


def _passes(launch: Launch) -> Iterator[tuple[_Case, list[Round]]]:
    """Yield the launch's rounds, a list for each case and each time that it was measured."""
    rounds_of: dict[tuple[str, int], list[Round]] = {}
    times: dict[tuple[str, int], int] = {}
    for turn in (turn for turn in launch.rounds if not turn.case.endswith(CLOSING)):
        time = times[turn.case, turn.round] = times.get((turn.case, turn.round), 0) + 1
        rounds_of.setdefault((turn.case, time), []).append(turn)
    quantities = quantity_of_cases(launch)
    for (case, _), rounds in rounds_of.items():
        yield (launch.network or "", quantities[case], rounds[0].message_bytes), rounds


def quantity_of_cases(launch: Launch) -> dict[str, Quantity]:
    """Return what each case with rounds measured; the case's name decides if its end is missing."""
    patterns: dict[str, str] = {case.case: case.pattern for case in launch.measurements}
    return {
        case: "latency" if "latency" in patterns.get(case, case) else "bandwidth"
        for case in dict.fromkeys(turn.case for turn in launch.rounds)
    }


def _entries(
    launch: Launch, names: tuple[str, ...], quantity: Quantity, rounds: Sequence[Round]
) -> _Entries:
    places = node_of_rank(launch, names)
    origins, targets = _joined(rounds, "origins"), _joined(rounds, "targets")
    rows, columns = places[origins], places[targets]
    median, quartile = _joined(rounds, "median_ps"), _joined(rounds, "quartile_ps")
    good = (rows != columns) & (rows >= 0) & (columns >= 0) & (median > 0)
    seconds = median[good] * _PICOSECOND_S
    spread = quartile[good] / median[good]
    rows, columns = rows[good], columns[good]
    if quantity == "latency":
        rows, columns = np.concatenate((rows, columns)), np.concatenate((columns, rows))
        values, spread = np.tile(seconds, 2), np.tile(spread, 2)
    else:
        counts = [len(turn.origins) for turn in rounds]
        payload = np.repeat([float(turn.message_bytes * turn.window) for turn in rounds], counts)
        values = payload[good] / seconds
    cells, cell_of = np.unique(rows * len(names) + columns, return_inverse=True)
    medians = (_medians(cell_of, figures, cells.size) for figures in (values, spread))
    return _Entries(np.divmod(cells, len(names)), *medians)


def _joined(rounds: Sequence[Round], field: str) -> NDArray[np.int64]:
    return np.concatenate([np.array(getattr(turn, field), dtype=np.int64) for turn in rounds])


def _medians(
    cells: NDArray[np.intp], values: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return the median of each cell's values; ``cells`` are 0 to ``count`` - 1, none empty."""
    if cells.size == count:
        single = np.empty(count)
        single[cells] = values
        return single
    ordered = values[np.lexsort((values, cells))]
    sizes = np.bincount(cells, minlength=count)
    first = np.cumsum(sizes) - sizes
    low, high = ordered[first + (sizes - 1) // 2], ordered[first + sizes // 2]
    middle: NDArray[np.float64] = 0.5 * (low + high)
    return middle


def _matrix(key: _Case, names: tuple[str, ...], passes: Sequence[_Entries]) -> PairMatrix:
    """Put each pass into the first layer in which all its cells are free, or into a new one."""
    shape = len(names), len(names)
    layers: list[NDArray[np.float64]] = []
    spreads: list[NDArray[np.float32]] = []
    for entries in passes:
        occupied = [bool(np.isfinite(layer[entries.cells]).any()) for layer in layers]
        if all(occupied):
            layers.append(np.full(shape, np.nan))
            spreads.append(np.full(shape, np.nan, dtype=np.float32))
        number = (*occupied, False).index(False)
        layers[number][entries.cells] = entries.values
        spreads[number][entries.cells] = entries.spread
    repeats = layers[0][None] if len(layers) == 1 else np.stack(layers)
    return PairMatrix(*key, names, _over(layers), _over(spreads), repeats)


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
