"""Let all nodes try their connections to each other at once."""

from collections.abc import Callable, Collection
from contextlib import closing

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.preflight import TRIALS, Ping, Preflight, Trial
from fabricgauge.nodes.discover.parse_trials import TrialResults, add_answer
from fabricgauge.nodes.discover.partners import (
    LARGE_BYTES,
    LARGE_S,
    MANY_COUNT,
    MANY_INTERVAL_S,
    MAX_NAMES,
    NodeTrial,
    is_name,
    plan_second_trials,
    plan_slow_trials,
    plan_trials,
)
from fabricgauge.nodes.discover.probe import ask_nodes

#: Echoes and lookups still running this long after the counters' time are ended: without an answer
#: of its name server a lookup takes 5 s and more (resolv.conf(5), timeout).
GRACE_S = 7

#: Nodes that try at once: they mostly wait, and so does the process that asks each of them.
PARALLEL = 128

#: Further time in which the launcher reaches the node; ssh's own limit is 5 s.
REACH_S = 15.0


def run_trials(
    access: HostAccess,
    fabric: Fabric,
    networks: tuple[Network, ...],
    seconds: float,
    *,
    keep: Callable[[str, str], None],
    selected: Collection[Trial] = TRIALS,
) -> Preflight:
    """Have every node of ``fabric`` try its partners; ``keep`` gets each answer unedited.

    Only the ``selected`` trials are made, and connections are made elsewhere. Counters are watched
    for ``seconds`` at least. A node that does not answer is in ``untried``; the trials of the other
    nodes stand. The preflight has no inventories yet.
    """
    seconds = seconds if "counters" in selected else 0.0
    plan = plan_trials(fabric, networks, selected) if {*selected} - {"connect"} else {}
    first = _run_round(access, plan, seconds, keep)
    lossy = [
        _get_path(ping) for ping in first.pings if not ping.whole and ping.received < ping.sent
    ]
    further_names = _list_further_names(first)
    second_plan = plan_second_trials(networks, lossy, further_names, selected)
    second = _run_round(access, second_plan, 0.0, keep)
    repeated = {_get_key(ping) for ping in second.pings}
    quickest = {
        _get_path(ping): ping.rtt_s
        for ping in second.pings
        if ping.payload_bytes == LARGE_BYTES and not isinstance(ping.rtt_s, Skipped)
    }
    third = _run_round(access, plan_slow_trials(networks, quickest), 0.0, keep)
    # The second round replaces the first: it repeats no chance loss, and its path is warm.
    unrepeated = (ping for ping in first.pings if _get_key(ping) not in repeated)
    return Preflight(
        fabric,
        (),
        (*unrepeated, *second.pings, *third.pings),
        (*first.lookups, *second.lookups),
        tuple(first.clocks),
        tuple(first.rises),
        seconds,
        {**second.untried, **first.untried},
    )


def _get_path(ping: Ping) -> tuple[str, str, str]:
    return ping.network, ping.source_ip, ping.target_ip


def _get_key(ping: Ping) -> tuple[tuple[str, str, str], int, bool]:
    return _get_path(ping), ping.payload_bytes, ping.whole


def _list_further_names(results: TrialResults) -> dict[str, tuple[str, ...]]:
    """Return names that some node has for an address, for each node to look up.

    If they are many, a node looks up only those that it has itself.
    """
    looked_up = {lookup.name for lookup in results.lookups}
    new_names = {
        node: tuple(name for name in names if name not in looked_up and is_name(name))
        for node, names in results.reverse_names.items()
    }
    all_names = tuple(dict.fromkeys(name for names in new_names.values() for name in names))
    if len(all_names) <= MAX_NAMES:
        return dict.fromkeys(new_names, all_names)
    return {node: names[:MAX_NAMES] for node, names in new_names.items()}


def _run_round(
    access: HostAccess,
    trials: dict[str, NodeTrial],
    seconds: float,
    keep: Callable[[str, str], None],
) -> TrialResults:
    hosts = [host for host in access.hosts if host.node in trials]
    limit_s = int(max(seconds, LARGE_S + MANY_COUNT * MANY_INTERVAL_S)) + GRACE_S
    words = {
        node: [f"{seconds:g}", str(limit_s), *trial.list_words()] for node, trial in trials.items()
    }
    results = TrialResults()
    with closing(ask_nodes(hosts, limit_s + REACH_S, "trials.sh", words, PARALLEL)) as answers:
        for answer in answers:
            keep(answer.node, answer.raw)
            add_answer(results, answer, trials[answer.node])
    return results
