"""Word findings and suspects, with the test that would decide about a suspect."""

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.ends import RECEIVING, SENDING, Endpoint
from fabricgauge.judge.localise.groups import Grouping
from fabricgauge.judge.localise.slowness import ALL, INTERVAL, Excess, Slowness
from fabricgauge.model.pairs import Explanation, PairFinding, PairMatrix, Part, Suspect
from fabricgauge.model.words.figures import signed

#: Tests that a recheck of single pairs makes.
AGAIN = "measure it again with nodes that are known to be good, one pair at a time"
AGAIN_PAIR = (
    "measure this pair again on its own, and each of its ends with a node that is known to be good"
)
#: The test of many pairs that no node explains, and the reason why each is measured again.
AGAIN_MANY = "measure these pairs one at a time: collisions vanish, a bad link stays"
MANY = "slow as many pairs are"

_MAYBE = "slow with most of its partners, but noise alone may make one of all nodes look so"
PARTLY = "slow with most of its partners, and as fast as others with the rest"
LATE = "its latency with both partners is several times that between the other two"
STANDARD = "measure again in several passes: fabricgauge check --profile standard"
_SOME_CROSSING = "traffic from or to its nodes is slower than other groups' by the median only"
_SEVERAL = (
    "let many pairs cross at once, beside as many of another group: fabricgauge check -w and their"
    " names; a single pair cannot fill several links"
)
_WHERE = {"node": "in both directions", "sender": "outwards", "receiver": "inwards"}


class Naming(msgspec.Struct, frozen=True, eq=False):
    """The context of findings. ``usual`` is the healthy pairs' figure over the typical one."""

    matrix: PairMatrix
    slow: Slowness
    grouping: Grouping
    usual: float = 1.0

    @property
    def pair_part(self) -> Part:
        """The part that a slow pair is: a latency is the same in both directions."""
        return "pair" if self.slow.adds_up else "direction"

    def node(self, end: Endpoint) -> PairFinding:
        at, sides = slice(end.index, end.index + 1), self.slow.sides
        row_blocks = [sides[side](at, ALL) for side in end.directions[: len(sides)]]
        measured = sum(int(np.isfinite(block).sum()) for block in row_blocks)
        slow = sum(int((block > limits.SHOWN * end.level).sum()) for block in row_blocks)
        evidence = [f"slow in {slow} of its {measured} measured pairs"]
        for side, verb in ((SENDING, "sending"), (RECEIVING, "receiving")):
            if not self.slow.adds_up and np.isfinite(end.excess[side]):
                share = self._effect(end.excess[side])
                evidence.append(f"{verb}: {signed(share)} against the usual node")
        names = (self.matrix.nodes[end.index],)
        return self.finding(end.part, names, end, measured, tuple(evidence), end.q)

    def group(self, end: Endpoint) -> PairFinding:
        inside = self.grouping.members[end.index]
        pairs = inside.size * (len(self.matrix.nodes) - inside.size) * len(end.directions)
        evidence = (
            f"traffic from or to its {inside.size} nodes is slow {_WHERE[end.part]}",
            "other groups' traffic is faster; no single node of this group accounts for that",
        )
        names = (self.grouping.groups[end.index].name,)
        return self.finding("group", names, end, pairs, evidence, end.q)

    def doubtful_group(self, end: Endpoint) -> Suspect:
        names = (self.grouping.groups[end.index].name,)
        return self.suspect("group", names, end.level, _SOME_CROSSING, _SEVERAL)

    def oversubscription(self, crossing: Excess) -> PairFinding:
        """Return the finding that all crossing pairs are slower than those within groups."""
        names = tuple(group.name for group in self.grouping.groups)
        sizes = self.grouping.sizes[:-1]
        pairs = int(sizes.sum() ** 2 - (sizes**2).sum())
        evidence = (f"traffic between the {len(names)} groups is slower for all of them alike",)
        return self.finding("group", names, crossing, pairs, evidence, 0.0, "oversubscription")

    def suspected_end(self, end: Endpoint, reason: str = _MAYBE) -> Suspect:
        return self.suspect(end.part, (self.matrix.nodes[end.index],), end.level, reason)

    def suspect(
        self, part: Part, names: tuple[str, ...], level: float, reason: str, test: str = AGAIN
    ) -> Suspect:
        return Suspect(part, names, self.slow.quantity, self._effect(level), reason, test)

    def finding(
        self, part: Part, names: tuple[str, ...], shown: Endpoint | Excess, pairs: int,
        evidence: tuple[str, ...], q: float, explanation: Explanation = "fault",
    ) -> PairFinding:  # fmt: skip
        reach = INTERVAL * shown.error
        low, high = sorted(self._effect(shown.level + side * reach) for side in (-1, 1))
        return PairFinding(
            part, names, self.slow.quantity, self.matrix.message_bytes, self._effect(shown.level),
            low, high, q, pairs, explanation, evidence,
        )  # fmt: skip

    def _effect(self, level: float) -> float:
        return self.slow.effect(level / self.usual if self.slow.adds_up else level)
