"""Findings and suspects in words: what is named, and what would decide on the rest."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.localise.ends import (
    End,
)
from fabricgauge.localise.groups import (
    Grouping,
)
from fabricgauge.localise.limits import COMMON_NODE
from fabricgauge.localise.noise import INTERVAL
from fabricgauge.localise.slowness import ALL, F32, F64, Slowness, effect
from fabricgauge.localise.unsteady import Changing
from fabricgauge.localise.uplinks import SlowCrossing
from fabricgauge.localise.ways import Remaining, Singles
from fabricgauge.model.pairs import PairFinding, PairMatrix, Part, Suspect

#: Tests that a second look at single pairs makes.
AGAIN = "measure it again with nodes that are known to be good, one pair at a time"
AGAIN_PAIR = (
    "measure this pair again on its own, and each of its ends with a node that is known to be good"
)


_LITTLE = "slower than most, as chance makes some of so many"


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
        if not self.slow.adds_up:
            evidence += self._directions(end)
        return self._finding(
            end.part, (self.matrix.nodes[end.index],), end, measured, tuple(evidence)
        )

    def group(self, end: End) -> PairFinding:
        """A group whose way to the others is slow."""
        inside = self.grouping.members[end.index]
        across = 2 if end.part == "node" else 1
        pairs = inside.size * (len(self.matrix.nodes) - inside.size) * across
        where = {"node": "in both directions", "sender": "outwards", "receiver": "inwards"}
        group = self.grouping.groups[end.index]
        evidence = (
            f"what crosses from or to its {inside.size} nodes is slow {where[end.part]}",
            "other groups' crossing is faster; no single node of it accounts for that",
        )
        return self._finding("group", (group.name,), end, pairs, evidence)

    def oversubscription(self, crossing: SlowCrossing, pairs: int) -> PairFinding:
        """All crossing is slower than what stays within groups."""
        names = tuple(group.name for group in self.grouping.groups)
        low, high = sorted(self._effect(x) for x in (crossing.low, crossing.high))
        evidence = (f"what crosses between the {len(names)} groups is slower for all alike",)
        return PairFinding(
            "group", names, self.slow.quantity, self.matrix.message_bytes,
            self._effect(crossing.level), low, high, 0.0, pairs, "oversubscription", evidence,
        )  # fmt: skip

    def pair(self, singles: Singles, at: int, *, both: bool) -> PairFinding:
        """A pair, or one direction of it, of which neither end is slow elsewhere."""
        names = self._ends(singles, at)
        level, error = float(singles.level[at]), float(singles.error[at])
        evidence = (
            f"slow in {singles.slow_in[at]} of {singles.passes[at]} passes",
            "both ends are as fast as others with their other partners",
        )
        low, high = sorted(self._effect(level + s * INTERVAL * error) for s in (-1, 1))
        part: Part = "pair" if both or self.slow.adds_up else "direction"
        return PairFinding(
            part, names, self.slow.quantity, self.matrix.message_bytes, self._effect(level),
            low, high, float(singles.q[at]), 2 if both else 1, "fault", evidence,
        )  # fmt: skip

    def suspected_pair(self, singles: Singles, at: int, reason: str) -> Suspect:
        part: Part = "pair" if self.slow.adds_up else "direction"
        return Suspect(
            part, self._ends(singles, at), self.slow.quantity,
            self._effect(float(singles.level[at])), reason, AGAIN_PAIR,
        )  # fmt: skip

    def collisions(self, singles: Singles, count: int) -> Suspect:
        """Many slow pairs of one node, or with nothing in common: a property of routes, or links
        inside."""
        worst = int(np.argmax(singles.level))
        ends = np.bincount(np.concatenate((singles.rows, singles.columns)))
        node = int(ends.argmax())
        if ends[node] >= COMMON_NODE * singles.rows.size:
            reason = f"slow with {count} of its partners and as fast as others with the rest"
            test = "measure it again: a link that comes and goes changes, a route stays"
            return self.suspected_node("node", node, float(np.median(singles.level)), reason, test)
        reason = (
            f"{count} pairs are slow and no node accounts for them: routing collisions, or links "
            "between leaves that only some routes take; shown is the slowest"
        )
        test = "measure these pairs one at a time: collisions vanish, a bad link stays"
        return Suspect(
            "pair", self._ends(singles, worst), self.slow.quantity,
            self._effect(float(singles.level[worst])), reason, test,
        )  # fmt: skip

    def suspected_node(
        self, part: Part, index: int, level: float, reason: str, test: str = AGAIN
    ) -> Suspect:
        name = (self.matrix.nodes[index],)
        return Suspect(part, name, self.slow.quantity, self._effect(level), reason, test)

    def suspected_end(self, end: End) -> Suspect:
        reason = "slow with most of its partners, but noise could make one of so many look like it"
        return self.suspected_node(end.part, end.index, end.level, reason)

    def changed(self, one: Changing) -> Suspect:
        part: Part = "node" if self.slow.adds_up else "sender" if one.sending else "receiver"
        reason = f"slow in {one.slow} of {one.passes} passes only: it changes with time"
        test = "look at its link's error and state counters, and measure it again for longer"
        return self.suspected_node(part, one.index, one.level, reason, test)

    def restless(self, index: int, jitters: F64) -> Suspect:
        times = float(jitters[index] / np.nanmedian(jitters)) if np.nanmedian(jitters) else 0.0
        much = f"{times:.1f} times as far as the usual node's" if times else "and others' do not"
        reason = f"its samples scatter by {jitters[index]:.0%} of the median, {much}"
        test = "look for other work on the node and for its link's error counters"
        return self.suspected_node("node", index, 0.0, reason, test)

    def slow_ways(self, rest: Remaining) -> list[PairFinding]:
        return [self.pair(rest.singles, at, both=both) for at, both in rest.together]

    def suspected_ways(self, rest: Remaining) -> list[Suspect]:
        scattered = rest.scattered_pairs
        found = [self.collisions(rest.scattered, scattered)] if scattered else []
        found += [self.suspected_pair(rest.singles, at, why) for at, why in rest.unsure]
        return found

    def doubtful_ways(self, rest: Remaining) -> list[Suspect]:
        """Pairs that only another measurement can tell from noise."""
        return [self.suspected_pair(rest.singles, at, _LITTLE) for at in rest.doubtful]

    def _finding(
        self, part: Part, names: tuple[str, ...], end: End, pairs: int, evidence: tuple[str, ...]
    ) -> PairFinding:
        low, high = sorted(self._effect(end.level + s * INTERVAL * end.error) for s in (-1, 1))
        return PairFinding(
            part, names, self.slow.quantity, self.matrix.message_bytes, self._effect(end.level),
            low, high, end.q, pairs, "fault", evidence,
        )  # fmt: skip

    def _effect(self, level: float) -> float:
        return effect(level / self.usual if self.slow.adds_up else level, self.slow.quantity)

    def _ends(self, singles: Singles, at: int) -> tuple[str, str]:
        nodes = self.matrix.nodes
        ends = (nodes[int(singles.rows[at])], nodes[int(singles.columns[at])])
        return (min(ends), max(ends)) if self.slow.adds_up else ends

    def _strips(self, end: End) -> Sequence[F32]:
        at = slice(end.index, end.index + 1)
        row, column = self.slow.block(at), self.slow.block(ALL, at)
        if self.slow.adds_up or end.part == "sender":
            return (row,)
        return (column,) if end.part == "receiver" else (row, column)

    def _directions(self, end: End) -> list[str]:
        words = []
        for level, what in ((end.sending, "sending"), (end.receiving, "receiving")):
            if np.isfinite(level):
                words.append(f"{what}: {self._effect(level):+.1%} against the usual node")
        return words
