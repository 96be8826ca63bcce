"""What the rest of the program asks of a survey."""

from collections.abc import Callable, Sequence
from contextlib import closing

from fabricgauge.discover.probe import SURVEY, NodeAnswer, answers
from fabricgauge.discover.subnets import networks
from fabricgauge.discover.survey.understand import ANSWER, Parse, not_asked, understood
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import DeclaredNetwork, Fabric, Node, Unreached
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.inventory import Inventory

#: Each tool on a node is ended after seconds; ssh's own limit is 5 s.
TIMEOUT_S = 30.0

#: Handed each answer as it came: node, raw text, and what was wrong with it or nothing.
Keep = Callable[[str, str, str], None]


def survey(
    access: HostAccess, *, timeout_s: float, keep: Keep, parse: Parse, partial: bool = False
) -> tuple[Inventory, ...]:
    """Ask every node of ``access`` for all that it can say; one inventory for each, in order.

    ``keep`` is called before an answer is parsed, always from the calling thread. What a node
    printed before ``timeout_s`` is used; the inventory's troubles say what is missing. With
    ``partial`` an interrupt ends the asking and not the program.
    """
    arrived: dict[str, NodeAnswer] = {}
    found: dict[str, Inventory] = {}
    try:
        with closing(answers(access.hosts, timeout_s, SURVEY)) as arriving:
            for answer in arriving:
                arrived[answer.node] = answer
                keep(answer.node, answer.raw, answer.trouble)
                found[answer.node] = _inventory(answer, parse)
                del arrived[answer.node]
    except KeyboardInterrupt:
        if not partial:
            raise
    for node, answer in arrived.items():  # the interrupt came while it was parsed
        found[node] = _inventory(answer, parse)
    return tuple(found.get(name) or _silent(name) for name in access.nodes)


def _inventory(answer: NodeAnswer, parse: Parse) -> Inventory:
    return understood(answer.node, {ANSWER: answer.raw}, answer.trouble, parse)


def _silent(node: str) -> Inventory:
    return understood(node, {}, f"{node} had not answered when it was interrupted", lambda *_: None)


def fabric_of(
    inventories: Sequence[Inventory], declared: tuple[DeclaredNetwork, ...], virtual: bool
) -> Fabric:
    """The nodes that described themselves, joined to networks; the others with the reason.

    Raises:
        UsageError: a declared subnet is none.
    """
    nodes = tuple(one.node for one in inventories if isinstance(one.node, Node))
    return Fabric(
        nodes=nodes,
        unreached=tuple(
            Unreached(one.name, one.node.reason)
            for one in inventories
            if isinstance(one.node, Skipped) and one.node != not_asked(one.name)
        ),
        networks=networks(nodes, declared),
        virtual=virtual,
    )
