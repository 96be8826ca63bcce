"""Which steps are fulfilled already: their verifications hold before anything was done; pure."""

from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.configure.job import Reply, holds
from fabricgauge.model.configuration import Step
from fabricgauge.model.finding import Command

#: Evidence is quoted in a line of a report.
_EVIDENCE_SIGNS = 160


def settled(steps: Iterable[Step], replies: Mapping[Command, Reply]) -> tuple[Step, ...]:
    """The steps, with evidence for those that have nothing left to do.

    A step that only follows others has nothing to do where none of them is to be made and
    its own verification, as far as it was asked, holds.
    """
    done: list[Step] = []
    due = False
    for step in steps:
        evidence = step.fulfilled or _evidence(step, replies, due)
        due = due or not evidence
        done.append(msgspec.structs.replace(step, fulfilled=evidence))
    return tuple(done)


def _evidence(step: Step, replies: Mapping[Command, Reply], due: bool) -> str:
    if step.follows and due:
        return ""
    asked = [(check, replies.get(check.command)) for check in step.verify]
    if step.follows and not any(reply for _, reply in asked):
        return "nothing before it is to be changed"
    if not asked or not all(reply and holds(check, reply) for check, reply in asked):
        return ""
    return _told(step, [reply for _, reply in asked if reply])


def _told(step: Step, replies: list[Reply]) -> str:
    """What the verifications said, shortly."""
    words = " ".join(dict.fromkeys(" ".join(reply.output.split()) for reply in replies)).strip()
    told = words if len(words) <= _EVIDENCE_SIGNS else f"{words[:_EVIDENCE_SIGNS]}…"
    return told or f"{step.verify[0].command.argv[0]} finds it so"
