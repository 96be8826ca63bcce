"""Did interfaces count errors or drops, or TCP lose segments, while the cases ran?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, Lost
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.words import figures, sentences

ID = "errors"
TITLE = "No interface counted errors or drops, and TCP lost next to nothing"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    seen = subject.evidence
    found = tuple(one for one in seen.troubles if _is_ours(subject, one))
    least, share = context.limit("errors.least"), context.limit("errors.share")
    lost = tuple(one for one in seen.lost if one.count >= least and one.share > share)
    if found:
        return _verdict(subject, found, lost)
    if lost:
        return _losing(context, subject, lost)
    if not seen.counted:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "no interface counters were read")
    again = sum(one.count for one in seen.lost)
    few = f"; TCP sent {again:,} segments again, which is few" if again else ""
    return verdict_on(ID, Outcome.PASS, subject.about, f"no error or drop counter rose{few}")


def _is_ours(subject: Subject, trouble: ErrorCount) -> bool:
    """Whether the interface is a member of the network; unpinned, any may have been used."""
    if isinstance(subject.network, Skipped):
        return True
    member = subject.network.member(trouble.node)
    return not isinstance(member, Skipped) and member.interface == trouble.interface


def _losing(context: Context, subject: Subject, lost: tuple[Lost, ...]) -> Verdict:
    worst = max(lost, key=lambda one: one.share)
    return verdict_on(
        rule=ID,
        outcome=Outcome.WARN,
        about=subject.about,
        summary=_sentence(worst),
        figure=Figure(worst.share, "share", f"of the TCP segments of {_direction(worst)}"),
        threshold=context.thresholds.threshold("errors.share", "at most"),
        evidence=tuple(_sentence(one) for one in lost),
        cause="frames are lost on the way: a bad cable or transceiver, or a queue that overflows"
        " (a switch port, a token bucket, a receiver that can't keep up)",
        remedy="look at the error and drop counters of both ends (ethtool -S NAME) and of the"
        " switch ports between them; exchange the cable; compare the queues' lengths",
    )


def _sentence(lost: Lost) -> str:
    return (
        f"{_direction(lost)}: TCP sent {lost.count:,} of about {lost.segments:,.0f} segments"
        f" again ({figures.percent(lost.share)})"
    )


def _direction(lost: Lost) -> str:
    return sentences.direction(lost.origin, lost.target)


def _verdict(subject: Subject, found: tuple[ErrorCount, ...], lost: tuple[Lost, ...]) -> Verdict:
    names = list(dict.fromkeys(f"{one.node}:{one.interface}" for one in found))
    first = found[0]
    return verdict_on(
        rule=ID,
        outcome=Outcome.WARN,
        about=subject.about,
        summary=f"error or drop counters rose on {sentences.listed(names)}",
        figure=Figure(first.count, "", f"{first.counter} of {first.node}:{first.interface}"),
        threshold=Threshold(0, "", "equal to", "a sound link loses nothing under this load"),
        evidence=(
            *(
                f"{one.counter} of {one.node}:{one.interface} rose by {one.count:,}"
                for one in found
            ),
            *map(_sentence, lost),
        ),
        cause="errors: cable, transceiver or port; drops: a receiver or queue that can't keep up",
        remedy="look at `ethtool -S NAME` on the node and at the switch port's counters;"
        " exchange the cable; enlarge the receive ring (ethtool -G NAME rx N)",
    )
