"""Which programs of a plan are not where it needs them."""

from collections.abc import Iterable

from fabricgauge.app.configuring.behind import Hosts, ask
from fabricgauge.configure.job import on
from fabricgauge.model.configuration import Step
from fabricgauge.model.finding import Command

#: Prints each of its arguments that is no program; POSIX sh.
_LOOK = 'for name; do command -v "$name" >/dev/null 2>&1 || printf "%s\\n" "$name"; done'


def missing(hosts: Hosts, steps: Iterable[Step]) -> tuple[str, ...]:
    """A sentence for each program that is missing on a node or on the head."""
    wanted: dict[str, dict[str, None]] = {}
    for step in steps:
        for command in (*step.commands, *(check.command for check in step.verify)):
            wanted.setdefault(command.node, {})[command.argv[0]] = None
    questions = {
        node: Command(node, ("sh", "-c", _LOOK, "sh", *programs))
        for node, programs in wanted.items()
    }
    replies = ask(hosts, questions.values())
    found = []
    for node, question in questions.items():
        reply = replies[question]
        if reply.exit_code != 0:
            found.append(f"{on(node)} could not be asked for {', '.join(wanted[node])}")
        found += [f"{on(node)} has no {name}" for name in reply.output.splitlines()]
    return tuple(found)
