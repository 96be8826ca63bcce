"""Find other traffic on the nodes' links, and decide what it explains."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from fabricgauge.judge.evidence.foreign import foreign_traffic
from fabricgauge.judge.streams import NEAREST_RATE, Stream, rechecked_streams, streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import Ends
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.run import Launch
from fabricgauge.model.words import figures

#: Cause and remedy of a figure that other traffic spoils.
CAUSE = "other traffic used the same links during the measurement"
REMEDY = (
    "find the sender (ss -tnp, nethogs, iftop on the named node), wait for it or stop it, then"
    " measure again"
)


def foreign_of(
    subject: Subject, cases: Iterable[tuple[Launch, Measurement]]
) -> dict[str, ForeignTraffic]:
    """Return foreign traffic by node; empty if unknown."""
    if isinstance(subject.network, Skipped):
        return {}
    return foreign_traffic(subject.run.fabric, subject.network, cases)


def foreign_in(subject: Subject, *patterns: Pattern) -> dict[str, ForeignTraffic]:
    """Return foreign traffic by node in all completed cases of these patterns."""
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
    """Return foreign traffic by node in the cases behind a figure."""
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


def sentence(traffic: ForeignTraffic, limit: float) -> str:
    parts = [
        f"{word} {figures.amount(octets)} of other traffic"
        f" ({figures.percent(share)} of the line rate)"
        for word, octets, share in (
            ("sent", traffic.sent_bytes, traffic.sent_share),
            ("received", traffic.received_bytes, traffic.received_share),
        )
        if share >= limit
    ]
    return f"{traffic.node} {' and '.join(parts)} during the measurement"


def accounts(stream: Stream) -> Iterator[str]:
    """Yield other traffic that fills the link together with the stream."""
    limit, foreign = stream.limit("foreign-traffic.share"), foreign_beside(stream)
    if stream.series.of_pairs:
        ahead = (
            float(np.median([traffic.share for traffic in foreign.values()])) if foreign else 0.0
        )
        back = 0.0
        traffic_of_ends = list(foreign.values())
    else:
        ahead, back = _shares(foreign, stream.series.way)
        traffic_of_ends = [foreign[node] for node in stream.series.way if node in foreign]
    if explains(stream, stream.fraction, ahead, back):
        yield from (
            sentence(traffic, limit) for traffic in traffic_of_ends if traffic.share >= limit
        )


def on_ways(subject: Subject, directions: Collection[Ends]) -> tuple[str, ...]:
    """Return other traffic that, with streams, fills at least half of these ways."""
    pair_streams = (*streams(subject, "bandwidth"), *rechecked_streams(subject, "bandwidth", 0.0))
    own_streams = [stream for stream in pair_streams if stream.series.way in directions]
    full_streams = [stream for stream in own_streams if any(accounts(stream))]
    if not full_streams or 2 * len(full_streams) < len(own_streams):
        return ()
    limit = subject.limit("foreign-traffic.share")
    end_nodes = {node for stream in full_streams for node in stream.series.way}
    traffic = foreign_in(subject, "bandwidth").values()
    return tuple(
        sentence(node_traffic, limit)
        for node_traffic in traffic
        if node_traffic.node in end_nodes and node_traffic.share >= limit
    )


def explains(stream: Stream, rate_share: float, ahead: float, back: float) -> bool:
    """Check whether other traffic takes the missing part of a rate, ``rate_share`` of the usual.

    ``ahead`` is its share of the line rate in the stream's direction, ``back`` in the other one,
    which acknowledgements share. Streams that compete leave gaps, but no lower standard rate is
    as near to the line rate as what they carry together.
    """
    limit = stream.limit("foreign-traffic.share")
    if max(ahead, back) < limit:
        return False
    both_ways = back >= limit or stream.directions == 2
    return rate_share + ahead >= (stream.limit("fraction.both_warn") if both_ways else NEAREST_RATE)


def beside_good(
    suspects: Sequence[Stream], good_streams: Sequence[Stream], rate_share: float, *, latency: bool
) -> Iterator[str]:
    """Yield other traffic on the links of suspect pairs that good pairs do not have."""
    usual = _median(good_streams)
    named: dict[str, ForeignTraffic] = {}
    explained = 0
    for stream in suspects:
        foreign = foreign_beside(stream)
        limit = stream.limit("foreign-traffic.share")
        ahead, back = (max(0.0, share - usual) for share in _shares(foreign, stream.series.way))
        busy = max(ahead, back) >= limit
        if busy and (latency or explains(stream, rate_share, ahead, back)):
            explained += 1
            named |= {
                node: foreign[node]
                for node in stream.series.way
                if node in foreign and foreign[node].share >= limit
            }
    if explained and 2 * explained >= len(suspects):
        limit = suspects[0].limit("foreign-traffic.share")
        yield from (sentence(share, limit) for share in named.values())


def _shares(foreign: dict[str, ForeignTraffic], direction: tuple[str, str]) -> tuple[float, float]:
    """Return shares of the line rate: in the stream's direction at either end, and back."""
    sender, receiver = (foreign.get(node, ForeignTraffic(node, 0, 0, 1.0)) for node in direction)
    return (
        max(sender.sent_share, receiver.received_share),
        max(sender.received_share, receiver.sent_share),
    )


def _median(streams: Sequence[Stream]) -> float:
    shares = [max(_shares(foreign_beside(stream), stream.series.way)) for stream in streams]
    return float(np.median(shares)) if shares else 0.0
