"""Has every interface of the network a live link, and had it one all the time?"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

import msgspec

from fabricgauge.evidence.links import LinkEvent, link_events
from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject, missing
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Interface, Member, Network, is_adapter_port
from fabricgauge.model.run import ChangeKind, Ended
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.words import figures, sentences

ID = "link"
TITLE = "Every interface has a live link"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(
        verdict
        for subject in context.subjects
        if not isinstance(subject.network, Skipped) and not subject.imported
        for verdict in _of_network(context, subject, subject.network)
    )


def _of_network(context: Context, subject: Subject, network: Network) -> tuple[Verdict, ...]:
    """What decides: changes that broke a launch, links that went, or how they were at first."""
    changed = _changed(context, subject)
    went = () if changed else _went(context, network)
    return (changed,) if changed else went or (_judge(context.run.fabric, network),)


class _Meaning(msgspec.Struct, frozen=True):
    """What a change amounts to."""

    outcome: Outcome
    cause: str
    remedy: str


_MEANINGS: dict[ChangeKind, _Meaning] = {
    "link": _Meaning(
        Outcome.FAIL,
        "the link went down under load: a loose or bad cable or module, or a port that was"
        " switched off",
        "reseat or exchange the cable and look at the switch port's log",
    ),
    "address": _Meaning(
        Outcome.FAIL,
        "the interface's address was taken away while the network was measured",
        "look for what else manages the interface (DHCP, NetworkManager, systemd-networkd) and"
        " give it its address back",
    ),
    "node": _Meaning(
        Outcome.INCONCLUSIVE,
        "the node was restarted, has crashed, or the way over which it is managed broke: its"
        " links could not be looked at",
        "see whether the node is up and can be reached as it was at the beginning",
    ),
    "setting": _Meaning(
        Outcome.WARN,
        "somebody or something changed the interface's settings while it was measured",
        "find out what changed them, set them as they are meant to be",
    ),
}
_ORDER = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.WARN)

#: How runs of fabricgauge 0.1 say it, which store no kinds; in order of precedence.
_WORDS: tuple[tuple[str, ChangeKind], ...] = (
    (" cannot be reached", "node"), (" could not be asked again", "node"),
    (" was rebooted", "node"), (" has lost its carrier", "link"), (" is down", "link"),
    (" is gone", "link"), (" has lost its address", "address"), ("", "setting"),
)  # fmt: skip


def _changes_of(ended: Ended) -> Iterable[tuple[str, ChangeKind]]:
    told = (next(kind for words, kind in _WORDS if words in one) for one in ended.changes)
    return zip(ended.changes, ended.change_kinds or told, strict=False)


def _changed(context: Context, subject: Subject) -> Verdict | None:
    """What a broken launch found changed: it decides until the rest was measured after all."""
    changes = dict(change for one in subject.launches for change in _changes_of(one.ended))
    if not changes:
        return None
    first = min(changes.values(), key=lambda kind: _ORDER.index(_MEANINGS[kind].outcome))
    decisive = [sentence for sentence, kind in changes.items() if kind == first]
    meaning = _MEANINGS[first]
    mended = not missing(subject)
    return verdict_on(
        ID, Outcome.WARN if mended else meaning.outcome, subject.about,
        f"while it was measured: {sentences.listed(decisive)}"
        + ("; the rest was measured later" if mended else ""),
        evidence=tuple(changes),
        cause=meaning.cause,
        remedy=meaning.remedy
        + ("" if mended else f"; then measure the rest: {sentences.resume(context.run)}"),
    )  # fmt: skip


#: Events that stand in the evidence one by one.
MOST_EVENTS = 12


def _went(context: Context, network: Network) -> tuple[Verdict, ...]:
    """Ports whose link went away or came back while anything was measured, else retrained."""
    events = [one for one in link_events(context.run.launches) if _is_ours(network, one)]
    by_port: dict[str, list[LinkEvent]] = {}
    for one in [one for one in events if one.away] or events:
        by_port.setdefault(f"{one.node}:{one.interface}", []).append(one)
    return tuple(_of_port(network, port, each) for port, each in by_port.items())


def _of_port(network: Network, port: str, events: Sequence[LinkEvent]) -> Verdict:
    more = len(events) - MOST_EVENTS
    return verdict_on(
        ID, Outcome.FAIL if events[0].away else Outcome.WARN,
        VerdictSubject("place", network.name, (events[0].node,), place=port),
        f"while it was measured, {_went_sentence(events)}",
        evidence=(
            *map(_event, events[:MOST_EVENTS]),
            *((f"and {sentences.counted(more, 'more event')} of this kind",) if more > 0 else ()),
        ),
        cause="a loose or bad cable or module, or a port that fails or was switched off and on:"
        " figures that were measured meanwhile say nothing else of the network",
        remedy="reseat or exchange the cable and the module, look at the switch port's log; then"
        " measure again",
    )  # fmt: skip


def _is_ours(network: Network, event: LinkEvent) -> bool:
    """Whether it is a member's; an adapter's port is, where the network is one of adapters."""
    member = network.member(event.node)
    if isinstance(member, Skipped):
        return False
    if is_adapter_port(event.interface):
        return network.technology != "ethernet"
    return event.interface == member.interface


def _went_sentence(events: Sequence[LinkEvent]) -> str:
    """``it lost its link or got it back 12 times between 18:31:02 and 18:31:40 UTC``."""
    what = "lost its link or got it back" if events[0].away else "retrained its link"
    times = sentences.counted(sum(one.count for one in events), "time")
    began, ended = _clock(events[0].began_utc_s), _clock(events[-1].ended_utc_s)
    return f"it {what} {times} between {began} and {ended} UTC"


def _event(one: LinkEvent) -> str:
    during = f"while {one.case} ran" if one.case else "between two cases"
    return (
        f"{one.counter} of {one.node}:{one.interface} rose by {one.count:,} between"
        f" {_clock(one.began_utc_s)} and {_clock(one.ended_utc_s)} UTC, {during}"
    )


def _clock(utc_s: float) -> str:
    return datetime.fromtimestamp(utc_s, timezone.utc).strftime("%H:%M:%S")


def _judge(fabric: Fabric, network: Network) -> Verdict:
    found = [(member, _interface(fabric, member)) for member in network.members]
    dead = [
        f"{member.node}:{member.interface}"
        for member, interface in found
        if not isinstance(interface, Skipped) and interface.carrier is False
    ]
    if dead:
        return _dead(network, dead)
    live = [
        member
        for member, interface in found
        if not isinstance(interface, Skipped) and interface.carrier is True
    ]
    if len(live) < len(found) or not found:
        reason = f"{len(live)} of {len(found)} interfaces report a live link, the others nothing"
        return verdict_on(ID, Outcome.SKIPPED, VerdictSubject("network", network.name), reason)
    return _unlike(network, found) or verdict_on(
        ID,
        Outcome.PASS,
        VerdictSubject("network", network.name),
        f"all {len(live)} interfaces have a live link",
    )


def _unlike(network: Network, found: list[tuple[Member, Interface | Skipped]]) -> Verdict | None:
    """Ports of one network that were negotiated at different rates."""
    rates = {
        f"{member.node}:{member.interface}": interface.speed_bit_s
        for member, interface in found
        if isinstance(interface, Interface) and isinstance(interface.speed_bit_s, float)
    }
    slow = [name for name, rate in rates.items() if rate < max(rates.values())]
    if not slow:
        return None
    said = tuple(f"{name}: {figures.link_rate(rate)}" for name, rate in sorted(rates.items()))
    return verdict_on(
        ID, Outcome.WARN, VerdictSubject("network", network.name),
        f"{sentences.listed(slow)} runs at a lower rate than the fastest port of the network",
        evidence=said,
        cause="the port fell back to a lower rate: a bad cable or module, a forced setting, or"
        " a slower switch port",
        remedy="compare the advertised modes of both ends (ethtool NAME), then reseat or"
        " exchange the cable",
    )  # fmt: skip


def _interface(fabric: Fabric, member: Member) -> Interface | Skipped:
    node = fabric.node(member.node)
    return node if isinstance(node, Skipped) else node.interface(member.interface)


def _dead(network: Network, dead: list[str]) -> Verdict:
    return verdict_on(
        ID, Outcome.FAIL, VerdictSubject("network", network.name),
        f"no carrier on {sentences.listed(dead)}",
        evidence=tuple(f"the kernel reports no carrier on {name}" for name in dead),
        cause="the cable is not plugged in or broken, or the port at its other end is off",
        remedy="reseat or exchange the cable, switch the port on; on the node:"
        " `ip link set dev NAME up`",
    )  # fmt: skip
