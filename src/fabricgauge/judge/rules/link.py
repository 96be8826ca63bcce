"""Check that every interface of the network had a live link all the time."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from fabricgauge.judge.evidence.links import LinkEvent, link_events
from fabricgauge.judge.interface import Context, Subject, Verdicts, judge_networks
from fabricgauge.judge.rules import connect
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Interface, Network
from fabricgauge.model.groups import group_by
from fabricgauge.model.run import ChangeKind
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures, sentences

ID = "link"

#: Outcome, cause and remedy by kind of change. The first kind that occurred decides.
_MEANINGS: dict[ChangeKind, tuple[Outcome, str, str]] = {
    "link": (
        Outcome.FAIL,
        "the link went down under load: a loose or bad cable or module, or a port that was"
        " disabled",
        "reseat or exchange the cable and look at the switch port's log",
    ),
    "address": (
        Outcome.FAIL,
        "the interface lost its address during the measurement",
        "find the service that manages the interface (DHCP, NetworkManager, systemd-networkd) and"
        " restore its address",
    ),
    "node": (
        Outcome.INCONCLUSIVE,
        "the node was restarted, crashed, or is unreachable over its management network: its"
        " links are unknown",
        "check that the node is up and reachable as it was at the start",
    ),
    "setting": (
        Outcome.WARN,
        "the interface's settings changed during the measurement",
        "find out what changed the settings, and restore them",
    ),
}

#: Verdicts of fabricgauge 0.1, whose runs store no kinds; in order of precedence.
_WORDS: tuple[tuple[str, ChangeKind], ...] = (
    (" cannot be reached", "node"), (" could not be asked again", "node"),
    (" was rebooted", "node"), (" has lost its carrier", "link"), (" is down", "link"),
    (" is gone", "link"), (" has lost its address", "address"), ("", "setting"),
)  # fmt: skip

#: Events that stand in the evidence one by one.
MOST_EVENTS = 12

_FLAPS = (
    "a loose or bad cable or module, or a port that fails or was disabled for a time:"
    " figures of that time show nothing else about the network",
    "reseat or exchange the cable and the module, look at the switch port's log; then"
    " measure again",
)
_DEAD = (
    "the cable is broken or not plugged in, or the port at its other end is off",
    "reseat or exchange the cable, enable the port; on the node: `ip link set dev NAME up`",
)
_FELL_BACK = (
    "the port fell back to a lower rate: a bad cable or module, a forced setting, or"
    " a slower switch port",
    "compare the advertised modes of both ends (ethtool NAME), then reseat or exchange the cable",
)
_ONE_LANE = (
    "cables and switches have 4 lanes, or 2 of a split port: the links trained down, or the fabric"
    " was set to one lane",
    "compare active, enabled and supported width of both ends (iblinkinfo, mlxlink -d DEVICE);"
    " reseat or exchange the cables",
)


@judge_networks(ID)
def judge(subject: Subject) -> Verdicts:
    """Judge changes that broke a launch, else links that went down, else the first state."""
    network = subject.network
    if isinstance(network, Skipped) or subject.imported:
        return ()
    return (
        _judge_changes(subject)
        or list(_judge_link_events(subject, network))
        or _judge_first_state(subject, network)
    )


def _judge_changes(subject: Subject) -> Verdict | None:
    """Judge the changes after a broken launch: only a warning once the rest was measured later."""
    changes: dict[str, ChangeKind] = {}
    for ended in (launch.ended for launch in subject.launches):
        kinds = (next(kind for words, kind in _WORDS if words in line) for line in ended.changes)
        changes.update(zip(ended.changes, ended.change_kinds or kinds, strict=False))
    if not changes:
        return None
    first = min(changes.values(), key=lambda kind: _MEANINGS[kind][0].rank)
    decisive = [sentence for sentence, kind in changes.items() if kind == first]
    outcome, cause, remedy = _MEANINGS[first]
    complete = not subject.missing
    later = "; the rest was measured later" if complete else ""
    next_step = "" if complete else f"; then measure the rest: {sentences.resume(subject.run)}"
    return Verdict(
        Outcome.WARN if complete else outcome,
        f"during the measurement: {sentences.listed(decisive)}{later}",
        evidence=tuple(changes),
        cause=cause,
        remedy=remedy + next_step,
    )


def _judge_link_events(subject: Subject, network: Network) -> Iterator[Verdict]:
    """Yield ports whose link went down or came up during the measurement, else retrained."""
    fabric = subject.run.fabric
    events = [event for event in link_events(subject.run.launches) if event.is_of(network, fabric)]
    events = [event for event in events if event.away] or events
    by_port = group_by(events, lambda event: f"{event.node}:{event.interface}")
    for port, port_events in by_port.items():
        first, last, more = port_events[0], port_events[-1], len(port_events) - MOST_EVENTS
        more_events = f"and {sentences.counted(more, 'more event')} of this kind"
        times = sentences.counted(sum(event.count for event in port_events), "time")
        yield Verdict(
            Outcome.FAIL if first.away else Outcome.WARN,
            f"the link {'went down or came up' if first.away else 'retrained'} {times} between"
            f" {_clock(first.began_utc_s)} and {_clock(last.ended_utc_s)} UTC",
            None, None,
            (*map(_event, port_events[:MOST_EVENTS]), *((more_events,) if more > 0 else ())),
            *_FLAPS,
            VerdictSubject("place", network.name, (first.node,), place=port),
        )  # fmt: skip


def _event(event: LinkEvent) -> str:
    during = f"while {event.case} ran" if event.case else "between two cases"
    return (
        f"{event.counter} of {event.node}:{event.interface} rose by {event.count:,} between"
        f" {_clock(event.began_utc_s)} and {_clock(event.ended_utc_s)} UTC, {during}"
    )


def _clock(utc_s: float) -> str:
    return datetime.fromtimestamp(utc_s, timezone.utc).strftime("%H:%M:%S")


def _judge_first_state(subject: Subject, network: Network) -> Verdict | Skipped:
    """Judge the ports as discovery found them: dead ports, then ports with different rates."""
    known_ports = _known_ports(subject.run.fabric, network)
    if dead := [name for name, port in known_ports if port.carrier is False]:
        lines = tuple(f"the kernel reports no carrier on {name}" for name in dead)
        summary = f"no carrier on {sentences.listed(dead)}"
        return Verdict(Outcome.FAIL, summary, None, None, lines, *_DEAD)
    live = sum(port.carrier is True for _, port in known_ports)
    if live < len(network.members) or not live:
        return Skipped(
            f"{live} of {len(network.members)} interfaces report a live link; the state of the rest"
            " is unknown"
        )
    rates = {
        name: port.speed_bit_s for name, port in known_ports if isinstance(port.speed_bit_s, float)
    }
    slow = [name for name, rate in rates.items() if rate < max(rates.values())]
    if not slow and network.link.startswith("1x "):
        names = sentences.listed([name for name, _ in known_ports], 4)
        summary = f"all {live} ports run at {network.link}, on one lane: {names}"
        return Verdict(Outcome.WARN, summary, None, None, (), *_ONE_LANE)
    if not slow:
        return Verdict(Outcome.PASS, f"all {live} interfaces have a live link")
    return Verdict(
        Outcome.WARN,
        f"{sentences.listed(slow)} {'runs' if len(slow) == 1 else 'run'} at a lower rate than the"
        " fastest port of the network",
        None, None,
        tuple(f"{name}: {figures.link_rate(rate)}" for name, rate in sorted(rates.items())),
        *_FELL_BACK,
    )  # fmt: skip


def _known_ports(fabric: Fabric, network: Network) -> list[tuple[str, Interface]]:
    ports = [(member, fabric.interface_of(member)) for member in network.members]
    return [
        (f"{member.node}:{member.interface}", port)
        for member, port in ports
        if isinstance(port, Interface)
    ]


def find_consequences(context: Context, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return ids of verdicts on ports that ``connect`` also names, each with that verdict's id."""
    named = {
        verdict.about.place: verdict
        for verdict in verdicts
        if verdict.rule == connect.ID and verdict.outcome is Outcome.FAIL
    }
    causes: dict[str, str] = {}
    if any(launch.ended.changes for launch in context.run.launches):
        return causes
    networks = {network.name: network for network in context.run.fabric.networks}
    for verdict in verdicts:
        if verdict.rule == ID and verdict.about.kind == "network" and verdict.network in networks:
            ports = _known_ports(context.run.fabric, networks[verdict.network])
            dead = [name for name, port in ports if port.carrier is False]
            if dead and named.keys() >= set(dead):
                causes[verdict.id] = named[dead[0]].id
    return causes
