"""Make a plan: facts, a first draft, what the nodes reply to its questions, the plan."""

import msgspec

from fabricgauge.app.configuring.behind import Hosts, ask
from fabricgauge.configure.description import Description
from fabricgauge.configure.interface import checks, draft, plan, questions
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Configuration
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.inventory import Inventory


def planned(
    description: Description, inventories: tuple[Inventory, ...], hosts: Hosts | Skipped
) -> Configuration:
    """The plan; without hosts nothing is asked and the facts alone say what is fulfilled.

    Raises:
        UsageError: the description does not fit what there is.
    """
    job = draft(description, inventories)
    if isinstance(hosts, Skipped):
        return plan(job)
    job = msgspec.structs.replace(job, replies=ask(hosts, questions(job)))
    first = plan(job)
    more = tuple(command for command in checks(first) if command not in job.replies)
    return plan(msgspec.structs.replace(job, replies={**job.replies, **ask(hosts, more)}))


def require_answers(description: Description, inventories: tuple[Inventory, ...]) -> None:
    """Refuse to plan for nodes that could not be asked.

    Raises:
        CannotRun: at least one did not answer; each is named with the reason.
    """
    silent = [
        f"{one.name}: {one.node.reason}"
        for one in inventories
        if one.name in description.nodes and isinstance(one.node, Skipped) and not one.sources
    ]
    if silent:
        raise CannotRun(
            "no plan for nodes that cannot be asked; leave them out with -x, or use a bundle: "
            + "; ".join(silent[:20])
        )
