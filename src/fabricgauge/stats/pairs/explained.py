"""What is already known to be slow, so that it is not blamed on anybody else."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.stats.pairs.grouping import Grouping
from fabricgauge.stats.pairs.slowness import Slowness
from fabricgauge.stats.pairs.strips import F32, Strip


class Known(msgspec.Struct, eq=False):
    """Slowness of named things, 0 for the others.

    ``sending``, ``receiving`` (N,) are the nodes', ``outward``, ``inward`` (N,) those of the
    node's group towards and from other groups. Nodes of one group have one number in ``index``;
    nodes on their own never cross.
    """

    sending: F32
    receiving: F32
    outward: F32
    inward: F32
    index: NDArray[np.int64]


def nothing_known(grouping: Grouping) -> Known:
    nodes = grouping.index.size
    index = np.where(grouping.index < grouping.count - 1, grouping.index, -1 - np.arange(nodes))
    sending, receiving, outward, inward = np.zeros((4, nodes), dtype=np.float32)
    return Known(sending, receiving, outward, inward, index)


class Left(msgspec.Struct, frozen=True, eq=False):
    """The slowness that ``known`` leaves to be explained.

    Delays are subtracted. A bottleneck hides whatever is less slow behind it, so its pairs tell
    nothing of others and become NaN. ``turned`` is the transposed slowness.
    """

    slow: Slowness
    known: Known
    turned: F32

    def sending(self, first: int, last: int) -> F32:
        """Rows as evidence on their senders: the receivers' and groups' part is taken away."""
        strip = self.slow.values[first:last].copy()
        self._without(strip, self.known.receiving[None, :])
        return self._without_groups(strip, first, last)

    def receiving(self, first: int, last: int) -> F32:
        """Columns, transposed, as evidence on their receivers."""
        strip = self.turned[first:last].copy()
        self._without(strip, self.known.sending[None, :])
        return self._without_groups(strip, first, last, transposed=True)

    def pairs(self, first: int, last: int) -> F32:
        """Rows as evidence on single pairs: all that is known is taken away."""
        strip = self.sending(first, last)
        self._without(strip, self.known.sending[first:last, None])
        return strip

    def within(self, strip: Strip) -> Strip:
        """Only what does not leave the group."""

        def inside(first: int, last: int) -> F32:
            found = strip(first, last)
            found[self._crossing(first, last)] = np.nan
            return found

        return inside

    def _without(self, strip: F32, part: F32) -> None:
        if not part.any():
            return
        if self.slow.adds_up:
            strip -= part
        else:
            strip[np.broadcast_to(part > 0, strip.shape)] = np.nan

    def _without_groups(
        self, strip: F32, first: int, last: int, *, transposed: bool = False
    ) -> F32:
        known = self.known
        own, other = known.outward, known.inward
        if transposed:
            own, other = other, own
        if not (own.any() or other.any()):
            return strip
        slow = (own[first:last, None] > 0) | (other[None, :] > 0)
        strip[slow & self._crossing(first, last)] = np.nan
        return strip

    def _crossing(self, first: int, last: int) -> NDArray[np.bool_]:
        index = self.known.index
        apart: NDArray[np.bool_] = index[first:last, None] != index[None, :]
        return apart
