"""Is there a node that loses what it sends or gets, while all others lose next to nothing?"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.evidence import Lost
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.words import figures, sentences

ID = "lossy"
TITLE = "No node loses frames that others keep"

#: Of two nodes nothing tells which one loses.
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
    """A node, or one direction of it, with the ways that begin or end there."""

    node: str
    part: Literal["node", "sender", "receiver"]
    ways: tuple[Lost, ...]


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(verdict for one in context.subjects for verdict in _judge(context, one))


def _judge(context: Context, subject: Subject) -> Iterator[Verdict]:
    ways = [one for one in subject.evidence.lost if one.segments > 0]
    nodes = sorted({name for one in ways for name in (one.origin, one.target)})
    if len(nodes) < FEWEST_NODES:
        return
    limit = context.limit("lossy.share")
    found = [one for node in nodes if (one := _of_node(context, node, ways)) is not None]
    touched = {id(way) for one in found for way in one.ways}
    others = [way for way in ways if id(way) not in touched]
    if not found or not others or _share(others) > OTHERS * limit:
        said = f"{figures.percent(_share(ways))} of all TCP segments were sent again"
        yield verdict_on(ID, Outcome.PASS, subject.about, f"{said}, no node's more than others'")
        return
    yield from (_verdict(context, subject, one, _share(others)) for one in found)


def _of_node(context: Context, node: str, ways: Iterable[Lost]) -> _Lossy | None:
    sent = tuple(one for one in ways if one.origin == node)
    received = tuple(one for one in ways if one.target == node)
    sends, receives = _loses(context, sent), _loses(context, received)
    if sends and receives:
        return _Lossy(node, "node", (*sent, *received))
    if sends:
        return _Lossy(node, "sender", sent)
    return _Lossy(node, "receiver", received) if receives else None


def _loses(context: Context, ways: tuple[Lost, ...]) -> bool:
    """With each of its partners, and more than a handful in all: one bad way accuses no node."""
    limit = context.limit("lossy.share")
    telling = [one for one in ways if one.segments * limit >= TELLING]
    return (
        len(telling) >= FEWEST_NODES - 1
        and sum(one.count for one in telling) >= context.limit("errors.least")
        and _share(telling) >= limit
        and all(one.share >= limit / 2 for one in telling)
    )


def _share(ways: Iterable[Lost]) -> float:
    """Of the segments of all these ways, how many were sent again."""
    every = tuple(ways)
    return sum(one.count for one in every) / sum(one.segments for one in every)


def _verdict(context: Context, subject: Subject, one: _Lossy, others: float) -> Verdict:
    share = _share(one.ways)
    return verdict_on(
        rule=ID,
        outcome=Outcome.FAIL,
        about=VerdictSubject(one.part, subject.name, (one.node,)),
        summary=f"TCP sent {figures.percent(share)} of the segments again; between all others"
        f" {figures.percent(others)}",
        figure=Figure(share, "share", "of the TCP segments that it sent or got"),
        threshold=context.thresholds.threshold("lossy.share", "below"),
        evidence=tuple(
            f"{sentences.direction(way.origin, way.target)}: TCP sent {way.count:,} of about"
            f" {way.segments:,.0f} segments again ({figures.percent(way.share)})"
            for way in one.ways
        ),
        cause=_CAUSE,
        remedy=_REMEDY,
    )
