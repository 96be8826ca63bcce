"""Is there a node, or of two nodes a way, that loses what others keep?"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.evidence import Lost
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.words import figures, sentences

ID = "lossy"
TITLE = "No node loses frames that others keep"

#: Of two nodes nothing tells which one loses: then the way between them is told.
FEWEST_NODES = 3
#: What the other ways lose at most, as a part of the limit: ten times less, so that a network which
#: drops here and there, as one whose switches are full, accuses nobody. By our reckoning.
OTHERS = 0.1
#: A way tells whether it loses once so many segments would be lost at the limit. By our reckoning.
TELLING = 10

_CAUSE = (
    "frames are lost at its link: a bad cable, transceiver or port, or a queue before it that"
    " overflows"
)
_REMEDY = (
    "look at the error and drop counters of the node (ethtool -S NAME) and of its switch port;"
    " exchange cable, then transceiver, then port"
)


class _Lossy(msgspec.Struct, frozen=True):
    """A node, or one direction of it, with the ways that begin or end there; or a way of two nodes.

    ``others`` is the share that all other ways lost, where there are any.
    """

    part: Literal["node", "sender", "receiver", "direction"]
    names: tuple[str, ...]
    ways: tuple[Lost, ...]
    others: float | None = None


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(verdict for one in context.subjects for verdict in _judge(context, one))


def _judge(context: Context, subject: Subject) -> Iterator[Verdict]:
    ways = [one for one in subject.evidence.lost if one.segments > 0]
    nodes = sorted({name for one in ways for name in (one.origin, one.target)})
    if len(nodes) < FEWEST_NODES:
        yield from (_verdict(context, subject, one) for one in _ways(context, ways))
        return
    found = [_verdict(context, subject, one) for one in _nodes(context, nodes, ways)]
    said = f"{figures.percent(_share(ways))} of all TCP segments were sent again, no node's more"
    yield from found or [verdict_on(ID, Outcome.PASS, subject.about, f"{said} than others'")]


def _ways(context: Context, ways: Iterable[Lost]) -> Iterator[_Lossy]:
    """The lossy ways of two nodes that have the network to themselves."""
    for way in ways:
        if _loses(context, (way,), 1):
            yield _Lossy("direction", (way.origin, way.target), (way,))


def _nodes(context: Context, nodes: Iterable[str], ways: Sequence[Lost]) -> Iterator[_Lossy]:
    found = [one for node in nodes if (one := _of_node(context, node, ways)) is not None]
    touched = {id(way) for one in found for way in one.ways}
    others = [way for way in ways if id(way) not in touched]
    if others and _share(others) <= OTHERS * context.limit("lossy.share"):
        yield from (msgspec.structs.replace(one, others=_share(others)) for one in found)


def _of_node(context: Context, node: str, ways: Iterable[Lost]) -> _Lossy | None:
    sent = tuple(one for one in ways if one.origin == node)
    received = tuple(one for one in ways if one.target == node)
    fewest = FEWEST_NODES - 1
    sends, receives = _loses(context, sent, fewest), _loses(context, received, fewest)
    if sends and receives:
        return _Lossy("node", (node,), (*sent, *received))
    if sends:
        return _Lossy("sender", (node,), sent)
    return _Lossy("receiver", (node,), received) if receives else None


def _loses(context: Context, ways: tuple[Lost, ...], fewest: int) -> bool:
    """With each of its partners, and more than a handful in all: one bad way accuses no node."""
    limit = context.limit("lossy.share")
    telling = [one for one in ways if one.segments * limit >= TELLING]
    return (
        len(telling) >= fewest
        and sum(one.count for one in telling) >= context.limit("errors.least")
        and _share(telling) >= limit
        and all(one.share >= limit / 2 for one in telling)
    )


def _share(ways: Iterable[Lost]) -> float:
    """Of the segments of all these ways, how many were sent again."""
    every = tuple(ways)
    return sum(one.count for one in every) / sum(one.segments for one in every)


def _verdict(context: Context, subject: Subject, one: _Lossy) -> Verdict:
    share = _share(one.ways)
    others = "" if one.others is None else f"; between all others {figures.percent(one.others)}"
    return verdict_on(
        rule=ID,
        outcome=Outcome.FAIL,
        about=VerdictSubject(one.part, subject.name, one.names),
        summary=f"TCP sent {figures.percent(share)} of the segments again{others}",
        figure=Figure(share, "share", "of the TCP segments of its ways"),
        threshold=context.thresholds.threshold("lossy.share", "below"),
        evidence=tuple(
            f"{sentences.direction(way.origin, way.target)}: TCP sent {way.count:,} of about"
            f" {way.segments:,.0f} segments again ({figures.percent(way.share)})"
            for way in one.ways
        ),
        cause=_CAUSE,
        remedy=_REMEDY,
    )
