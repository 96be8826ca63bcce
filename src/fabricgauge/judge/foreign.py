"""Other traffic on the nodes' links, and what it accounts for."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from fabricgauge.evidence.foreign import foreign_traffic
from fabricgauge.judge.streams import NEAREST_RATE, Stream, alone, streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import Ends
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.run import Launch
from fabricgauge.words import figures

#: What to do about a figure that other traffic spoils.
CAUSE = "other traffic crosses the same links while they are measured"
REMEDY = (
    "find who sends (ss -tnp, nethogs, iftop on the named node), let it end or pause, then measure"
    " again"
)


def foreign_of(
    subject: Subject, cases: Iterable[tuple[Launch, Measurement]]
) -> dict[str, ForeignTraffic]:
    """By node; empty where nothing can be known."""
    if isinstance(subject.network, Skipped):
        return {}
    return foreign_traffic(subject.run.fabric, subject.network, cases)


def foreign_in(subject: Subject, *patterns: Pattern) -> dict[str, ForeignTraffic]:
    """By node, in all cases of these patterns that ended well."""
    return foreign_of(
        subject,
        (
            (launch, case)
            for launch in subject.launches
            for case in launch.completed
            if case.pattern in patterns
        ),
    )


def foreign_beside(stream: Stream) -> dict[str, ForeignTraffic]:
    """By node, in the cases behind a figure."""
    cases = (*stream.measurements, *stream.round_robins)
    ids = {id(case) for case in cases}
    return foreign_of(
        stream.subject,
        (
            (launch, case)
            for launch in stream.subject.launches
            for case in launch.measurements
            if id(case) in ids
        ),
    )


def sentence(one: ForeignTraffic, limit: float) -> str:
    """Which node, which directions, how much."""
    parts = [
        f"{word} {figures.amount(octets)} of other traffic"
        f" ({figures.percent(share)} of the line rate)"
        for word, octets, share in (
            ("sent", one.sent_bytes, one.sent_share),
            ("received", one.received_bytes, one.received_share),
        )
        if share >= limit
    ]
    return f"{one.node} {' and '.join(parts)} meanwhile"


def accounts(stream: Stream) -> Iterator[str]:
    """Other traffic that, with the stream, fills the link: so the link carries its rate."""
    limit, foreign = stream.limit("foreign-traffic.share"), foreign_beside(stream)
    if stream.series.of_pairs:
        ahead = float(np.median([one.share for one in foreign.values()])) if foreign else 0.0
        back = 0.0
        named = list(foreign.values())
    else:
        ahead, back = _shares(foreign, stream.series.way)
        named = [foreign[node] for node in stream.series.way if node in foreign]
    if explains(stream, stream.fraction, ahead, back):
        yield from (sentence(one, limit) for one in named if one.share >= limit)


def on_ways(subject: Subject, ways: Collection[Ends]) -> tuple[str, ...]:
    """Other traffic that fills the links of at least half of these ways, together with streams."""
    single = (*streams(subject, "bandwidth"), *alone(subject, "bandwidth", 0.0))
    own = [one for one in single if one.series.way in ways]
    full = [one for one in own if any(accounts(one))]
    if not full or 2 * len(full) < len(own):
        return ()
    limit = subject.limit("foreign-traffic.share")
    named = {node for one in full for node in one.series.way}
    busy = foreign_in(subject, "bandwidth").values()
    return tuple(sentence(one, limit) for one in busy if one.node in named and one.share >= limit)


def explains(stream: Stream, left: float, ahead: float, back: float) -> bool:
    """Whether other traffic takes what is missing from a rate that is ``left`` of the usual one.

    ``ahead`` is its share of the line rate in the stream's direction, ``back`` in the other one,
    which acknowledgements share. Streams that compete leave gaps, but no lower standard rate is
    as near to the line rate as what they carry together.
    """
    limit = stream.limit("foreign-traffic.share")
    if max(ahead, back) < limit:
        return False
    both_ways = back >= limit or stream.directions == 2
    return left + ahead >= (stream.limit("fraction.both_warn") if both_ways else NEAREST_RATE)


def beside_good(
    own: Sequence[Stream], good: Sequence[Stream], left: float, *, latency: bool
) -> Iterator[str]:
    """Other traffic on the links of suspect pairs that good pairs do not have."""
    usual = _median(good)
    found: dict[str, ForeignTraffic] = {}
    explained = 0
    for stream in own:
        foreign = foreign_beside(stream)
        limit = stream.limit("foreign-traffic.share")
        ahead, back = (max(0.0, one - usual) for one in _shares(foreign, stream.series.way))
        busy = max(ahead, back) >= limit
        if busy and (latency or explains(stream, left, ahead, back)):
            explained += 1
            found |= {
                node: foreign[node]
                for node in stream.series.way
                if node in foreign and foreign[node].share >= limit
            }
    if explained and 2 * explained >= len(own):
        limit = own[0].limit("foreign-traffic.share")
        yield from (sentence(one, limit) for one in found.values())


def _shares(foreign: dict[str, ForeignTraffic], way: tuple[str, str]) -> tuple[float, float]:
    """Of the line rate: what goes the stream's way at either end, and what comes back."""
    sender, receiver = (foreign.get(node, ForeignTraffic(node, 0, 0, 1.0)) for node in way)
    return (
        max(sender.sent_share, receiver.received_share),
        max(sender.received_share, receiver.sent_share),
    )


def _median(streams: Sequence[Stream]) -> float:
    shares = [max(_shares(foreign_beside(one), one.series.way)) for one in streams]
    return float(np.median(shares)) if shares else 0.0
