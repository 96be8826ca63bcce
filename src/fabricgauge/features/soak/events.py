"""Join the dips of one moment: what slows one direction shows in others of the same nodes.

Answers of a node leave on the same cable as its messages. While the way out of c1 is slow, messages
c1 → c2 take longer, and round trips that c2 begins wait behind them: that is one event, and no
fault of the direction c2 → c1.
"""

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from fabricgauge.features.soak.watching import NEAR_S, RECENT_DIPS, Dip, Direction
from fabricgauge.model.words.figures import duration, percent
from fabricgauge.model.words.sentences import direction as way


class Event(msgspec.Struct, frozen=True):
    """Hold the dip that explains an event, and what other directions saw at that moment.

    ``effects`` are the opposite direction, if it lost rate too, and round trips of the same nodes.
    """

    lead: Dip
    effects: tuple[Dip, ...] = ()

    @property
    def dips(self) -> tuple[Dip, ...]:
        return (self.lead, *self.effects)


def join_dips(dips: Iterable[Dip]) -> tuple[Event, ...]:
    """Return the events of the network's dips, oldest first.

    A round trip belongs to the lost rate of a direction that has one of its nodes, else to the
    round trips of the opposite direction. Lost rate belongs to that of the opposite direction.
    """
    rates: dict[str, list[Dip]] = defaultdict(list)
    trips: dict[str, list[Dip]] = defaultdict(list)
    effects: dict[int, list[Dip]] = {}
    leads = list[Dip]()
    network_dips = [dip for dip in dips if dip.source == "network"]
    for dip in sorted(network_dips, key=lambda dip: (dip.kind == "latency", dip.at_s)):
        is_trip = dip.kind == "latency"
        near = _find_near(dip, rates)
        lead = _opposite(dip, near)
        if lead is None and is_trip:
            lead = next(iter(near), None) or _opposite(dip, _find_near(dip, trips))
        if lead is not None:
            effects[id(lead)].append(dip)
            continue
        leads.append(dip)
        effects[id(dip)] = []
        for node in (dip.origin, dip.target):
            (trips if is_trip else rates)[node].append(dip)
    leads.sort(key=lambda dip: dip.at_s)
    return tuple(Event(lead, tuple(effects[id(lead)])) for lead in leads)


def _find_near(dip: Dip, leads: Mapping[str, Sequence[Dip]]) -> list[Dip]:
    """Return the leads of a dip's nodes and moment, latest first."""
    end_s = dip.at_s + dip.length_s + NEAR_S
    near = list[Dip]()
    for node in (dip.origin, dip.target):
        known = leads.get(node, ())
        place = bisect_right(known, end_s, key=lambda lead: lead.at_s)
        near += known[max(0, place - RECENT_DIPS) : place][::-1]
    return [lead for lead in near if lead.at_s + lead.length_s + NEAR_S >= dip.at_s]


def _opposite(dip: Dip, leads: Iterable[Dip]) -> Dip | None:
    return next((lead for lead in leads if lead.origin == dip.target and lead.target == dip.origin),
                None)  # fmt: skip


def drop_echoes(directions: Sequence[Direction]) -> tuple[Direction, ...]:
    """Return the directions without round trips that the lost rate of another one explains."""
    events = join_dips(dip for direction in directions for dip in direction.dips)
    echoes = {id(dip) for event in events for dip in event.effects if dip.kind == "latency"}
    return tuple(
        replace(direction, dips=[dip for dip in direction.dips if id(dip) not in echoes])
        for direction in directions
    )


def describe_event(event: Event) -> str:
    """Return an event in one line: when, where, how long, how much, and what the counters did."""
    lead = event.lead
    begin = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(lead.at_s))
    place = _place(lead)
    if any(dip.kind != "latency" for dip in event.effects):
        place = f"both ways, {place} first,"
    host = (
        f"; a process did not run for {duration(lead.stopped_s)}" if lead.source == "host" else ""
    )
    echoes = "".join(f"; {_place(dip)}: {_describe_loss(dip)}" for dip in event.effects)
    counters = dict[str, dict[str, int]]()
    for dip in event.dips:
        for node, rises in dip.counters.items():
            counters[node] = {**counters.get(node, {}), **rises}
    counted = "".join(
        f"; {node}: {', '.join(f'{name} +{count}' for name, count in rises.items())}"
        for node, rises in counters.items() if rises
    )  # fmt: skip
    return (
        f"{begin}.{int(lead.at_s % 1 * 10)} UTC {place} for {duration(lead.length_s)}:"
        f" {_describe_loss(lead)}{host}{echoes}{counted}"
    )


def _place(dip: Dip) -> str:
    """Return the direction of a dip; a round trip does not show which way was slow."""
    return f"{way(dip.origin, dip.target)}{' and back' if dip.kind == 'latency' else ''}"


def _describe_loss(dip: Dip) -> str:
    worst, usual = duration(dip.worst_s), duration(dip.usual_s)
    if dip.kind == "stall":
        return f"nothing came through for {worst}"
    if dip.kind == "latency":
        return f"a round trip took up to {worst} instead of {usual}"
    loss = f"messages took up to {worst} instead of {usual}"
    if dip.source == "host" or not dip.worst_s:
        return loss
    return f"{loss}, {percent(dip.usual_s / dip.worst_s)} of the rate"
