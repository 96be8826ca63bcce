"""Make dips, stalls and stuck ranks of a soak program's records, in bounded memory."""

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from fabricgauge.model.words.port_counters import QUIET_PER_S, find_octets, kind_of
from fabricgauge.nodes.discover.ranks import NO_ANSWER

#: Begin of a message in seconds since 1970 (UTC), its time, and the time that the sending and the
#: receiving process did not run meanwhile.
SlowMessage = tuple[float, float, float, float]


class SoakRecord(msgspec.Struct, frozen=True, tag_field="record", tag="soak"):
    """Hold the messages of a rank in one interval; times are in seconds.

    ``usual_s`` is the median of the last intervals, 0 in the first. ``slow`` lists at most 64 of
    the ``slow_messages``. ``waiting_s`` is how long the message under way has taken so far,
    ``unheard_s`` how long nothing has come from the previous rank, ``stopped_s`` how long the
    process did not run. ``rises`` are the increases of the node's counters, by interface.
    """

    rank: int
    to: int
    at_s: float
    messages: int
    median_s: float
    worst_s: float
    usual_s: float
    slow_messages: int
    slow: tuple[SlowMessage, ...]
    ping_messages: int
    ping_median_s: float
    ping_worst_s: float
    ping_usual_s: float
    ping_slow_messages: int
    ping_slow: tuple[SlowMessage, ...]
    waiting_s: float
    ping_waiting_s: float
    unheard_s: float
    stopped_s: float
    rises: dict[str, dict[str, int]] = {}
    port_rises: dict[str, dict[str, int]] = {}
    retransmitted_segments: int = 0


_DECODER = msgspec.json.Decoder(SoakRecord)


def parse_record(line: str) -> SoakRecord | None:
    """Return a line's record; None if the line is none, as an MPI's own messages are."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


#: Slow messages with fewer usual periods between them belong to one dip.
JOINED_PERIODS = 3.0
#: A message that takes longer than this is a stall: nothing came through.
STALL_S = 1.0
#: A rank is stuck if it has written nothing for so long, or for so many intervals.
SILENT_S, SILENT_INTERVALS = 5.0, 4.0
#: A message under way for so long is reported while it lasts.
WAITING_S = 5.0
#: Share of a stuck time in which a process did not run, from which the host explains it.
HOST_SHARE = 0.5
#: The same of a message's delay. A link that is too slow works on while a process pauses: at 30 %
#: of the rate, pauses were up to 0.7 of the delay.
EXPLAINED_SHARE = 0.8
#: Delay of a dip that hosts do not explain, below which it is only counted: of three messages and
#: more, and of one. Hosts delayed single messages by up to 24 ms without a pause in 45 minutes of a
#: quiet lab, two in a row by 5 ms together. TCP waits 200 ms before it sends a lost segment again.
LEAST_DELAY_S, LONE_DELAY_S = 5e-3, 50e-3
#: The engine calls a message slow that takes so many times its usual time and so much more.
SLOW_FACTOR, SLOW_S = 1.3, 0.5e-3
#: So many messages in a row that all took so many times as long as a slow one are the network's if
#: pauses do not explain so many of them: a pause spares the next message. In those 45 minutes the
#: fastest of five took 1.1. A host that is busy for more seconds may delay messages as evenly. So
#: may one that pauses for ``HOST_SHARE`` of the dip, whichever message it delays: in a quiet lab
#: five messages took 4.0 to 9.4 ms for 1.2 while the receiver paused for all of the time.
STEADY_MESSAGES, STEADY_FACTOR, STEADY_UNEXPLAINED, STEADY_S = 5, 1.45, 3, 1.0
#: A receiver that paused for so many delays of a message did so mostly before it.
EARLIER_FACTOR = 2.0
#: A dip of the network that has lasted for so long is reported while it lasts, as a message is.
LASTING_S = WAITING_S
#: A record with so much stopped time shows a pause that may explain a wait: it is far above what
#: a busy host's scheduler takes from a process at once.
PAUSE_S = 1.0
#: Pauses of a node that are remembered; a wait is explained by the latest ones.
MOST_PAUSES = 8
#: Dips that a round trip is compared with: those of about the same moment.
RECENT_DIPS = 8
#: Dips whose times are at most so far apart are of one moment: nodes' clocks differ a little.
NEAR_S = 0.1
#: Dips that are kept with all details, for each direction; the rest are counted.
MOST_DIPS = 200
#: Points of a curve over time; beyond that neighbours are joined.
MOST_POINTS = 600

Kind = Literal["rate", "latency", "stall"]
Source = Literal["network", "host"]


class Dip(msgspec.Struct, frozen=True):
    """Messages of one direction that were slow without a pause; ``at_s`` is UTC since 1970.

    ``usual_s`` and ``worst_s`` are the times of a message. ``stopped_s`` is how long a process did
    not run meanwhile; ``source`` is the host if that explains the delay. ``counters`` are the
    increases of the sender's and receiver's counters in the intervals of the dip, by node.
    """

    origin: str
    target: str
    kind: Kind
    source: Source
    at_s: float
    length_s: float
    usual_s: float
    worst_s: float
    messages: int
    stopped_s: float
    counters: dict[str, dict[str, int]] = {}


class CurvePoint(msgspec.Struct, frozen=True):
    """A direction over some intervals: median and worst time of a message."""

    at_s: float
    median_s: float
    worst_s: float
    ping_median_s: float
    ping_worst_s: float

    def join(self, later: "CurvePoint") -> "CurvePoint":
        return CurvePoint(
            self.at_s, (self.median_s + later.median_s) / 2, max(self.worst_s, later.worst_s),
            (self.ping_median_s + later.ping_median_s) / 2,
            max(self.ping_worst_s, later.ping_worst_s),
        )  # fmt: skip


class Direction(msgspec.Struct):
    """Hold the messages and dips of a direction, within ``MOST_DIPS`` and ``MOST_POINTS``.

    ``dips`` are the network's, and ``more_dips`` how many more it had. ``host_pauses`` are the dips
    that hosts explain, of which there were ``host_dips``. ``unexplained`` are the other messages
    that were late by ``LEAST_DELAY_S`` and more beyond all pauses, by ``unexplained_s`` at most;
    ``resent`` are those of them in an interval in which TCP sent segments again.
    """

    origin: str
    target: str
    messages: int = 0
    pings: int = 0
    dips: list[Dip] = []
    more_dips: int = 0
    host_dips: int = 0
    short_delays: int = 0
    stopped_s: float = 0.0
    curve: list[CurvePoint] = []
    host_pauses: list[Dip] = []
    unexplained: int = 0
    unexplained_s: float = 0.0
    resent: int = 0

    def add_point(self, point: CurvePoint) -> None:
        self.curve.append(point)
        if len(self.curve) > MOST_POINTS:
            pairs = zip(self.curve[::2], self.curve[1::2], strict=False)
            rest = self.curve[len(self.curve) // 2 * 2 :]
            self.curve = [first.join(second) for first, second in pairs] + rest


class Stuck(msgspec.Struct, frozen=True):
    """A rank without a sign of life, or a direction that carries nothing, while it lasts.

    ``target`` is empty for a rank. ``since_s`` is when it began, ``state`` what the node reports
    of the process, empty if unknown. ``paused_s`` is how long the rank's process did not run, if
    that explains it.
    """

    origin: str
    target: str
    since_s: float
    noticed_s: float
    state: str = ""
    paused_s: float = 0.0


class NodeOctets(msgspec.Struct):
    """Hold the octets that a node's interfaces and ports received and sent.

    ``unread`` is why they are incomplete, empty if they are not.
    """

    received: dict[str, int] = {}
    sent: dict[str, int] = {}
    unread: str = ""


class _Pause(msgspec.Struct, frozen=True):
    """The time between two records of a node in which its process did not run."""

    since_s: float
    until_s: float
    stopped_s: float


class _OpenDip(msgspec.Struct):
    """A dip that may still grow."""

    kind: Kind
    at_s: float
    end_s: float
    usual_s: float
    worst_s: float
    messages: int
    delay_s: float
    stopped_s: float
    counters: dict[str, dict[str, int]]
    paused_s: float = 0.0  # of both ends, before a message as well as during it
    network_messages: int = 0
    network_delay_s: float = 0.0
    least_s: float = math.inf
    spared_messages: int = 0
    unexplained: int = 0
    unexplained_s: float = 0.0


class SoakWatch:
    """Take records in the order of arrival; return dips when they are over.

    ``nodes`` are by rank, ``period_s`` is the time between two messages of a rank, ``interval_s``
    that between two records.
    """

    def __init__(self, nodes: Sequence[str], period_s: float, interval_s: float) -> None:
        self._nodes, self._period_s, self._interval_s = tuple(nodes), period_s, interval_s
        count = len(nodes)
        self.directions = [
            Direction(node, nodes[(rank + 1) % count]) for rank, node in enumerate(nodes)
        ]
        self._open: dict[tuple[int, str], _OpenDip] = {}
        self._heard_s: dict[int, float] = {}
        self._rises: dict[int, dict[str, int]] = {}
        self._named: set[tuple[str, str]] = set()
        self._lasting: set[int] = set()
        self._recent = [deque[Dip](maxlen=RECENT_DIPS) for _ in nodes]
        self._pauses = {node: deque[_Pause](maxlen=MOST_PAUSES) for node in nodes}
        self.octets = {node: NodeOctets() for node in nodes}

    def add(self, record: SoakRecord, now_s: float) -> list[Dip]:
        """Return the dips that this record ends; ``now_s`` is the time of its arrival (UTC)."""
        if not 0 <= record.rank < len(self._nodes):
            return []
        direction, node = self.directions[record.rank], self._nodes[record.rank]
        if record.stopped_s >= PAUSE_S:
            since_s = self._heard_s.get(record.rank, now_s - record.stopped_s)
            self._pauses[node].append(_Pause(since_s, now_s, record.stopped_s))
        add_octets(self.octets[node], record)
        self._heard_s[record.rank] = now_s
        self._rises[record.rank] = sum_rises(record)
        direction.messages += record.messages
        direction.pings += record.ping_messages
        direction.stopped_s += record.stopped_s
        if record.messages:
            point = CurvePoint(record.at_s, record.median_s, record.worst_s, record.ping_median_s,
                               record.ping_worst_s)  # fmt: skip
            direction.add_point(point)
        ended = (
            *self._follow(record, "rate", record.slow, record.usual_s),
            *self._follow(record, "latency", record.ping_slow, record.ping_usual_s),
        )
        over = [dip for dip in ended if dip is not None]
        recent = self._recent[record.rank]
        kept = [dip for dip in over if not _within_another(dip, [*over, *recent])]
        for dip in kept:
            self._keep(direction, dip)
            recent.append(dip)
        return kept

    def _follow(
        self, record: SoakRecord, kind: Kind, slow: Sequence[SlowMessage], usual_s: float
    ) -> Iterator[Dip | None]:
        """Add slow messages to the open dip; yield the dips that are over, None for short ones."""
        joined_s = max(JOINED_PERIODS * self._period_s, 0.02)
        key = record.rank, kind
        for at_s, time_s, own_stopped_s, peer_stopped_s in slow:
            dip = self._open.get(key)
            if dip is not None and at_s > dip.end_s + joined_s:
                yield self._close(key)
                dip = None
            if dip is None:
                self._open[key] = dip = _OpenDip(kind, at_s, at_s, usual_s, 0.0, 0, 0.0, 0.0, {})
            dip.end_s = max(dip.end_s, at_s + time_s)
            dip.worst_s = max(dip.worst_s, time_s)
            dip.messages += 1
            delay_s = max(0.0, time_s - usual_s)
            # The peer's time since its last answer, part of which was before this message.
            stopped_s = own_stopped_s + min(peer_stopped_s, time_s)
            dip.delay_s += delay_s
            dip.stopped_s += stopped_s
            dip.paused_s += own_stopped_s + peer_stopped_s
            dip.least_s = min(dip.least_s, time_s)
            if stopped_s < EXPLAINED_SHARE * delay_s:
                dip.network_messages += 1
                dip.network_delay_s += delay_s
            is_earlier = peer_stopped_s > EARLIER_FACTOR * delay_s
            if (own_stopped_s if is_earlier else stopped_s) < EXPLAINED_SHARE * delay_s:
                dip.spared_messages += 1
            if delay_s - stopped_s >= LEAST_DELAY_S:
                dip.unexplained += 1
                dip.unexplained_s = max(dip.unexplained_s, delay_s)
            self._note_counters(dip, record)
        dip = self._open.get(key)
        if dip is not None and record.at_s > dip.end_s + joined_s:
            self._note_counters(dip, record)
            yield self._close(key)

    def _note_counters(self, dip: _OpenDip, record: SoakRecord) -> None:
        for rank in (record.rank, record.to):
            if rises := self._rises.get(rank):
                dip.counters[self._nodes[rank]] = rises

    def _close(self, key: tuple[int, str]) -> Dip | None:
        """Return an open dip as it ended; None for a short delay, which is counted."""
        dip, direction = self._open.pop(key), self.directions[key[0]]
        is_host = _find_source(dip, self._period_s) == "host"
        if is_host and dip.unexplained:
            direction.unexplained += dip.unexplained
            direction.unexplained_s = max(direction.unexplained_s, dip.unexplained_s)
            if any(RESENT in rises for rises in dip.counters.values()):
                direction.resent += dip.unexplained
        if is_host and dip.delay_s - dip.network_delay_s < LEAST_DELAY_S:
            direction.short_delays += 1
            return None
        return self._describe(key, dip)

    def _describe(self, key: tuple[int, str], dip: _OpenDip) -> Dip:
        direction = self.directions[key[0]]
        kind: Kind = "stall" if dip.worst_s >= STALL_S else dip.kind
        return Dip(
            direction.origin, direction.target, kind, _find_source(dip, self._period_s), dip.at_s,
            dip.end_s - dip.at_s,
            dip.usual_s, dip.worst_s, dip.messages, dip.stopped_s, dip.counters,
        )  # fmt: skip

    def find_lasting(self, record: SoakRecord) -> Dip | None:
        """Return the open dip of a rank if it newly lasts long and is the network's."""
        rank = record.rank
        keys = [key for key in ((rank, "rate"), (rank, "latency")) if key in self._open]
        lasting = [
            dip
            for dip in (self._describe(key, self._open[key]) for key in keys)
            if dip.length_s >= LASTING_S and dip.source == "network"
        ]
        if not lasting:
            self._lasting.discard(rank)
            return None
        if rank in self._lasting:
            return None
        self._lasting.add(rank)
        return lasting[0]

    @staticmethod
    def _keep(direction: Direction, dip: Dip) -> None:
        if dip.source == "host":
            direction.host_dips += 1
            if len(direction.host_pauses) < MOST_DIPS:
                direction.host_pauses = [*direction.host_pauses, dip]
        elif len(direction.dips) < MOST_DIPS:
            direction.dips = [*direction.dips, dip]
        else:
            direction.more_dips += 1

    def close(self) -> list[Dip]:
        """Return the dips that were still open at the end."""
        over = []
        for key in sorted(self._open):
            dip = self._close(key)
            if dip is not None:
                self._keep(self.directions[key[0]], dip)
                over.append(dip)
        return over

    def find_stuck(self, now_s: float) -> tuple[str, ...]:
        """Return the nodes whose ranks are newly silent while others still write.

        A rank that writes again may be named once more later.
        """
        longest_s = max(SILENT_S, SILENT_INTERVALS * self._interval_s)
        if len(self._heard_s) < len(self._nodes):
            return ()
        silent = {rank for rank, at_s in self._heard_s.items() if now_s - at_s > longest_s}
        if len(silent) == len(self._nodes):
            return ()
        names = {(self._nodes[rank], "") for rank in silent}
        new = sorted(names - self._named)
        self._named = {name for name in self._named if name[1]} | names
        return tuple(node for node, _ in new)

    def find_waiting(self, record: SoakRecord, now_s: float) -> tuple[str, float] | None:
        """Return a direction's target and the waiting time if its message newly takes too long.

        A pause of either process that is known by now does not count.
        """
        direction = self.directions[record.rank]
        key = direction.origin, direction.target
        waiting_s = max(record.waiting_s, record.ping_waiting_s)
        waiting_s -= max(self._paused_s(node, now_s - waiting_s, now_s) for node in key)
        if waiting_s < WAITING_S:
            self._named.discard(key)
            return None
        if key in self._named:
            return None
        self._named.add(key)
        return direction.target, waiting_s

    def explain(self, stuck: Stuck) -> Stuck:
        """Return the paused rank that explains a stuck rank or direction, else that as it is.

        A rank that is stopped by a signal, dead or gone is a fault of its own.
        """
        if stuck.paused_s or (stuck.state and not stuck.state.startswith(NO_ANSWER)):
            return stuck
        lasted_s = stuck.noticed_s - stuck.since_s
        for node in (stuck.target, stuck.origin) if stuck.target else (stuck.origin,):
            paused_s = self._paused_s(node, stuck.since_s, stuck.noticed_s)
            if paused_s >= HOST_SHARE * lasted_s:
                # What lasts on is no longer explained, and is named again.
                self._named.discard((stuck.origin, stuck.target))
                return Stuck(node, "", stuck.since_s, stuck.noticed_s, "", paused_s)
        return stuck

    def _paused_s(self, node: str, since_s: float, until_s: float) -> float:
        """Return how long a node's process did not run in its pauses that meet a stretch."""
        pauses = self._pauses[node]
        return sum(
            pause.stopped_s
            for pause in pauses
            if pause.since_s <= until_s and pause.until_s >= since_s
        )

    def silence_of(self, node: str, now_s: float) -> float:
        """Return how long a node's ranks have written nothing, in seconds."""
        ranks = (rank for rank, name in enumerate(self._nodes) if name == node)
        return max(now_s - self._heard_s.get(rank, now_s) for rank in ranks)


def _find_source(dip: _OpenDip, period_s: float) -> Source:
    """Return the network if messages that hosts do not explain make a dip, else the host.

    A pause explains the message that it delayed, and no other one of the dip.
    """
    count = dip.network_messages
    if count and dip.network_delay_s >= max(LEAST_DELAY_S, LONE_DELAY_S / count**2):
        return "network"
    if dip.unexplained and _has_losses(dip.counters):
        return "network"
    length_s = dip.end_s - dip.at_s
    in_a_row = dip.messages >= STEADY_MESSAGES and length_s <= dip.messages * period_s
    least_s = STEADY_FACTOR * (SLOW_FACTOR * dip.usual_s + SLOW_S)
    is_slow = dip.kind == "rate" and dip.usual_s > 0 and dip.least_s >= least_s
    is_slow = is_slow and dip.spared_messages >= STEADY_UNEXPLAINED
    is_slow = is_slow and dip.paused_s < HOST_SHARE * length_s
    return "network" if in_a_row and is_slow and length_s <= STEADY_S else "host"


def _has_losses(counters: dict[str, dict[str, int]]) -> bool:
    """Check that an interface or port counted an error, which a quiet one never does.

    Busy hosts drop frames, and TCP sends segments again that a host acknowledges late.
    """
    return any(
        count > 0 and QUIET_PER_S.get(kind_of(name.rpartition(" ")[2])) == 0
        for rises in counters.values()
        for name, count in rises.items()
    )


def _within_another(dip: Dip, others: Sequence[Dip]) -> bool:
    """Check that a dip of the ping-pong is part of one of the stream: both saw one event."""
    return dip.kind == "latency" and any(
        rate.kind != "latency" and rate.origin == dip.origin
        and rate.at_s - NEAR_S <= dip.at_s <= rate.at_s + rate.length_s + NEAR_S
        for rate in others
    )  # fmt: skip


#: The name of an increase: a loss, or an acknowledgement of a host that came late.
RESENT = "TCP segments sent again"
#: Increases that every message causes.
_TRAFFIC = frozenset({"rx_bytes", "tx_bytes"})


def add_octets(octets: NodeOctets, record: SoakRecord) -> None:
    """Add a record's octets of interfaces and ports to a node's."""
    if not record.rises and not record.port_rises:
        octets.unread = "no counters were read"
    received, sent = Counter(octets.received), Counter(octets.sent)
    for name, rises in record.rises.items():
        counts = rises.get("rx_bytes", 0), rises.get("tx_bytes", 0)
        if min(counts) < 0:
            octets.unread = f"the counters of {name} went backwards"
        received[name] += counts[0]
        sent[name] += counts[1]
    for name, rises in record.port_rises.items():
        own_counts = find_octets(rises)
        if own_counts is not None and not any(record.rises.get(name, {}).get(count)
                                              for count in _TRAFFIC):  # fmt: skip
            received[name] += own_counts[0]
            sent[name] += own_counts[1]
    octets.received, octets.sent = dict(received), dict(sent)


def sum_rises(record: SoakRecord) -> dict[str, int]:
    """Return the increases of counters other than traffic, with the interface in their names."""
    rises = {
        f"{place} {name}": count
        for by_place in (record.rises, record.port_rises)
        for place, counters in by_place.items()
        for name, count in counters.items()
        if count and name not in _TRAFFIC
    }
    if record.retransmitted_segments:
        rises[RESENT] = record.retransmitted_segments
    return rises
