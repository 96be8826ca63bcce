"""Tell which medium a message had to cross: the kernel's TCP, or an adapter."""

from fabricgauge.judge.ceiling.technologies import Floor
from fabricgauge.judge.subject import Subject
from fabricgauge.model.suite import SuiteCurve


def crossed_medium(subject: Subject, foreign: SuiteCurve | None) -> Floor:
    """Return the medium that a message crossed; TCP only if its connections carried the payload.

    Other suites show no connections: there the log's own transport counts, or else the network's
    usual one. The transport of one log does not count for the others.
    """
    medium = subject.medium or "rdma"  # the quickest adapter if none is known
    if foreign is None:
        if subject.evidence.over_tcp:
            return "tcp"
        return "rdma" if medium == "tcp" else medium
    if foreign.transport == "tcp":
        return "tcp"
    return "rdma" if (medium, foreign.transport) == ("tcp", "rdma") else medium
