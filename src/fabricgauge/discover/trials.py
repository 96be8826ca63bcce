"""What the nodes can do to each other, tried on all of them at once."""

from collections.abc import Callable, Collection
from contextlib import closing

import msgspec

from fabricgauge.discover.parse_trials import PingResult, TrialAnswer, parse_trials
from fabricgauge.discover.partners import (
    LARGE_BYTES,
    LARGE_S,
    MANY_COUNT,
    MANY_INTERVAL_S,
    MOST_NAMES,
    Echo,
    NodeTrial,
    is_name,
    second_trials,
    slow_trials,
    trials,
)
from fabricgauge.discover.probe import NodeAnswer, answers
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.preflight import TRIALS, Clock, Lookup, Ping, Preflight, Rise, Trial

#: Echoes and lookups that have not ended so long after the counters' time are ended: a name
#: server that is away takes 5 s and more to say nothing (resolv.conf(5), timeout).
REST_S = 7

#: Fewer small echoes to the next node do not show 1 % of loss: n that all come back bound it by
#: 3 / n with 95 % confidence.
ENOUGH_ECHOES = 300

#: Nodes that try at once: they mostly wait, and so does the process that asks each of them.
AT_ONCE = 128

#: Beyond that, for the launcher to reach the node; ssh's own limit is 5 s.
REACH_S = 15.0


class _Round(msgspec.Struct):
    """What came of a round of trials; fields as in ``Preflight``.

    ``called`` are by node the names that it knows of addresses which it was asked for.
    """

    pings: list[Ping] = []
    lookups: list[Lookup] = []
    clocks: list[Clock] = []
    rises: list[Rise] = []
    untried: dict[str, str] = {}
    called: dict[str, tuple[str, ...]] = {}


def try_out(
    access: HostAccess,
    fabric: Fabric,
    networks: tuple[Network, ...],
    seconds: float,
    *,
    keep: Callable[[str, str], None],
    wanted: Collection[Trial] = TRIALS,
) -> Preflight:
    """Have every node of ``fabric`` try its partners; ``keep`` gets each answer as it came.

    Only the trials that are ``wanted`` are made; connections are not made here. Counters are
    watched for ``seconds`` at least. A node that does not answer is in ``untried``; the others'
    trials stand. There are no inventories yet.
    """
    seconds = seconds if "counters" in wanted else 0.0
    asked = trials(fabric, networks, wanted) if {*wanted} - {"connect"} else {}
    first = _round(access, asked, seconds, keep)
    lossy = [_ends(ping) for ping in first.pings if not ping.whole and ping.received < ping.sent]
    second = _round(access, second_trials(networks, lossy, _further(first), wanted), 0.0, keep)
    again = {_way(ping) for ping in second.pings}
    third = _round(access, slow_trials(networks, _large(second)), 0.0, keep)
    # What was lost by chance is not lost again; a path that was cold is known by then.
    kept = (ping for ping in first.pings if _way(ping) not in again)
    return Preflight(
        fabric,
        (),
        (*kept, *second.pings, *third.pings),
        (*first.lookups, *second.lookups),
        tuple(first.clocks),
        tuple(first.rises),
        seconds,
        {**second.untried, **first.untried},
    )


def _ends(ping: Ping) -> tuple[str, str, str]:
    return ping.network, ping.source_ip, ping.target_ip


def _way(ping: Ping) -> tuple[tuple[str, str, str], int, bool]:
    return _ends(ping), ping.payload_bytes, ping.whole


def _large(found: _Round) -> dict[tuple[str, str, str], float]:
    """The quickest round trip of large echoes, by network and addresses."""
    return {
        _ends(ping): ping.rtt_s
        for ping in found.pings
        if ping.payload_bytes == LARGE_BYTES and not isinstance(ping.rtt_s, Skipped)
    }


def _further(found: _Round) -> dict[str, tuple[str, ...]]:
    """Names that some node has for an address: each node is to say what they mean to it.

    Of many nodes' names a node is asked only for those that it knows itself.
    """
    asked = {lookup.name for lookup in found.lookups}
    new = {
        node: tuple(name for name in names if name not in asked and is_name(name))
        for node, names in found.called.items()
    }
    every = tuple(dict.fromkeys(name for names in new.values() for name in names))
    if len(every) <= MOST_NAMES:
        return dict.fromkeys(new, every)
    return {node: names[:MOST_NAMES] for node, names in new.items()}


def _round(
    access: HostAccess,
    wanted: dict[str, NodeTrial],
    seconds: float,
    keep: Callable[[str, str], None],
) -> _Round:
    hosts = [host for host in access.hosts if host.node in wanted]
    limit_s = int(max(seconds, LARGE_S + MANY_COUNT * MANY_INTERVAL_S)) + REST_S
    words = {node: [f"{seconds:g}", str(limit_s), *trial.words()] for node, trial in wanted.items()}
    found = _Round()
    with closing(answers(hosts, limit_s + REACH_S, "trials.sh", words, AT_ONCE)) as arriving:
        for answer in arriving:
            keep(answer.node, answer.raw)
            _take(found, answer, wanted[answer.node])
    return found


def _take(found: _Round, answer: NodeAnswer, trial: NodeTrial) -> None:
    node = answer.node
    try:
        counts = {number: echo.count for number, echo in enumerate(trial.echoes)}
        tried = parse_trials(node, answer.raw, counts)
    except ProbeError as error:
        for what in ("ping", "mtu", "names", "clocks", "counters"):
            found.untried.setdefault(what, answer.trouble or str(error))
        return
    for number, echo in enumerate(trial.echoes):
        _take_echo(found, echo, tried.echoes.get(number, Skipped("it did not end in time")))
    for number, name in enumerate(trial.names, len(trial.echoes)):
        means = tried.names.get(number, Skipped(f"the name {name} was not found in time"))
        if isinstance(means, Skipped):
            found.untried.setdefault("names", f"{node}: {means.reason}")
        else:
            found.lookups.append(Lookup(node, name, means))
    called = (name for names in tried.called.values() for name in names)
    found.called[node] = tuple(dict.fromkeys(called))
    _take_times(found, answer, tried)


def _take_echo(found: _Round, echo: Echo, came: PingResult | Skipped) -> None:
    if isinstance(came, Skipped):
        what = "mtu" if echo.whole else "ping"
        found.untried.setdefault(what, f"{echo.source}: {came.reason}")
        return
    found.pings.append(
        Ping(
            echo.network, echo.source, echo.interface, echo.source_ip, echo.target,
            echo.target_ip, echo.payload_bytes, echo.whole, came.sent, came.received, came.rtt_s,
            came.told, came.heard,
        )
    )  # fmt: skip
    if came.sent < ENOUGH_ECHOES <= echo.count:
        least = f"a loss under {3 / came.sent:.1%} would not show"
        found.untried.setdefault("ping", f"{echo.source} sent {came.sent}: {least}")


def _take_times(found: _Round, answer: NodeAnswer, tried: TrialAnswer) -> None:
    """Begun after we asked and ended before we had the answer: that bounds the clock's offset."""
    node, began, ended = answer.node, tried.began, tried.ended
    if isinstance(began, Skipped) or isinstance(ended, Skipped):
        found.untried.setdefault("clocks", f"{node} did not say its time")
        found.untried.setdefault("counters", f"{node} did not say for how long it looked")
        return
    if answer.began_s:
        low_s, high_s = ended.least_s - answer.ended_s, began.most_s - answer.began_s
        found.clocks.append(Clock(node, low_s, high_s))
    else:
        found.untried.setdefault("clocks", f"{node} did not say its time")
    seconds = max(0.001, ended.most_s - began.least_s)
    for (interface, counter), now in tried.after.items():
        by = now - tried.before.get((interface, counter), 0)
        if by > 0:
            found.rises.append(Rise(node, interface, counter, by, seconds))
