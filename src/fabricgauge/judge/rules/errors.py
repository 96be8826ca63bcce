"""Did interfaces count errors or drops while the cases ran?"""

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.traffic import Trouble, troubles
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict

ID = "errors"
TITLE = "No interface counted errors or drops"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(subject) for subject in context.subjects)


def _judge(subject: Subject) -> Verdict:
    counted = any(one.counters for launch in subject.launches for one in launch.measurements)
    if not counted:
        return Verdict(ID, Outcome.SKIPPED, subject.name, "no interface counters were read")
    found = tuple(one for one in troubles(subject.launches) if _is_ours(subject, one))
    if not found:
        return Verdict(ID, Outcome.PASS, subject.name, "no error or drop counter rose")
    return _verdict(subject, found)


def _is_ours(subject: Subject, trouble: Trouble) -> bool:
    """Whether the interface is a member of the network; unpinned, any may have been used."""
    if isinstance(subject.network, Skipped):
        return True
    member = subject.network.member(trouble.node)
    return not isinstance(member, Skipped) and member.interface == trouble.interface


def _verdict(subject: Subject, found: tuple[Trouble, ...]) -> Verdict:
    names = list(dict.fromkeys(f"{one.node}:{one.interface}" for one in found))
    first = found[0]
    return Verdict(
        rule=ID,
        outcome=Outcome.WARN,
        subject=subject.name,
        summary=f"error or drop counters rose on {wording.listed(names)}",
        figure=Figure(first.count, "", f"{first.counter} of {first.node}:{first.interface}"),
        threshold=Threshold(0, "", "equal to", "a sound link loses nothing under this load"),
        evidence=tuple(
            f"{one.counter} of {one.node}:{one.interface} rose by {one.count:,}" for one in found
        ),
        cause="errors: cable, transceiver or port; drops: a receiver or queue that can't keep up",
        remedy="look at `ethtool -S NAME` on the node and at the switch port's counters;"
        " exchange the cable; enlarge the receive ring (ethtool -G NAME rx N)",
    )
