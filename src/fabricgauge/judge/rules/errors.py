"""Find errors, drops, congestion and lost TCP segments during the cases.

Imported logs have no counters: there the lines of the suite or of its library count.
"""

import re
from collections.abc import Sequence

from fabricgauge.judge import foreign
from fabricgauge.judge.interface import Subject, judge_networks, worst_verdict
from fabricgauge.judge.kept_rate import KEPT_RATE, kept_rate
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, LostSegments
from fabricgauge.model.fabric import is_adapter_port
from fabricgauge.model.suite import SEGMENT_BYTES, LogLosses, SuiteCurve
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.model.words import figures, sentences
from fabricgauge.model.words.port_counters import kind_of

ID = "errors"

_COUNTED = (
    "errors: cable, transceiver or port; drops: a receiver or queue that cannot keep up",
    "look at `ethtool -S NAME` on the node and at the switch port's counters;"
    " exchange the cable; enlarge the receive ring (ethtool -G NAME rx N)",
)
_OF_PORTS = (
    _COUNTED[0],
    "look at the counters of both ends of the link (perfquery -x, ibqueryerrors); exchange the"
    " cable, then the transceiver, then the port",
)
_STRAYS = "one a second: a node on a sound link drops frames of protocols that it does not know"
_LOST = (
    "frames are lost on the path: a bad cable or transceiver, or a queue that overflows"
    " (a switch port, a token bucket, a receiver that cannot keep up)",
    "look at the error and drop counters of both ends (ethtool -S NAME) and of the"
    " switch ports between them; exchange the cable; compare the queues' lengths",
)

#: Effect, cause and remedy by kind of counter. A sound busy port may count a few of each.
_BUSY = {
    "retries": (
        "RDMA packets were sent again, came out of order or found no buffer",
        "packets are lost on the path, or a receiver has no buffer ready (RNR)",
        "look at the drops of the switch's ports; make the same priority lossless on adapters and"
        " switch; for RNR, let the receiver post more buffers",
    ),
    "congestion": (
        "switches or receivers reported congestion",
        "a queue on the path fills: packets are marked (ECN) and senders slow down (CNP)",
        "find the port that fills: other jobs may use it, or several flows share one uplink",
    ),
    "pauses": (
        "ports were paused, or paused their peers",
        "a receiver cannot keep up, and its pause frames stop the senders",
        "find the slow receiver: follow the pause counters of the switch's ports",
    ),
}

#: Events that NCCL and RCCL log (ibv_event_type_str of libibverbs 50) if a link went down or an
#: adapter failed: without the port up to NCCL 2.18, ``async fatal event`` from 2.23 on. Other
#: events, such as a new LID, are harmless.
_EVENT = re.compile(
    r"(?:(?P<node>\S+): )?NET/IB *: *(?:(?P<port>\S+):\d+ )?"
    r"(?:Got async (?:error )?event *: *"
    r"(?:port error|local catastrophic error|CQ error|(?:local )?QP \w+(?: \w+)? error"
    r"|[\w ]{1,40} work queue error)"
    r"|async fatal event(?: on \w+(?: \(\w+\))?)?: *[\w ]{1,60})"
)
_FLAPPED = (
    "a link went down during the measurement: a bad cable, transceiver or port, or an adapter that"
    " was reset",
    "look at the link's down counter (link_downed, mlxlink -d DEVICE -c) on both ends; exchange the"
    " cable, then the transceiver; measure again",
)
#: Events of a link or a whole adapter; all others are of a queue.
_LINK_EVENTS = ("port error", "local catastrophic error")
_QUEUE_FAILED = (
    "a queue of an adapter failed during the measurement; the link itself may be sound",
    "look at dmesg and the adapter's firmware on that node; measure with NCCL_NET_GDR_LEVEL=LOC,"
    " then with another adapter (NCCL_IB_HCA)",
)
_TWICE = (
    "frames take two ways to the receiver: a loop, a mirrored port, or a bond that sends on all its"
    " ports",
    "look at the bond's mode (/proc/net/bonding) and at spanning tree and mirroring of the switch",
)
_SENT_TOO_MUCH = (
    "the receiver's socket buffer or a queue on the path was full, or frames are lost on the path",
    "send at a rate that the link carries (-b), enlarge the receiver's buffer (net.core.rmem_max,"
    " -w), and look at the drop counters of both ends",
)
#: IP and TCP with timestamps, in bytes.
_HEADERS = 52


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    evidence = subject.evidence
    troubles = [trouble for trouble in evidence.troubles if _is_on_network(subject, trouble)]
    least, share = subject.limit("errors.least"), subject.limit("errors.share")
    plain = [trouble for trouble in troubles if kind_of(trouble.counter) not in _BUSY]
    broken = [trouble for trouble in plain if trouble.count > trouble.strays]
    many = (trouble for trouble in troubles if trouble.count > share * trouble.frames)
    busy = [trouble for trouble in many if trouble not in plain and trouble.count >= least]
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
    remark = f"; TCP lost only {lost_few:,} segments" if lost_few else ""
    rose = "rose more than on a quiet port" if plain else "rose"
    return Verdict(
        Outcome.PASS, f"no error or drop counter {rose}{remark}", evidence=(*map(_rose, plain),)
    )


def lost_ways(subject: Subject) -> list[LostSegments]:
    """Return the directions that lost more segments than the limits allow."""
    least, share = subject.limit("errors.least"), subject.limit("errors.share")
    return [loss for loss in subject.evidence.lost if loss.count >= least and loss.share > share]


def _judge_logs(subject: Subject) -> Verdict | Skipped:
    events = dict.fromkeys(
        f"{curve.name}: {match[0]}"
        for curve in subject.curves
        for warning in (curve.evidence.nccl.warnings if curve.evidence.nccl else ())
        if (match := _EVENT.search(warning))
    )
    if events:
        lines = tuple(events)
        return Verdict(
            Outcome.WARN, f"the log shows trouble with an adapter: {lines[0]}",
            None, None, lines,
            *(_FLAPPED if any(event in lines[0] for event in _LINK_EVENTS) else _QUEUE_FAILED),
        )  # fmt: skip
    lost = [
        _judge_losses(subject, curve, losses)
        for curve in subject.curves
        if (losses := curve.evidence.losses)
    ]
    return worst_verdict(lost) or Skipped("no interface counters were read")


def _judge_losses(subject: Subject, curve: SuiteCurve, losses: LogLosses) -> Verdict:
    network = subject.network
    mtu = Skipped("no network") if isinstance(network, Skipped) else network.stated_mtu_bytes
    payload = SEGMENT_BYTES if isinstance(mtu, Skipped) else max(1, mtu - _HEADERS)
    sent, share = losses.sent or losses.sent_bytes / payload, losses.find_share(payload)
    is_above = share > subject.limit("errors.fail")
    # A part that is lost of a few messages is more than the handful of a beginning.
    enough = losses.count >= subject.limit("errors.least") or (is_above and losses.sent)
    is_few = share <= subject.limit("errors.share") or not (enough or losses.repeated)
    many = losses.over_tcp and is_above
    verb = "TCP sent again" if losses.over_tcp else "the network lost"
    units = "segments" if losses.over_tcp else "datagrams"
    units = "messages" if curve.suite == "sockperf" else units
    twice = f" and delivered {losses.repeated:,} twice" if losses.repeated else ""
    sentence = (
        f"{curve.name}: {verb} {losses.count:,}{twice} of about"
        f" {sent:,.0f} {units} ({figures.digits(100 * share, 2)} %)"
    )
    limit = "errors.fail" if many else "errors.share"
    outcome = Outcome.PASS if is_few else Outcome.FAIL if many else Outcome.WARN
    return Verdict(
        outcome, sentence, Figure(share, "share", f"of the {units}"),
        subject.threshold(limit, "at most"), (sentence,),
        *(("", "") if is_few else _remedy_of_losses(losses)),
    )  # fmt: skip


def _remedy_of_losses(losses: LogLosses) -> tuple[str, str]:
    if losses.repeated > losses.count:
        return _TWICE
    return _LOST if losses.over_tcp else _SENT_TOO_MUCH


def _broken(troubles: Sequence[ErrorCount], lines: tuple[str, ...]) -> Verdict:
    names = list(dict.fromkeys(f"{trouble.node}:{trouble.interface}" for trouble in troubles))
    first = troubles[0]
    return Verdict(
        Outcome.WARN, f"error or drop counters rose on {sentences.listed(names)}",
        Figure(first.count, "", f"{first.counter} of {first.node}:{first.interface}"),
        Threshold(float(int(first.strays)), "", "at most", _STRAYS)
        if first.strays
        else Threshold(0, "", "equal to", "a sound link loses nothing under this load"),
        lines, *(_OF_PORTS if is_adapter_port(first.interface) else _COUNTED),
    )  # fmt: skip


def _congested(subject: Subject, busy: Sequence[ErrorCount], lines: tuple[str, ...]) -> Verdict:
    kinds = list(_BUSY)
    first = min(busy, key=lambda trouble: kinds.index(kind_of(trouble.counter)))
    effect, cause, remedy = _BUSY[kind_of(first.counter)]
    return Verdict(
        Outcome.WARN, f"{effect}: {_rose(first)}",
        Figure(first.count / max(1, first.frames), "share", f"{first.counter} by packets"),
        subject.threshold("errors.share", "at most"), lines, cause, remedy,
    )  # fmt: skip


def _lossy(subject: Subject, lost: Sequence[LostSegments], lines: tuple[str, ...]) -> Verdict:
    ends = [(loss.origin, loss.target) for loss in lost]
    rate, shared = kept_rate(subject, ends), foreign.on_ways(subject, ends)
    worst = max(lost, key=lambda loss: loss.share)
    direction = sentences.direction(worst.origin, worst.target)
    return Verdict(
        Outcome.WARN, sentence(worst),
        Figure(worst.share, "share", f"of the TCP segments of {direction}"),
        subject.threshold("errors.share", "at most"),
        (*lines, *((rate.sentence,) if rate else ()), *shared),
        *((foreign.CAUSE, foreign.REMEDY) if shared else KEPT_RATE if rate else _LOST),
    )  # fmt: skip


def _rose(trouble: ErrorCount) -> str:
    return f"{trouble.counter} of {trouble.node}:{trouble.interface} rose by {trouble.count:,}"


def _is_on_network(subject: Subject, trouble: ErrorCount) -> bool:
    """Check whether the counter's interface is a rail, below one, or the RDMA port of either."""
    # Without a pinned network any interface may have been used.
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


def sentence(lost: LostSegments) -> str:
    return (
        f"{sentences.direction(lost.origin, lost.target)}: TCP lost {lost.count:,} of about"
        f" {lost.segments:,.0f} segments ({figures.percent(lost.share)})"
    )
