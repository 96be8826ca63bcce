"""All pairs of a fabric: matrices of one quantity, and their analysis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Group

if TYPE_CHECKING:  # commands that only name parts of a fabric do not need numpy
    import numpy as np
    from numpy.typing import NDArray

    F32 = NDArray[np.float32]
    I32 = NDArray[np.int32]
    Values = NDArray[np.floating]
    Flags = NDArray[np.bool_]
else:  # readers of the fields' types, such as a schema, need no numpy
    F32 = I32 = Values = Flags = Any

Quantity = Literal["latency", "bandwidth"]


class PairMatrix(msgspec.Struct, frozen=True, eq=False):
    """One quantity from each node (row) to each node (column).

    ``values`` are (N, N): half round trips in seconds, or payload bytes/s of that direction; NaN if
    not measured, as on the diagonal. A latency matrix is symmetric. ``spread``
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


class _OfArrays(msgspec.Struct, frozen=True, eq=False):
    """A value of arrays: two are equal if all their numbers are, and what was not measured."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _equal(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__
        )

    __hash__ = object.__hash__


def _equal(left: object, right: object) -> bool:
    import numpy as np

    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return left == right


class SampledRound(_OfArrays, frozen=True, eq=False):
    """Figures of the pairs of one round: parallel arrays, as in ``PairPass``."""

    number: int
    origins: I32
    targets: I32
    values: Values


class PairPass(_OfArrays, frozen=True, eq=False):
    """One pass of a launch over pairs of ranks, for one case.

    ``values`` are half round trips in seconds, or payload bytes/s; a latency stands in both
    directions. ``spread`` is the interquartile range of a pair's samples over its median. Both are
    (R, R) from rank to rank, NaN if not measured; or, of few pairs, parallel to ``cells``: origins
    and targets. ``ranks`` (R,) are true for those that met another one. ``sampled`` are some
    rounds, or all, with the first one.
    """

    case: str
    quantity: Quantity
    message_bytes: int
    values: Values
    spread: F32
    cells: tuple[I32, I32] | None
    ranks: Flags
    sampled: tuple[SampledRound, ...]

    def entries(self) -> "tuple[NDArray[np.integer], NDArray[np.integer], Values, F32]":
        """Return origins, targets, values and spreads of the measured pairs."""
        import numpy as np

        if self.cells is not None:
            return (*self.cells, self.values, self.spread)
        origins, targets = np.nonzero(np.isfinite(self.values))
        return origins, targets, self.values[origins, targets], self.spread[origins, targets]


def matrix_keys(matrices: Sequence[PairMatrix]) -> tuple[str, ...]:
    """Return the matrices' names in ``matrices.npz``: index, quantity and message size."""
    return tuple(
        f"{index}-{matrix.quantity}-{matrix.message_bytes}" for index, matrix in enumerate(matrices)
    )


#: The faulty part: a node in both directions, one direction of a node, one pair of nodes, or a
#: group's connection to all other groups.
Part = Literal["node", "sender", "receiver", "pair", "direction", "group"]

#: Parts that are one node, and parts that are the connection of two nodes.
ENDS: frozenset[Part] = frozenset({"node", "sender", "receiver"})
WAYS: frozenset[Part] = frozenset({"pair", "direction"})

_NAMES: dict[Part, str] = {
    "node": "{0}, in both directions",
    "sender": "{0}, sending",
    "receiver": "{0}, receiving",
    "pair": "the way between {0} and {1}",
    "direction": "the way from {0} to {1}",
    "group": "group {0}, to and from all others",
}


def name_part(part: Part, names: Sequence[str]) -> str:
    """Return a part's name: ``c2, sending``; ``the way between c1 and c3``."""
    return _NAMES[part].format(*names, "?")


#: A pair of nodes, from and to.
Ends = tuple[str, str]


class Rechecked(msgspec.Struct, frozen=True, tag="rechecked"):
    """The second measurement of a finding's pairs, one pair at a time.

    ``effect`` is as in :class:`PairFinding`, relative to good pairs of the same launch. ``own`` and
    ``good`` are the medians of the suspect and the good pairs in the quantity's unit; for a latency
    they are those of the fastest messages, at the usual distance. ``partners`` are the nodes that
    the finding's nodes were measured with. ``own_pairs`` are empty for a group whose fault single
    pairs cannot show: ``own`` and ``good`` are then the rates of all pairs of two groups at once,
    and ``partners`` are groups.
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

    ``effect`` is relative to all other pairs: -0.75 for a quarter of the bandwidth, 0.05 for a
    latency 5 % higher, with its interval ``low`` to ``high``. ``q`` is the false-discovery rate at
    which it is named; after a recheck it is the chance that noise names any node. ``explanation``
    is ``fault``, or ``oversubscription`` if all traffic between groups is slower at once, which is
    a property of the fabric, not a defect. ``affected`` counts the measured pairs that it explains;
    ``rechecked`` is the result of their second measurement.
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


#: Below this share a suspect's level is normal; another property, such as its scatter, is unusual.
LEAST_EFFECT = 0.005


class Suspect(msgspec.Struct, frozen=True):
    """An unusual part that is not named as faulty, the reason, and the test that would decide."""

    part: Part
    names: tuple[str, ...]
    quantity: Quantity
    effect: float
    reason: str
    next_test: str


#: A finding or suspect that a second measurement confirms or rejects.
Claim = PairFinding | Suspect


def nodes_of(claim: Claim, groups: Sequence[Group]) -> tuple[str, ...]:
    """Return the nodes of a claim; for a group all its nodes, none if the group is unknown."""
    if claim.part != "group":
        return claim.names
    return next((group.nodes for group in groups if group.name == claim.names[0]), ())


class NodeRank(msgspec.Struct, frozen=True):
    """One node's rank: effects relative to the typical node, jitter as relative spread.

    Effects are as in :class:`PairFinding`. They are never NaN: nodes that were not measured have no
    rank.
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
    """The analysis of one matrix. ``groups`` are from the topology, or detected in the data.

    ``typical`` is the median over pairs of healthy nodes, in the matrix's unit; ``noise`` is the
    relative standard deviation of the model's residuals. ``between`` is (G, G): the median from
    group to group, NaN if not measured. ``expected`` is (G + 1, G + 1): the value of a healthy pair
    from group to group; the last row and column are the nodes without a group. ``order`` are the
    nodes' indices, group by group, for a picture. ``doubtful`` are parts below the threshold for a
    suspect whose deviation still deserves a second measurement.
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
        """The findings that are faults, not properties of the fabric."""
        return tuple(finding for finding in self.findings if finding.explanation == "fault")

    @property
    def claims(self) -> tuple[Claim, ...]:
        return (*self.faults, *self.suspects)

    def nodes_of(self, claim: Claim) -> tuple[str, ...]:
        return nodes_of(claim, self.groups)


class Meeting(msgspec.Struct, frozen=True):
    """Two nodes to measure alone: round trips, or a stream in each direction."""

    one: str
    other: str
    quantity: Quantity
    message_bytes: int


class Recheck(msgspec.Struct, frozen=True):
    """The pairs to measure again on a network, in order. ``nodes`` are by rank.

    ``launches`` is the number of repetitions of the whole list.
    """

    network: str
    meetings: tuple[Meeting, ...] | Skipped
    nodes: tuple[str, ...] = ()
    launches: int = 1


class FabricResult(msgspec.Struct, frozen=True, eq=False):
    """A run's results on more than two nodes, by network and matrix.

    ``rechecks`` are measurements that would decide about suspects without a second measurement.
    """

    analyses: tuple[PairAnalysis, ...] = ()
    rechecks: tuple[Recheck, ...] = ()


#: The result of a run of two nodes.
NO_PAIRS = FabricResult()
