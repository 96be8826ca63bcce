"""Findings and suspects in words: what is named, and what would decide on the rest."""

from collections.abc import Iterator

import msgspec
import numpy as np

from fabricgauge.localise.ends import RECEIVING, SENDING, End
from fabricgauge.localise.groups import Grouping
from fabricgauge.localise.limits import COMMON_NODE
from fabricgauge.localise.noise import INTERVAL, Excess
from fabricgauge.localise.slowness import ALL, F32, F64, Slowness, effect
from fabricgauge.localise.unsteady import Changing
from fabricgauge.localise.ways import Remaining, Singles
from fabricgauge.model.pairs import Explanation, PairFinding, PairMatrix, Part, Suspect

#: Tests that a second look at single pairs makes.
AGAIN = "measure it again with nodes that are known to be good, one pair at a time"
AGAIN_PAIR = (
    "measure this pair again on its own, and each of its ends with a node that is known to be good"
)

_LITTLE = "slower than most, as chance makes some of so many"
_MAYBE = "slow with most of its partners, but noise could make one of so many look like it"
_WHERE = {"node": "in both directions", "sender": "outwards", "receiver": "inwards"}


class Naming(msgspec.Struct, frozen=True, eq=False):
    """What findings are worded with. ``usual`` is what healthy pairs have, over the typical."""

    matrix: PairMatrix
    slow: Slowness
    grouping: Grouping
    usual: float = 1.0

    def node(self, end: End) -> PairFinding:
        """A slow node, sender or receiver."""
        strips = self._strips(end)
        measured = sum(int(np.isfinite(strip).sum()) for strip in strips)
        slow = sum(int((strip > 0.5 * end.level).sum()) for strip in strips)
        evidence = [f"slow in {slow} of its {measured} measured pairs"]
        for way, what in ((SENDING, "sending"), (RECEIVING, "receiving")):
            if not self.slow.adds_up and np.isfinite(end.excess[way]):
                share = self._effect(end.excess[way])
                evidence.append(f"{what}: {share:+.1%} against the usual node")
        names = (self.matrix.nodes[end.index],)
        return self._finding(end.part, names, end, measured, tuple(evidence), end.q)

    def group(self, end: End) -> PairFinding:
        """A group whose way to the others is slow."""
        inside = self.grouping.members[end.index]
        pairs = inside.size * (len(self.matrix.nodes) - inside.size) * len(end.ways)
        evidence = (
            f"what crosses from or to its {inside.size} nodes is slow {_WHERE[end.part]}",
            "other groups' crossing is faster; no single node of it accounts for that",
        )
        names = (self.grouping.groups[end.index].name,)
        return self._finding("group", names, end, pairs, evidence, end.q)

    def oversubscription(self, crossing: Excess) -> PairFinding:
        """All crossing is slower than what stays within groups."""
        names = tuple(group.name for group in self.grouping.groups)
        sizes = np.array([one.size for one in self.grouping.members[:-1]])
        pairs = int(sizes.sum() ** 2 - (sizes**2).sum())
        evidence = (f"what crosses between the {len(names)} groups is slower for all alike",)
        return self._finding("group", names, crossing, pairs, evidence, 0.0, "oversubscription")

    def slow_ways(self, rest: Remaining) -> Iterator[PairFinding]:
        """Pairs, or one direction of them, of which neither end is slow elsewhere."""
        singles = rest.singles
        for at, both in rest.together:
            part: Part = "pair" if both or self.slow.adds_up else "direction"
            evidence = (
                f"slow in {singles.slow_in[at]} of {singles.passes[at]} passes",
                "both ends are as fast as others with their other partners",
            )
            names, q = self._ends(singles, at), float(singles.q[at])
            shown = Excess(float(singles.level[at]), float(singles.error[at]))
            yield self._finding(part, names, shown, 2 if both else 1, evidence, q)

    def suspected_ways(self, rest: Remaining) -> Iterator[Suspect]:
        if rest.scattered_pairs:
            yield self._collisions(rest.scattered, rest.scattered_pairs)
        for at, why in rest.unsure:
            yield self._suspected_pair(rest.singles, at, why)

    def doubtful_ways(self, rest: Remaining) -> Iterator[Suspect]:
        """Pairs that only another measurement can tell from noise."""
        return (self._suspected_pair(rest.singles, at, _LITTLE) for at in rest.doubtful)

    def _suspected_pair(
        self, singles: Singles, at: int, reason: str, test: str = AGAIN_PAIR
    ) -> Suspect:
        part: Part = "pair" if self.slow.adds_up else "direction"
        share = self._effect(float(singles.level[at]))
        return Suspect(part, self._ends(singles, at), self.slow.quantity, share, reason, test)

    def _collisions(self, singles: Singles, count: int) -> Suspect:
        """Many slow pairs of one node, or with nothing in common: routes, or links inside."""
        ends = np.bincount(np.concatenate((singles.rows, singles.columns)))
        node = int(ends.argmax())
        if ends[node] >= COMMON_NODE * singles.rows.size:
            reason = f"slow with {count} of its partners and as fast as others with the rest"
            test = "measure it again: a link that comes and goes changes, a route stays"
            return self._suspected("node", node, float(np.median(singles.level)), reason, test)
        reason = (
            f"{count} pairs are slow and no node accounts for them: routing collisions, or links "
            "between leaves that only some routes take; shown is the slowest"
        )
        test = "measure these pairs one at a time: collisions vanish, a bad link stays"
        worst = self._suspected_pair(singles, int(np.argmax(singles.level)), reason, test)
        return msgspec.structs.replace(worst, part="pair")

    def suspected_end(self, end: End) -> Suspect:
        return self._suspected(end.part, end.index, end.level, _MAYBE)

    def changed(self, one: Changing) -> Suspect:
        reason = f"slow in {one.slow} of {one.passes} passes only: it changes with time"
        test = "look at its link's error and state counters, and measure it again for longer"
        return self._suspected(one.part, one.index, one.level, reason, test)

    def restless(self, index: int, jitters: F64) -> Suspect:
        usual = float(np.nanmedian(jitters))
        times = float(jitters[index]) / usual if usual else 0.0
        much = f"{times:.1f} times as far as the usual node's" if times else "and others' do not"
        reason = f"its samples scatter by {jitters[index]:.0%} of the median, {much}"
        test = "look for other work on the node and for its link's error counters"
        return self._suspected("node", index, 0.0, reason, test)

    def _suspected(
        self, part: Part, index: int, level: float, reason: str, test: str = AGAIN
    ) -> Suspect:
        name = (self.matrix.nodes[index],)
        return Suspect(part, name, self.slow.quantity, self._effect(level), reason, test)

    def _finding(
        self, part: Part, names: tuple[str, ...], shown: End | Excess, pairs: int,
        evidence: tuple[str, ...], q: float, explanation: Explanation = "fault",
    ) -> PairFinding:  # fmt: skip
        reach = INTERVAL * shown.error
        low, high = sorted(self._effect(shown.level + side * reach) for side in (-1, 1))
        return PairFinding(
            part, names, self.slow.quantity, self.matrix.message_bytes, self._effect(shown.level),
            low, high, q, pairs, explanation, evidence,
        )  # fmt: skip

    def _effect(self, level: float) -> float:
        return effect(level / self.usual if self.slow.adds_up else level, self.slow.quantity)

    def _ends(self, singles: Singles, at: int) -> tuple[str, str]:
        nodes = self.matrix.nodes
        ends = (nodes[int(singles.rows[at])], nodes[int(singles.columns[at])])
        return (min(ends), max(ends)) if self.slow.adds_up else ends

    def _strips(self, end: End) -> list[F32]:
        at = slice(end.index, end.index + 1)
        if self.slow.adds_up:
            return [self.slow.block(at)]
        return [(self.slow.block, self.slow.received)[way](at, ALL) for way in end.ways]
