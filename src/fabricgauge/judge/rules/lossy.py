"""Does a node, or with two nodes a way, lose what others keep?"""

from collections.abc import Iterable, Iterator

from fabricgauge.judge import foreign
from fabricgauge.judge.host import excused
from fabricgauge.judge.interface import Said, Words, of_networks
from fabricgauge.judge.kept_rate import KEPT_RATE, kept_rate
from fabricgauge.judge.rules import errors
from fabricgauge.judge.subject import Subject
from fabricgauge.localise.recheck import streams_alone
from fabricgauge.model.evidence import Lost
from fabricgauge.model.pairs import Part, Recheck
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
from fabricgauge.words import figures

ID = "lossy"

#: With fewer nodes nothing tells which of the two loses: the way between them is named.
FEWEST_NODES = 3
#: The other ways may lose at most this share of the limit, by our reckoning. So no node is named
#: where a network drops everywhere, as one with full switches does.
OTHERS = 0.1
#: A way counts if it would lose at least this many segments at the limit. By our reckoning.
TELLING = 10
#: A node that sends half of the limit again among all pairs, or meets one that does, may lose.
SUSPECT = 0.5
#: Partners with which a suspect sends and receives alone: two have to lose as well.
PARTNERS = 3

_LOSES = (
    "frames are lost at its link: a bad cable, transceiver or port, or a queue before it that"
    " overflows",
    "look at the error and drop counters of the node (ethtool -S NAME) and of its switch port;"
    " exchange cable, then transceiver, then port",
)

#: A node, or one direction of it, with the ways that begin or end there; or a way of two nodes.
_Lossy = tuple[Part, tuple[str, ...], tuple[Lost, ...]]


@of_networks(ID)
def judge(subject: Subject) -> Words:
    ways = _ways(subject)
    if len(_ends(ways)) < FEWEST_NODES:
        return [
            _said(subject, ("direction", (way.origin, way.target), (way,)), "")
            for way in ways
            if _loses(subject, (way,), 1)
        ]
    lossy, others = _lossy_nodes(subject, ways)
    if not lossy:
        said = f"{figures.percent(_share(ways))} of all TCP segments were lost"
        return Said(Outcome.PASS, f"{said}, no node's more than others'")
    beside = f"; between all others {figures.percent(_share(others))}"
    return [_said(subject, one, beside) for one in lossy]


def ways_of(subject: Subject, about: VerdictSubject) -> tuple[Lost, ...]:
    """Return the ways of a part that this rule names, those that lose enough to be named."""
    if about.kind == "direction":
        return tuple(one for one in _ways(subject) if (one.origin, one.target) == about.names)
    lossy, _ = _lossy_nodes(subject, _ways(subject))
    return tuple(way for _, names, ways in lossy if names == about.names for way in ways)


def named(subject: Subject) -> frozenset[str]:
    """The nodes that lose frames, which accounts for each way that is slow with one of them."""
    lossy, _ = _lossy_nodes(subject, _ways(subject))
    return frozenset(name for _, names, _ in lossy for name in names)


def again(subject: Subject) -> Recheck | None:
    """Which pairs send alone: segments were lost among all pairs, and nothing tells on which way.

    A node that loses what it sends retransmits most; one that loses what it receives, least.
    """
    shares = subject.evidence.sent_again
    alone = any(one.pattern == "bandwidth" for one in subject.again)
    if alone or not subject.pairs or len(shares) < FEWEST_NODES:
        return None
    nodes = sorted(shares, key=lambda node: (shares[node], node))
    if shares[nodes[-1]] < SUSPECT * subject.limit("lossy.share"):
        return None
    met = [
        (one, other)
        for one in (nodes[-1], nodes[0])
        for other in [node for node in nodes if node != one][:PARTNERS]
    ]
    return streams_alone(subject.pairs[0].matrix, met)


def _ways(subject: Subject) -> list[Lost]:
    return [one for one in subject.evidence.lost if one.segments > 0]


def _ends(ways: Iterable[Lost]) -> list[str]:
    return sorted({name for one in ways for name in (one.origin, one.target)})


def _lossy_nodes(subject: Subject, ways: list[Lost]) -> tuple[list[_Lossy], list[Lost]]:
    """Nodes that lose what others keep, and the others' ways; no node where those lose as well."""
    nodes = _ends(ways)
    if len(nodes) < FEWEST_NODES:
        return [], ways
    lossy = [one for node in nodes for one in _of_node(subject, node, ways)]
    touched = {id(way) for *_, own in lossy for way in own}
    others = [way for way in ways if id(way) not in touched]
    if not others or _share(others) > OTHERS * subject.limit("lossy.share"):
        return [], ways
    return lossy, others


def _said(subject: Subject, found: _Lossy, beside: str) -> Said:
    part, names, ways = found
    share = _share(ways)
    on = [(one.origin, one.target) for one in ways]
    rate, shared = kept_rate(subject, on), foreign.on_ways(subject, on)
    full = "; other traffic and the streams fill its link" if shared else ""
    why = KEPT_RATE if rate else _LOSES
    return Said(
        excused(Outcome.FAIL, bool(shared)),
        f"TCP lost {figures.percent(share)} of the segments{beside}{full}",
        Figure(share, "share", "of the TCP segments of its ways"),
        subject.threshold("lossy.share", "below"),
        (*map(errors.sentence, ways), *((rate.sentence,) if rate else ()), *shared),
        *((foreign.CAUSE, foreign.REMEDY) if shared else why),
        VerdictSubject(part, subject.name, names),
    )


def _of_node(subject: Subject, node: str, ways: Iterable[Lost]) -> Iterator[_Lossy]:
    sent = tuple(one for one in ways if one.origin == node)
    received = tuple(one for one in ways if one.target == node)
    fewest = FEWEST_NODES - 1
    sends, receives = _loses(subject, sent, fewest), _loses(subject, received, fewest)
    if sends or receives:
        part: Part = "node" if sends and receives else "sender" if sends else "receiver"
        yield part, (node,), (*(sent if sends else ()), *(received if receives else ()))


def _loses(subject: Subject, ways: tuple[Lost, ...], fewest: int) -> bool:
    """With each of its partners, and more than a handful in all: one bad way names no node."""
    limit = subject.limit("lossy.share")
    telling = [one for one in ways if one.segments * limit >= TELLING]
    return (
        len(telling) >= fewest
        and sum(one.count for one in telling) >= subject.limit("errors.least")
        and _share(telling) >= limit
        and all(one.share >= limit / 2 for one in telling)
    )


def _share(ways: Iterable[Lost]) -> float:
    """Of the segments of all these ways, how many were lost."""
    every = tuple(ways)
    return sum(one.count for one in every) / sum(one.segments for one in every)
