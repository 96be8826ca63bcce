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

#: With fewer nodes it is unknown which of the two loses: the way between them is named.
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
    losses = _all_losses(subject)
    if len(_ends(losses)) < FEWEST_NODES:
        return [
            _said(subject, ("direction", (loss.origin, loss.target), (loss,)), "")
            for loss in losses
            if _loses(subject, (loss,), 1)
        ]
    lossy, other_losses = _lossy_nodes(subject, losses)
    if not lossy:
        summary = f"{figures.percent(_share(losses))} of all TCP segments were lost"
        return Said(Outcome.PASS, f"{summary}, no node's more than others'")
    contrast = f"; between all others {figures.percent(_share(other_losses))}"
    return [_said(subject, lossy_node, contrast) for lossy_node in lossy]


def ways_of(subject: Subject, about: VerdictSubject) -> tuple[Lost, ...]:
    """Return the ways of a part that this rule names, those that lose enough to be named."""
    if about.kind == "direction":
        return tuple(one for one in _all_losses(subject) if (one.origin, one.target) == about.names)
    lossy, _ = _lossy_nodes(subject, _all_losses(subject))
    return tuple(way for _, names, ways in lossy if names == about.names for way in ways)


def named(subject: Subject) -> frozenset[str]:
    """The nodes that lose frames, which accounts for each way that is slow with one of them."""
    lossy, _ = _lossy_nodes(subject, _all_losses(subject))
    return frozenset(name for _, names, _ in lossy for name in names)


def again(subject: Subject) -> Recheck | None:
    """Which pairs send alone: segments were lost among all pairs, and nothing tells on which way.

    A node that loses what it sends retransmits most; one that loses what it receives, least.
    """
    shares = subject.evidence.sent_again
    alone = any(series.pattern == "bandwidth" for series in subject.again)
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


def _all_losses(subject: Subject) -> list[Lost]:
    return [loss for loss in subject.evidence.lost if loss.segments > 0]


def _ends(losses: Iterable[Lost]) -> list[str]:
    return sorted({name for loss in losses for name in (loss.origin, loss.target)})


def _lossy_nodes(subject: Subject, ways: list[Lost]) -> tuple[list[_Lossy], list[Lost]]:
    """Nodes that lose what others keep, and the others' ways; no node where those lose as well."""
    nodes = _ends(ways)
    if len(nodes) < FEWEST_NODES:
        return [], ways
    lossy = [one for node in nodes for one in _losses_of_node(subject, node, ways)]
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


def _losses_of_node(subject: Subject, node: str, losses: Iterable[Lost]) -> Iterator[_Lossy]:
    sent = tuple(loss for loss in losses if loss.origin == node)
    received = tuple(loss for loss in losses if loss.target == node)
    fewest = FEWEST_NODES - 1
    sends, receives = _loses(subject, sent, fewest), _loses(subject, received, fewest)
    if sends or receives:
        part: Part = "node" if sends and receives else "sender" if sends else "receiver"
        yield part, (node,), (*(sent if sends else ()), *(received if receives else ()))


def _loses(subject: Subject, losses: tuple[Lost, ...], fewest: int) -> bool:
    """With each of its partners, and more than a handful in all: one bad way names no node."""
    limit = subject.limit("lossy.share")
    telling = [loss for loss in losses if loss.segments * limit >= TELLING]
    return (
        len(telling) >= fewest
        and sum(loss.count for loss in telling) >= subject.limit("errors.least")
        and _share(telling) >= limit
        and all(loss.share >= limit / 2 for loss in telling)
    )


def _share(losses: Iterable[Lost]) -> float:
    """Return the share of lost segments on all these ways."""
    all_losses = tuple(losses)
    return sum(loss.count for loss in all_losses) / sum(loss.segments for loss in all_losses)
