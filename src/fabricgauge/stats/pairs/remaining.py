"""What is made of slow pairs that no slow end explains: named, or suspected, or a pattern."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import Finding, Suspect
from fabricgauge.stats.pairs.explained import Left
from fabricgauge.stats.pairs.limits import Limits
from fabricgauge.stats.pairs.naming import Naming
from fabricgauge.stats.pairs.singles import Residual, Singles, large_enough, sure

#: A node with this share of its pairs slow, and so many, is suspected rather than each pair.
_PARTLY, _SEVERAL = 0.15, 4

#: More slow pairs than two, and than one for sixteen nodes, are no single links' fault.
_FEW, _NODES_PER_PAIR = 2, 16

#: Pairs that look slow but are not sure: suspected up to this rate of false ones, so many at most.
_LOOSE_RATE, _MOST = 0.2, 20

#: So many pairs that are less conspicuous are worth another look.
_MOST_DOUBTFUL = 8

#: Of so many conspicuous pairs, the surest ones, it is looked up whom else their ends met.
_LOOK = 4096

_LITTLE = "slower than most, as chance makes some of so many"
_NOBODY_ELSE = "an end of it was measured with nobody else, so it may be that end"


class Remaining(msgspec.Struct, frozen=True, eq=False):
    """Slow pairs by what is made of them; ``sigma`` is the noise of a pair.

    ``together`` are the first direction and whether the other one is slow too; ``scattered`` are
    too many to be single links; ``doubtful`` are too little conspicuous to be told.
    """

    singles: Singles
    sigma: float
    together: tuple[tuple[int, bool], ...]
    partly: tuple[tuple[int, float, int, int], ...]
    scattered: Singles
    scattered_pairs: int
    unsure: tuple[tuple[int, str], ...]
    doubtful: tuple[int, ...]

    def findings(self, naming: Naming) -> list[Finding]:
        return [naming.pair(self.singles, at, both=both) for at, both in self.together]

    def suspects(self, naming: Naming) -> list[Suspect]:
        found = [naming.partly(*one) for one in self.partly]
        if self.scattered_pairs:
            found.append(naming.collisions(self.scattered, self.scattered_pairs))
        found += [naming.suspected_pair(self.singles, at, why) for at, why in self.unsure]
        return found

    def looked_at_again(self, naming: Naming) -> list[Suspect]:
        """Pairs that only another measurement can tell from noise."""
        return [naming.suspected_pair(self.singles, at, _LITTLE) for at in self.doubtful]


def remaining(
    singles: Singles, rest: Residual, doubtful: Sequence[int], limits: Limits
) -> Remaining:
    """Sort the conspicuous pairs out; those of ``doubtful`` nodes are not told one by one."""
    left = rest.left
    limit = limits.slowness(left.slow.quantity)
    large = singles.level >= 0.9 * limit
    clear = (singles.q <= limits.rate) & large
    partly = _partly(singles, clear, left)
    elsewhere = _touches(singles, [*doubtful, *(one[0] for one in partly)])
    named = sure(singles, limit, limits.rate) & ~elsewhere
    named &= _otherwise_known(singles, left)
    scattered = clear & ~elsewhere
    if _pairs(singles, scattered) <= max(_FEW, len(left.known.sending) // _NODES_PER_PAIR):
        scattered = np.zeros_like(scattered)
    together = _directions(singles, named & ~scattered, singles.p <= 1e-3)
    loose = (singles.q <= _LOOSE_RATE) & large & ~scattered & ~elsewhere
    told = _others(singles, together)
    loose[told] = False
    unsure = tuple(_unsure(singles, loose, left, limits))
    little = large_enough(singles, limit) & ~scattered & ~elsewhere
    little[told] = False
    little[_others(singles, [(at, False) for at, _ in unsure])] = False
    return Remaining(
        singles, rest.sigma, tuple(together), tuple(partly), singles.only(scattered),
        _pairs(singles, scattered), unsure, _surest(singles, little, _MOST_DOUBTFUL),
    )  # fmt: skip


def _pairs(singles: Singles, chosen: NDArray[np.bool_]) -> int:
    """How many different pairs of nodes are chosen."""
    one, other = singles.rows[chosen], singles.columns[chosen]
    both = np.stack((np.minimum(one, other), np.maximum(one, other)))
    return int(np.unique(both, axis=1).shape[1])


def _unsure(
    singles: Singles, loose: NDArray[np.bool_], left: Left, limits: Limits
) -> list[tuple[int, str]]:
    """Each pair once, by its surer direction, with the reason why it is not named."""
    known = _otherwise_known(singles, left)
    return [
        (at, _why(singles, at, limits) if known[at] else _NOBODY_ELSE)
        for at in _surest(singles, loose, _MOST)
    ]


def _surest(singles: Singles, chosen: NDArray[np.bool_], most: int) -> tuple[int, ...]:
    """Each pair once, by its surer direction; the surest of them."""
    once = {_key(singles, int(at)): int(at) for at in np.flatnonzero(chosen)[::-1]}
    return tuple(sorted(once.values())[:most])


def _otherwise_known(singles: Singles, left: Left) -> NDArray[np.bool_]:
    """Whether both ends of a pair were measured with somebody else as well."""
    partners = [
        np.count_nonzero(np.isfinite(left.slow.values[nodes]), axis=1)
        for nodes in (singles.rows[:_LOOK], singles.columns[:_LOOK])
    ]
    known = np.zeros(singles.rows.size, dtype=bool)
    known[:_LOOK] = np.minimum(*partners) >= 2
    return known


def _key(singles: Singles, at: int) -> tuple[int, int]:
    one, other = int(singles.rows[at]), int(singles.columns[at])
    return (min(one, other), max(one, other))


def _partly(
    singles: Singles, clear: NDArray[np.bool_], left: Left
) -> list[tuple[int, float, int, int]]:
    """Nodes with a part of their pairs slow: index, typical slowness, slow and all partners."""
    both = np.concatenate((singles.rows[clear], singles.columns[clear]))
    level = np.tile(singles.level[clear], 2)
    slow = np.bincount(both, minlength=left.known.sending.size)
    found = []
    for node in np.flatnonzero(slow >= _SEVERAL):
        partners = int(np.isfinite(left.slow.values[node]).sum())
        partners *= 1 if left.slow.adds_up else 2
        if slow[node] >= _PARTLY * partners:
            found.append(
                (int(node), float(np.median(level[both == node])), int(slow[node]), partners)
            )
    return found


def _touches(singles: Singles, nodes: list[int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isin(singles.rows, nodes) | np.isin(singles.columns, nodes)
    return found


def _directions(
    singles: Singles, named: NDArray[np.bool_], also: NDArray[np.bool_]
) -> list[tuple[int, bool]]:
    """One entry for each pair: its surer direction, and whether the other one is slow as well."""
    at = {
        (int(singles.rows[i]), int(singles.columns[i])): int(i)
        for i in np.flatnonzero(named | also)
    }
    done: set[tuple[int, int]] = set()
    found = []
    for i in np.flatnonzero(named):
        one, other = int(singles.rows[i]), int(singles.columns[i])
        if (other, one) not in done:
            done.add((one, other))
            back = at.get((other, one))
            alike = back is not None and singles.level[back] >= 0.5 * singles.level[i]
            found.append((int(i), bool(alike)))
    return found


def _others(singles: Singles, together: list[tuple[int, bool]]) -> list[int]:
    """The other directions of pairs that are named."""
    named = {_key(singles, at) for at, _ in together}
    return [i for i in range(singles.rows.size) if _key(singles, i) in named] if named else []


def _why(singles: Singles, at: int, limits: Limits) -> str:
    passes, slow = int(singles.passes[at]), int(singles.slow_in[at])
    if passes < 2:
        return "measured in one pass only"
    if slow < passes:
        return f"slow in {slow} of {passes} passes"
    if singles.q[at] > limits.rate:
        return "noise alone could make one pair of so many look like this"
    return "its effect may be below what counts as a fault"
