"""What the rest of the program asks of discovery."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from fabricgauge.discover.changes import changes
from fabricgauge.discover.parse_probe import parse_probe
from fabricgauge.discover.probe import Answer, answers
from fabricgauge.discover.subnets import networks
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric, Network, Node, Unreached
from fabricgauge.model.host_access import HostAccess

#: A node that answers at all answers in well under a second; ssh's own limit is 5 s.
TIMEOUT_S = 20.0

#: After a broken launch: long enough for a loaded node, short enough to wait for.
RECHECK_TIMEOUT_S = 8.0


def discover(
    access: HostAccess,
    declared: tuple[DeclaredNetwork, ...],
    *,
    timeout_s: float = TIMEOUT_S,
    keep: Callable[[str, str], None],
) -> Fabric:
    """Ask every node of ``access`` at once what it is, and join the answers to networks.

    ``keep(node, raw)`` is handed each answer, unedited, before it is parsed, always from
    the calling thread. A node that cannot be reached or understood within ``timeout_s``
    becomes an ``Unreached`` with the reason; it never ends the discovery of the others.

    Raises:
        UsageError: a declared subnet is none.
    """
    found: dict[str, Node | Unreached] = {}
    with closing(answers(access.hosts, timeout_s)) as arriving:
        for answer in arriving:
            keep(answer.node, answer.raw)
            found[answer.node] = understood(answer)
    return _joined([found[name] for name in access.nodes], declared, access.virtual)


def fabric_of(
    raw: Mapping[str, str],
    nodes: Sequence[str],
    declared: tuple[DeclaredNetwork, ...],
    virtual: bool,
) -> Fabric:
    """The same from answers that somebody else gathered: ``raw`` is each node's own words.

    Raises:
        UsageError: a declared subnet is none.
    """
    silent = "it gave no answer"
    answered = [
        understood(Answer(node, raw.get(node, ""), "" if raw.get(node) else f"{node}: {silent}"))
        for node in nodes
    ]
    return _joined(answered, declared, virtual)


def _joined(
    answered: Sequence[Node | Unreached], declared: tuple[DeclaredNetwork, ...], virtual: bool
) -> Fabric:
    nodes = tuple(node for node in answered if isinstance(node, Node))
    return Fabric(
        nodes=nodes,
        unreached=tuple(node for node in answered if isinstance(node, Unreached)),
        networks=networks(nodes, declared),
        virtual=virtual,
    )


def understood(answer: Answer) -> Node | Unreached:
    """The node behind an answer, or why there is none."""
    if answer.trouble:
        return Unreached(answer.node, answer.trouble)
    try:
        return parse_probe(answer.node, answer.raw)
    except ProbeError as error:
        return Unreached(answer.node, str(error))


def link_states(
    access: HostAccess, fabric: Fabric, network: Network, *, timeout_s: float = RECHECK_TIMEOUT_S
) -> tuple[str, ...]:
    """Ask the members of ``network`` again: one sentence for each thing that has changed.

    Names node and interface where a carrier, an interface, an address or a node is gone,
    or MTU or rate are not what discovery found. Empty when nothing has changed.
    """
    members = {member.node for member in network.members}
    hosts = tuple(host for host in access.hosts if host.node in members)
    with closing(answers(hosts, timeout_s)) as arriving:
        now = {answer.node: understood(answer) for answer in arriving}
    return tuple(
        dict.fromkeys(
            sentence
            for member in network.members
            for sentence in changes(network, member, fabric.node(member.node), now.get(member.node))
        )
    )
