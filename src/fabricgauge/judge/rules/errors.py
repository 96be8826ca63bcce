"""Did interfaces count errors or drops, or TCP lose segments, while the cases ran?"""

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, Lost
from fabricgauge.model.verdict import Figure, Outcome, Threshold
from fabricgauge.words import figures, sentences

ID = "errors"
TITLE = "No interface counted errors or drops, and TCP lost next to nothing"

_COUNTED = (
    "errors: cable, transceiver or port; drops: a receiver or queue that can't keep up",
    "look at `ethtool -S NAME` on the node and at the switch port's counters;"
    " exchange the cable; enlarge the receive ring (ethtool -G NAME rx N)",
)
_LOST = (
    "frames are lost on the way: a bad cable or transceiver, or a queue that overflows"
    " (a switch port, a token bucket, a receiver that can't keep up)",
    "look at the error and drop counters of both ends (ethtool -S NAME) and of the"
    " switch ports between them; exchange the cable; compare the queues' lengths",
)


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    seen = subject.evidence
    found = [one for one in seen.troubles if _is_ours(subject, one)]
    least, share = subject.limit("errors.least"), subject.limit("errors.share")
    lost = [one for one in seen.lost if one.count >= least and one.share > share]
    told = tuple(map(sentence, lost))
    if found:
        names = list(dict.fromkeys(f"{one.node}:{one.interface}" for one in found))
        first = found[0]
        rose = (f"{one.counter} of {one.node}:{one.interface} rose by {one.count:,}"
                for one in found)  # fmt: skip
        return Said(
            Outcome.WARN, f"error or drop counters rose on {sentences.listed(names)}",
            Figure(first.count, "", f"{first.counter} of {first.node}:{first.interface}"),
            Threshold(0, "", "equal to", "a sound link loses nothing under this load"),
            (*rose, *told), *_COUNTED,
        )  # fmt: skip
    if lost:
        worst = max(lost, key=lambda one: one.share)
        way = sentences.direction(worst.origin, worst.target)
        return Said(
            Outcome.WARN, sentence(worst),
            Figure(worst.share, "share", f"of the TCP segments of {way}"),
            subject.threshold("errors.share", "at most"), told, *_LOST,
        )  # fmt: skip
    if not seen.counted:
        return Skipped("no interface counters were read")
    again = sum(one.count for one in seen.lost)
    few = f"; TCP sent {again:,} segments again, which is few" if again else ""
    return Said(Outcome.PASS, f"no error or drop counter rose{few}")


def _is_ours(subject: Subject, trouble: ErrorCount) -> bool:
    """Whether the interface is a member of the network; unpinned, any may have been used."""
    if isinstance(subject.network, Skipped):
        return True
    member = subject.network.member(trouble.node)
    return not isinstance(member, Skipped) and member.interface == trouble.interface


def sentence(lost: Lost) -> str:
    """What one way lost."""
    return (
        f"{sentences.direction(lost.origin, lost.target)}: TCP sent {lost.count:,} of about"
        f" {lost.segments:,.0f} segments again ({figures.percent(lost.share)})"
    )
