"""Interface counters and processor times of all nodes at one moment."""

from contextlib import closing

from fabricgauge.discover.parse_counters import Counted, parse_counters
from fabricgauge.discover.probe import answers
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess

TIMEOUT_S = 15.0


def counters(access: HostAccess, nodes: tuple[str, ...]) -> dict[str, Counted]:
    """By node; each is read where it is, all at once.

    Raises:
        CannotRun: a node cannot be asked, so the path could not be proved.
        ProbeError: a node's answer is not understood.
    """
    hosts = tuple(host for host in access.hosts if host.node in nodes)
    found: dict[str, Counted] = {}
    with closing(answers(hosts, TIMEOUT_S, "counters.sh")) as arriving:
        for answer in arriving:
            if answer.trouble:
                raise CannotRun(f"no counters, so no path proof: {answer.trouble}")
            found[answer.node] = parse_counters(answer.node, answer.raw)
    return found
