"""What the nodes can do to each other, tried on all of them at once."""

from collections.abc import Callable, Collection
from contextlib import closing

from fabricgauge.discover.parse_trials import Tried, take
from fabricgauge.discover.partners import (
    LARGE_BYTES,
    LARGE_S,
    MANY_COUNT,
    MANY_INTERVAL_S,
    MOST_NAMES,
    NodeTrial,
    is_name,
    second_trials,
    slow_trials,
    trials,
)
from fabricgauge.discover.probe import answers
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.preflight import TRIALS, Ping, Preflight, Trial

#: Echoes and lookups still running this long after the counters' time are ended: without an answer
#: of its name server a lookup takes 5 s and more (resolv.conf(5), timeout).
REST_S = 7

#: Nodes that try at once: they mostly wait, and so does the process that asks each of them.
AT_ONCE = 128

#: Further time in which the launcher reaches the node; ssh's own limit is 5 s.
REACH_S = 15.0


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
    quickest = {
        _ends(ping): ping.rtt_s
        for ping in second.pings
        if ping.payload_bytes == LARGE_BYTES and not isinstance(ping.rtt_s, Skipped)
    }
    third = _round(access, slow_trials(networks, quickest), 0.0, keep)
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


def _further(found: Tried) -> dict[str, tuple[str, ...]]:
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
) -> Tried:
    hosts = [host for host in access.hosts if host.node in wanted]
    limit_s = int(max(seconds, LARGE_S + MANY_COUNT * MANY_INTERVAL_S)) + REST_S
    words = {node: [f"{seconds:g}", str(limit_s), *trial.words()] for node, trial in wanted.items()}
    found = Tried()
    with closing(answers(hosts, limit_s + REACH_S, "trials.sh", words, AT_ONCE)) as arriving:
        for answer in arriving:
            keep(answer.node, answer.raw)
            take(found, answer, wanted[answer.node])
    return found
