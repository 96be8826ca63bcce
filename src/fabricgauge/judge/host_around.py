"""Signs that a host limits another suite's program, whose own processor use is not known."""

from collections.abc import Iterable

from fabricgauge.judge.host_case import HostCase, medians
from fabricgauge.model.absence import Skipped
from fabricgauge.stats.series import node_of
from fabricgauge.words import figures

#: What other work on a node leaves a program of its processors at the least, by our reckoning: a
#: link that carries less is slow for another reason, though the node is busy as well.
LEAST_SHARE = 0.25


def nothing_idle(case: HostCase) -> Iterable[str]:
    """Programs that sleep while they wait leave processors idle, unless these limit them."""
    if not case.surrounded or any(around.polls for _, around in case.surrounded):
        return
    idles = medians(case, lambda use: use.node_idle_share)
    steals = medians(case, lambda use: use.node_steal_share)
    for (node, idle), (_, steal) in zip(idles, steals, strict=True):
        accounts = case.stream.fraction >= LEAST_SHARE * (1.0 - steal)
        if idle <= case.limit("idle") and accounts:
            yield (
                f"the processors of {node} were idle for {figures.percent(idle)} of the time,"
                " although the program does not poll"
            )


def crowded(case: HostCase) -> Iterable[str]:
    """Some process of the node waited for a processor; the ranks' own delay is not known."""
    for launch, around in case.surrounded:
        for use in around.processors:
            if isinstance(use.run_delay_s, Skipped) or isinstance(use.node_steal_share, Skipped):
                continue
            waited = use.run_delay_s / around.wall_s if around.wall_s > 0 else 0.0
            steal = use.node_steal_share
            delay = min(1.0, waited + steal)
            least = max(LEAST_SHARE * (1.0 - steal), 0.5 * (1.0 - delay))
            if delay >= case.limit("delay") and case.stream.fraction >= least:
                yield (
                    f"on {node_of(launch, use.rank)} some process was ready to run but had to wait"
                    f" for a processor for {figures.percent(delay)} of the time (steal included)"
                )
