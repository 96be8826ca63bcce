"""Did interfaces count errors, drops or congestion, or TCP lose segments, while the cases ran?

Others' logs have no counters: there the suite's or the library's own word counts.
"""

import re
from collections.abc import Sequence

from fabricgauge.judge import foreign
from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.kept_rate import KEPT_RATE, kept_rate
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, Lost
from fabricgauge.model.suite import LogLosses, SuiteCurve
from fabricgauge.model.verdict import Figure, Outcome, Threshold
from fabricgauge.words import figures, sentences
from fabricgauge.words.port_counters import kind_of

ID = "errors"

_COUNTED = (
    "errors: cable, transceiver or port; drops: a receiver or queue that can't keep up",
    "look at `ethtool -S NAME` on the node and at the switch port's counters;"
    " exchange the cable; enlarge the receive ring (ethtool -G NAME rx N)",
)
_STRAYS = "one a second: frames of protocols that a node does not know are dropped on a sound link"
_LOST = (
    "frames are lost on the way: a bad cable or transceiver, or a queue that overflows"
    " (a switch port, a token bucket, a receiver that can't keep up)",
    "look at the error and drop counters of both ends (ethtool -S NAME) and of the"
    " switch ports between them; exchange the cable; compare the queues' lengths",
)

#: By kind of counter that a busy port may count a few of: effect, cause and remedy.
_BUSY = {
    "retries": (
        "RDMA packets were sent again, came out of order or found no buffer",
        "packets are lost on the way, or a receiver has no buffer ready (RNR)",
        "look at the drops of the switch's ports; see that adapters and switch have the same"
        " priority lossless; of RNR, let the receiver post more buffers",
    ),
    "congestion": (
        "switches or receivers told of congestion",
        "a queue on the way fills: packets are marked (ECN) and senders slow down (CNP)",
        "find the port that fills: others may use it, or several flows share one uplink",
    ),
    "pauses": (
        "ports were paused, or paused others",
        "a receiver cannot keep up, and the pause spreads to those that send",
        "find who cannot keep up: pause counters of the switch's ports lead to it",
    ),
}


#: What NCCL and RCCL write of their adapters (ibv_event_type_str of libibverbs 50): the link went
#: down, or the adapter gave up. Others, such as a new LID, are no trouble.
_EVENT = re.compile(
    r"NET/IB *: *(?P<port>\S+):\d+ Got async event *: *"
    r"(?P<event>port error|local catastrophic error|CQ error|(?:local )?QP \w+(?: \w+)? error)"
)
_FLAPPED = (
    "a link went down while it was measured: a bad cable, transceiver or port, or an adapter that"
    " was reset",
    "look at the link's down counter (link_downed, mlxlink -d DEVICE -c) on both ends; exchange the"
    " cable, then the transceiver; measure again",
)
_SENT_TOO_MUCH = (
    "the receiver's socket buffer or a queue on the way was full, or frames are lost on the way",
    "send at a rate that the link carries (-b), enlarge the receiver's buffer (net.core.rmem_max,"
    " -w), and look at the drop counters of both ends",
)
#: Payload of a TCP segment at an MTU of 1500 with timestamps: there are more at a smaller one.
_SEGMENT_BYTES = 1448
#: IP and TCP with timestamps, in bytes.
_HEADERS = 52


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    evidence = subject.evidence
    ours = [trouble for trouble in evidence.troubles if _is_ours(subject, trouble)]
    least, share = subject.limit("errors.least"), subject.limit("errors.share")
    plain = [trouble for trouble in ours if kind_of(trouble.counter) not in _BUSY]
    broken = [trouble for trouble in plain if trouble.count > trouble.strays]
    busy = [
        trouble
        for trouble in ours
        if trouble not in plain
        and trouble.count >= least
        and trouble.count > share * trouble.frames
    ]
    lost = lost_ways(subject)
    lines = (*map(_rose, (*broken, *busy)), *map(sentence, lost))
    if broken:
        return _broken(broken, lines)
    if busy:
        return _congested(subject, busy, lines)
    if lost:
        return _lossy(subject, lost, lines)
    if not evidence.counted:
        return Skipped("no interface counters were read")
    lost_few = sum(loss.count for loss in evidence.lost)
    remark = f"; TCP lost {lost_few:,} segments, which is few" if lost_few else ""
    rose = "rose more than on a quiet port" if plain else "rose"
    return Said(
        Outcome.PASS, f"no error or drop counter {rose}{remark}", evidence=(*map(_rose, plain),)
    )


def lost_ways(subject: Subject) -> list[Lost]:
    """Return the ways that lost more segments than the limits allow."""
    least, share = subject.limit("errors.least"), subject.limit("errors.share")
    return [loss for loss in subject.evidence.lost if loss.count >= least and loss.share > share]


def _judge_logs(subject: Subject) -> Said | Skipped:
    events = dict.fromkeys(
        f"{curve.source}:{curve.first_line} {curve.benchmark}: {match[0]}"
        for curve in subject.curves
        for warning in (curve.evidence.nccl.warnings if curve.evidence.nccl else ())
        if (match := _EVENT.search(warning))
    )
    if events:
        lines = tuple(events)
        return Said(
            Outcome.WARN, f"the log tells of trouble with an adapter: {lines[0]}",
            evidence=lines, cause=_FLAPPED[0], remedy=_FLAPPED[1],
        )  # fmt: skip
    counted = [(curve, curve.evidence.losses) for curve in subject.curves if curve.evidence.losses]
    lost = [
        _judge_losses(subject, curve, losses) for curve, losses in counted if losses is not None
    ]
    if not lost:
        return Skipped("no interface counters were read")
    return min(
        lost,
        key=lambda judged: (judged.outcome.rank, -(judged.figure.value if judged.figure else 0)),
    )


def _judge_losses(subject: Subject, curve: SuiteCurve, losses: LogLosses) -> Said:
    """Return what TCP sent again, or which datagrams were lost, against the limits of its share."""
    network = subject.network
    mtu = Skipped("no network") if isinstance(network, Skipped) else network.stated_mtu_bytes
    payload = _SEGMENT_BYTES if isinstance(mtu, Skipped) else max(1, mtu - _HEADERS)
    sent = losses.sent_bytes / payload if losses.over_tcp else losses.sent
    share = losses.count / sent if sent > 0 else 0.0
    is_few = losses.count < subject.limit("errors.least") or share <= subject.limit("errors.share")
    many = losses.over_tcp and share > subject.limit("errors.fail")
    verb = "TCP sent" if losses.over_tcp else "lost were"
    units = "segments again" if losses.over_tcp else "datagrams"
    sentence = (
        f"{curve.source}:{curve.first_line} {curve.benchmark}: {verb} {losses.count:,} of about"
        f" {sent:,.0f} {units} ({figures.digits(100 * share, 2)} %)"
    )
    limit = "errors.fail" if many else "errors.share"
    outcome = Outcome.PASS if is_few else Outcome.FAIL if many else Outcome.WARN
    cause, remedy = _LOST if losses.over_tcp else _SENT_TOO_MUCH
    return Said(
        outcome, sentence, Figure(share, "share", f"of the {units.split()[0]}"),
        subject.threshold(limit, "at most"), (sentence,),
        *(("", "") if is_few else (cause, remedy)),
    )  # fmt: skip


def _broken(troubles: Sequence[ErrorCount], lines: tuple[str, ...]) -> Said:
    names = list(dict.fromkeys(f"{trouble.node}:{trouble.interface}" for trouble in troubles))
    first = troubles[0]
    return Said(
        Outcome.WARN, f"error or drop counters rose on {sentences.listed(names)}",
        Figure(first.count, "", f"{first.counter} of {first.node}:{first.interface}"),
        Threshold(float(int(first.strays)), "", "at most", _STRAYS)
        if first.strays
        else Threshold(0, "", "equal to", "a sound link loses nothing under this load"),
        lines, *_COUNTED,
    )  # fmt: skip


def _congested(subject: Subject, busy: Sequence[ErrorCount], lines: tuple[str, ...]) -> Said:
    worst_kind = next(
        kind for kind in _BUSY if any(kind_of(trouble.counter) == kind for trouble in busy)
    )
    first = next(trouble for trouble in busy if kind_of(trouble.counter) == worst_kind)
    effect, cause, remedy = _BUSY[worst_kind]
    return Said(
        Outcome.WARN, f"{effect}: {_rose(first)}",
        Figure(first.count / max(1, first.frames), "share", f"{first.counter} by packets"),
        subject.threshold("errors.share", "at most"), lines, cause, remedy,
    )  # fmt: skip


def _lossy(subject: Subject, lost: Sequence[Lost], lines: tuple[str, ...]) -> Said:
    ends = [(loss.origin, loss.target) for loss in lost]
    rate, shared = kept_rate(subject, ends), foreign.on_ways(subject, ends)
    worst = max(lost, key=lambda one: one.share)
    direction = sentences.direction(worst.origin, worst.target)
    return Said(
        Outcome.WARN, sentence(worst),
        Figure(worst.share, "share", f"of the TCP segments of {direction}"),
        subject.threshold("errors.share", "at most"),
        (*lines, *((rate.sentence,) if rate else ()), *shared),
        *((foreign.CAUSE, foreign.REMEDY) if shared else KEPT_RATE if rate else _LOST),
    )  # fmt: skip


def _rose(trouble: ErrorCount) -> str:
    return f"{trouble.counter} of {trouble.node}:{trouble.interface} rose by {trouble.count:,}"


def _is_ours(subject: Subject, trouble: ErrorCount) -> bool:
    """Whether the interface is a rail of the network or what one is on, or an RDMA port and its
    interface are; unpinned, any may have been used."""
    if isinstance(subject.network, Skipped):
        return True
    names = {member.interface for member in subject.network.rails_of(trouble.node)}
    node = subject.run.fabric.node(trouble.node)
    if isinstance(node, Skipped):
        return trouble.interface in names
    names.update(*map(node.below, names.copy()))
    ports = ((str(port.interface), port.name) for port in node.rdma_ports)
    same = next((port for port in ports if trouble.interface in port), ())
    return not names.isdisjoint((trouble.interface, *same))


def sentence(lost: Lost) -> str:
    """Return what one way lost."""
    return (
        f"{sentences.direction(lost.origin, lost.target)}: TCP lost {lost.count:,} of about"
        f" {lost.segments:,.0f} segments ({figures.percent(lost.share)})"
    )
