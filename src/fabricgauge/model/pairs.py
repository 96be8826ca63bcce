"""All pairs of a fabric: matrices of one quantity, and what was concluded from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.topology import Group

if TYPE_CHECKING:  # verdicts name parts of a fabric where nobody has arrays
    import numpy as np
    from numpy.typing import NDArray

Quantity = Literal["latency", "bandwidth"]


class PairMatrix(msgspec.Struct, frozen=True, eq=False):
    """One quantity from each node (row) to each node (column).

    ``values`` are (N, N): half round trips in seconds, or payload bytes/s of that direction; NaN
    where nothing was measured, as on the diagonal. A latency matrix is symmetric. ``spread``
    (N, N) is relative: the interquartile range of a pair's samples over its median. ``repeats``
    are the values of each launch or pass, (R, N, N), R ≥ 1; ``values`` is their median.
    """

    network: str
    quantity: Quantity
    message_bytes: int
    nodes: tuple[str, ...]
    values: "NDArray[np.float64]"
    spread: "NDArray[np.float32]"
    repeats: "NDArray[np.float64]"

    @property
    def coverage(self) -> float:
        """Share of the directed pairs that were measured, 0 to 1."""
        from numpy import isfinite

        count = len(self.nodes)
        measured = sum(int(isfinite(row).sum()) for row in self.values)
        measured -= int(isfinite(self.values.diagonal()).sum())
        return measured / (count * (count - 1)) if count > 1 else 0.0


def matrix_keys(matrices: Sequence[PairMatrix]) -> tuple[str, ...]:
    """The name of each in ``matrices.npz``: its place, quantity and message size."""
    return tuple(
        f"{place}-{one.quantity}-{one.message_bytes}" for place, one in enumerate(matrices)
    )


#: What is at fault: a node in both directions, one direction of a node, one pair of nodes, or a
#: group's way to all others.
Part = Literal["node", "sender", "receiver", "pair", "direction", "group"]

#: Parts that are one node, and parts that are the way between two.
ENDS: frozenset[Part] = frozenset({"node", "sender", "receiver"})
WAYS: frozenset[Part] = frozenset({"pair", "direction"})

_CALLED: dict[Part, str] = {
    "node": "{0}, in both directions",
    "sender": "{0}, sending",
    "receiver": "{0}, receiving",
    "pair": "the way between {0} and {1}",
    "direction": "the way from {0} to {1}",
    "group": "group {0}, to and from all others",
}


def name_part(part: Part, names: Sequence[str]) -> str:
    """``c2, sending``; ``the way between c1 and c3``."""
    return _CALLED[part].format(*names, "?")


#: A pair of nodes, from and to.
Ends = tuple[str, str]


class Rechecked(msgspec.Struct, frozen=True, tag="rechecked"):
    """What a finding's pairs did in a second measurement, one pair at a time.

    ``effect`` is as in :class:`PairFinding`, relative to good pairs of the same launch; ``own`` and
    ``good`` are the medians over both kinds in the quantity's unit, of a latency those of the
    fastest messages, at the usual distance. ``partners`` are those whom the finding's nodes met.
    ``own_pairs`` are empty for a group that single pairs cannot show: ``own`` and ``good`` are then
    what all pairs of two groups carry at once, and ``partners`` are groups.
    """

    effect: float
    own: float
    good: float
    partners: tuple[str, ...]
    confirmed: bool
    own_pairs: tuple[Ends, ...]
    good_pairs: tuple[Ends, ...]


_NOT_YET = Skipped("it was not measured again")


Explanation = Literal["fault", "oversubscription"]


class PairFinding(msgspec.Struct, frozen=True):
    """One named fault. ``names`` are a node, two nodes (from, to), or a group.

    ``effect`` is relative to what the others have: -0.75 for a bandwidth at a quarter, 0.05 for
    a latency 5 % higher, with its interval ``low`` to ``high``. ``q`` is the false-discovery
    rate at which it is named; after a recheck it is the chance that noise names any node.
    ``explanation`` is ``fault``, or ``oversubscription`` where
    all that crosses between groups is slower at once, which is a property and no defect.
    ``affected`` counts the measured pairs that it explains; ``rechecked`` is what a second
    measurement of them showed.
    """

    part: Part
    names: tuple[str, ...]
    quantity: Quantity
    message_bytes: int
    effect: float
    low: float
    high: float
    q: float
    affected: int
    explanation: Explanation
    evidence: tuple[str, ...]
    rechecked: Rechecked | Skipped = _NOT_YET


#: Below this share a suspect's level is normal: something else stands out, such as its scatter.
LEAST_EFFECT = 0.005


class Suspect(msgspec.Struct, frozen=True):
    """A part that stands out but is not named, the reason, and the test that would decide."""

    part: Part
    names: tuple[str, ...]
    quantity: Quantity
    effect: float
    reason: str
    next_test: str


#: What a second measurement is to decide about.
Claim = PairFinding | Suspect


def nodes_of(one: Claim, groups: Sequence[Group]) -> tuple[str, ...]:
    """The nodes that are meant, those of a group one by one; none of an unknown group."""
    if one.part != "group":
        return one.names
    return next((group.nodes for group in groups if group.name == one.names[0]), ())


class NodeRank(msgspec.Struct, frozen=True):
    """One node's standing: effects relative to the typical node, jitter as relative spread.

    Effects are as in :class:`PairFinding`; NaN-free: a node that was not measured is left out.
    """

    node: str
    group: str
    sending: float
    receiving: float
    jitter: float
    typical: float
    worst_partner: str


class Spectrum(msgspec.Struct, frozen=True):
    """Histogram over all measured pairs: ``counts[i]`` lie in ``edges[i]`` to ``edges[i+1]``.

    ``peaks`` are the centres of its distinct levels, ascending, in the matrix's unit.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    peaks: tuple[float, ...]


class PairAnalysis(msgspec.Struct, frozen=True, eq=False):
    """What one matrix says. ``groups`` are those of the topology, or found from the data.

    ``typical`` is the median over pairs of healthy nodes, in the matrix's unit; ``noise`` the
    relative standard deviation of what the model leaves unexplained. ``between`` is (G, G): the
    median from group to group, NaN where nothing was measured. ``expected`` is (G + 1, G + 1): what
    a healthy pair has from group to group, last the nodes on their own. ``order`` lists the nodes'
    indices, group by group, for a picture. ``doubtful`` are parts below the threshold for a
    suspect, but far enough off to be measured again.
    """

    matrix: PairMatrix
    groups: tuple[Group, ...]
    grouped_by: Literal["topology", "data", "none"]
    typical: float
    noise: float
    between: "NDArray[np.float64]"
    expected: "NDArray[np.float64]"
    order: tuple[int, ...]
    ranking: tuple[NodeRank, ...]
    spectrum: Spectrum
    findings: tuple[PairFinding, ...]
    suspects: tuple[Suspect, ...]
    doubtful: tuple[Suspect, ...] = ()

    @property
    def faults(self) -> tuple[PairFinding, ...]:
        """The findings that are no property of the fabric."""
        return tuple(one for one in self.findings if one.explanation == "fault")

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Faults and suspects."""
        return (*self.faults, *self.suspects)

    def nodes_of(self, one: Claim) -> tuple[str, ...]:
        return nodes_of(one, self.groups)


class Meeting(msgspec.Struct, frozen=True):
    """Two nodes that are to measure alone: round trips, or a stream there and one back."""

    one: str
    other: str
    quantity: Quantity
    message_bytes: int


class Recheck(msgspec.Struct, frozen=True):
    """What to measure again on a network, in this order. ``nodes`` are by rank.

    ``launches`` is how often all of it is measured.
    """

    network: str
    meetings: tuple[Meeting, ...] | Skipped
    nodes: tuple[str, ...] = ()
    launches: int = 1


class FabricResult(msgspec.Struct, frozen=True, eq=False):
    """Everything about more than two nodes that a run found, per network and matrix.

    ``rechecks`` are what would decide about suspects who were not measured again yet.
    """

    analyses: tuple[PairAnalysis, ...] = ()
    rechecks: tuple[Recheck, ...] = ()


#: Of a run of two nodes.
NO_PAIRS = FabricResult()
