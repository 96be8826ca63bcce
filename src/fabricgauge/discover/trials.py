"""What the nodes can do to each other, tried on all of them at once."""

from collections.abc import Callable, Collection
from contextlib import closing

import msgspec

from fabricgauge.discover.parse_trials import Moment, PingResult, TrialAnswer, parse_trials
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


class TrialResults(msgspec.Struct, frozen=True):
    """What all nodes' trials came to; ``untried`` as in ``Preflight``."""

    pings: tuple[Ping, ...]
    lookups: tuple[Lookup, ...]
    clocks: tuple[Clock, ...]
    rises: tuple[Rise, ...]
    seconds: float
    untried: dict[str, str]
    #: By node, the names that it knows of addresses which it was asked for.
    called: dict[str, tuple[str, ...]]


def try_out(
    access: HostAccess,
    fabric: Fabric,
    networks: tuple[Network, ...],
    seconds: float,
    *,
    keep: Callable[[str, str], None],
    wanted: Collection[Trial] = TRIALS,
) -> TrialResults:
    """Have every node of ``fabric`` try its partners; ``keep`` gets each answer as it came.

    Only the trials that are ``wanted`` are made; connections are not made here. Counters are
    watched for ``seconds`` at least. A node that does not answer is in ``untried``; the others'
    trials stand.
    """
    asked = trials(fabric, networks, wanted) if {*wanted} - {"connect"} else {}
    first = _round(access, asked, seconds if "counters" in wanted else 0.0, keep)
    lossy = [
        (ping.network, ping.source_ip, ping.target_ip)
        for ping in first.pings
        if not ping.whole and ping.received < ping.sent
    ]
    second = _round(access, second_trials(networks, lossy, _further(first), wanted), 0.0, keep)
    again = {_way(ping) for ping in second.pings}
    third = _round(access, slow_trials(networks, _large(second)), 0.0, keep)
    return msgspec.structs.replace(
        first,
        # What was lost by chance is not lost again; a path that was cold is known by then.
        pings=(
            *(ping for ping in first.pings if _way(ping) not in again),
            *second.pings,
            *third.pings,
        ),
        lookups=(*first.lookups, *second.lookups),
        untried={**second.untried, **first.untried},
    )


def _large(found: TrialResults) -> dict[tuple[str, str, str], float]:
    """The quickest round trip of large echoes, by network and addresses."""
    return {
        (ping.network, ping.source_ip, ping.target_ip): ping.rtt_s
        for ping in found.pings
        if ping.payload_bytes == LARGE_BYTES and not isinstance(ping.rtt_s, Skipped)
    }


def _further(found: TrialResults) -> dict[str, tuple[str, ...]]:
    """Names that some node has for an address: each node is to say what they mean to it.

    Of many nodes' names a node is asked only for those that it knows itself.
    """
    asked = {lookup.name for lookup in found.lookups}
    every = dict.fromkeys(name for names in found.called.values() for name in names)
    few = tuple(name for name in every if name not in asked and is_name(name))
    if len(few) <= MOST_NAMES:
        return dict.fromkeys(found.called, few)
    return {
        node: tuple(name for name in names if name not in asked and is_name(name))[:MOST_NAMES]
        for node, names in found.called.items()
    }


def _way(ping: Ping) -> tuple[str, str, str, int, bool]:
    return ping.network, ping.source_ip, ping.target_ip, ping.payload_bytes, ping.whole


def _round(
    access: HostAccess,
    wanted: dict[str, NodeTrial],
    seconds: float,
    keep: Callable[[str, str], None],
) -> TrialResults:
    hosts = [host for host in access.hosts if host.node in wanted]
    limit_s = int(max(seconds, LARGE_S + MANY_COUNT * MANY_INTERVAL_S)) + REST_S
    words = {node: [f"{seconds:g}", str(limit_s), *trial.words()] for node, trial in wanted.items()}
    gathering = _Gathering(wanted)
    with closing(answers(hosts, limit_s + REACH_S, "trials.sh", words, AT_ONCE)) as arriving:
        for answer in arriving:
            keep(answer.node, answer.raw)
            gathering.take(answer)
    return gathering.found(seconds)


def preflight_of(fabric: Fabric, found: TrialResults) -> Preflight:
    """The trials as checks want them, with no inventories yet."""
    return Preflight(
        fabric, (), found.pings, found.lookups, found.clocks, found.rises, found.seconds,
        found.untried,
    )  # fmt: skip


class _Gathering:
    """Answers as they come, and why what is missing is missing: the first reason of each kind."""

    def __init__(self, wanted: dict[str, NodeTrial]) -> None:
        self._wanted = wanted
        self._pings: list[Ping] = []
        self._lookups: list[Lookup] = []
        self._clocks: list[Clock] = []
        self._rises: list[Rise] = []
        self._untried: dict[str, str] = {}
        self._called: dict[str, tuple[str, ...]] = {}

    def take(self, answer: NodeAnswer) -> None:
        trial = self._wanted[answer.node]
        counts = {number: echo.count for number, echo in enumerate(trial.echoes)}
        try:
            tried = parse_trials(answer.node, answer.raw, counts)
        except ProbeError as error:
            for what in ("ping", "mtu", "names", "clocks", "counters"):
                self._untried.setdefault(what, answer.trouble or str(error))
            return
        self._take_echoes(trial, tried)
        self._take_names(answer.node, trial, tried)
        called = (name for names in tried.called.values() for name in names)
        self._called[answer.node] = tuple(dict.fromkeys(called))
        self._take_clock(answer, tried)
        self._take_counters(answer.node, tried)

    def found(self, seconds: float) -> TrialResults:
        return TrialResults(
            tuple(self._pings), tuple(self._lookups), tuple(self._clocks), tuple(self._rises),
            seconds, self._untried, self._called,
        )  # fmt: skip

    def _take_echoes(self, trial: NodeTrial, tried: TrialAnswer) -> None:
        for number, echo in enumerate(trial.echoes):
            came = tried.echoes.get(number, Skipped("it did not end in time"))
            if isinstance(came, Skipped):
                what = "mtu" if echo.whole else "ping"
                self._untried.setdefault(what, f"{echo.source}: {came.reason}")
            else:
                self._pings.append(_ping(echo, came))
                if came.sent < ENOUGH_ECHOES <= echo.count:
                    least = f"a loss under {3 / came.sent:.1%} would not show"
                    self._untried.setdefault("ping", f"{echo.source} sent {came.sent}: {least}")

    def _take_names(self, node: str, trial: NodeTrial, tried: TrialAnswer) -> None:
        for number, name in enumerate(trial.names, len(trial.echoes)):
            means = tried.names.get(number, Skipped(f"the name {name} was not found in time"))
            if isinstance(means, Skipped):
                self._untried.setdefault("names", f"{node}: {means.reason}")
            else:
                self._lookups.append(Lookup(node, name, means))

    def _take_clock(self, answer: NodeAnswer, tried: TrialAnswer) -> None:
        """Begun after we asked and ended before we had the answer: that bounds the offset."""
        began, ended = tried.began, tried.ended
        if isinstance(began, Moment) and isinstance(ended, Moment) and answer.began_s:
            low_s = ended.least_s - answer.ended_s
            high_s = began.most_s - answer.began_s
            self._clocks.append(Clock(answer.node, low_s, high_s))
        else:
            self._untried.setdefault("clocks", f"{answer.node} did not say its time")

    def _take_counters(self, node: str, tried: TrialAnswer) -> None:
        if not (isinstance(tried.began, Moment) and isinstance(tried.ended, Moment)):
            self._untried.setdefault("counters", f"{node} did not say for how long it looked")
            return
        seconds = max(0.001, tried.ended.most_s - tried.began.least_s)
        for (interface, counter), now in tried.after.items():
            by = now - tried.before.get((interface, counter), 0)
            if by > 0:
                self._rises.append(Rise(node, interface, counter, by, seconds))


def _ping(echo: Echo, came: PingResult) -> Ping:
    return Ping(
        echo.network, echo.source, echo.interface, echo.source_ip, echo.target, echo.target_ip,
        echo.payload_bytes, echo.whole, came.sent, came.received, came.rtt_s, came.told, came.heard,
    )  # fmt: skip
