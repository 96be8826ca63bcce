"""Prove a soak: its bytes crossed the network that was meant, at about the network's rate."""

from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.features.soak.watching import CurvePoint, Direction, NodeOctets
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.evidence.traffic import keep_path_ends
from fabricgauge.judge.thresholds import MOVED_AT_ALL
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import amount, duration, percent
from fabricgauge.model.words.sentences import direction as way
from fabricgauge.model.words.sentences import listed

#: Share of the payload that the expected interfaces must have counted, and bytes below which other
#: traffic weighs too much: as the rule ``path`` has them (``path.share``, ``path.least_payload``).
CROSSED_SHARE, LEAST_PAYLOAD = 0.99, 1_000_000
#: Shares of the ceiling that single messages reach. On a sound 1 Gb/s link, time less round trip
#: gives 99 %; the rule ``fraction`` warns of streams both ways from 85 % down. A host that sends
#: with one thread keeps three quarters; at half the rate the link or its host is at fault.
RATE_PASS, RATE_FAIL = 0.75, 0.5


class Crossing(msgspec.Struct, frozen=True):
    """The least payload of a node, what its expected interfaces counted, and what others did.

    ``unread`` is why the counters prove nothing, empty if they do.
    """

    node: str
    interfaces: tuple[str, ...]
    sent_payload_bytes: int
    received_payload_bytes: int
    sent_bytes: int
    received_bytes: int
    other_sent_bytes: int
    other_received_bytes: int
    unread: str = ""


def find_crossings(
    fabric: Fabric, network: Network | None, directions: Sequence[Direction], message_bytes: int,
    octets: dict[str, NodeOctets],
) -> tuple[Crossing, ...]:  # fmt: skip
    """Return what each node's interfaces counted, beside its messages times their size."""
    sent = {direction.origin: direction.messages * message_bytes for direction in directions}
    received = {direction.target: direction.messages * message_bytes for direction in directions}
    return tuple(
        _find_crossing(fabric, network, node, octets.get(node, NodeOctets()),
                       (sent[node], received.get(node, 0)))
        for node in sent
    )  # fmt: skip


def _find_crossing(
    fabric: Fabric, network: Network | None, node: str, octets: NodeOctets, payload: tuple[int, int]
) -> Crossing:
    rails = network.rails_of(node) if network is not None else ()
    if network is not None and not network.has_rdma_ports:
        rails = rails[:1]
    names = tuple(rail.interface for rail in rails)
    by_tcp = network is None or not network.has_rdma_ports
    counted = [
        keep_path_ends(fabric, node, kind, by_tcp=by_tcp) for kind in (octets.sent, octets.received)
    ]
    names_of_ports = _netdevs(fabric, node, names)
    unread = octets.unread
    if network is None:
        unread = "MPI was free to choose the network"
    elif not names:
        unread = f"no interface of {network.name} is known"
    elif not unread and not {*names, *names_of_ports} & counted[0].keys():
        unread = f"no counter of {listed(list(names))} was read"
    inside, outside = list[int](), list[int]()
    for by_name in counted:
        inner_names = names if any(by_name.get(name) for name in names) else names_of_ports
        inside.append(sum(by_name.get(name, 0) for name in inner_names))
        outside.append(sum(by_name.values()) - inside[-1])
    return Crossing(node, names, *payload, inside[0], inside[1], outside[0], outside[1], unread)


def _netdevs(fabric: Fabric, node: str, ports: Sequence[str]) -> tuple[str, ...]:
    """Return the interfaces of RDMA ports: a port without a counter counts its frames there."""
    inventory = fabric.node(node)
    if isinstance(inventory, Skipped):
        return ()
    return tuple(str(port.interface) for port in inventory.rdma_ports if port.name in ports)


def judge_crossings(crossings: Sequence[Crossing]) -> tuple[Outcome, str]:
    """Return INVALID if bytes took another path, INCONCLUSIVE if that is unknown, else PASS."""
    if not crossings:
        return Outcome.INCONCLUSIVE, "no counters were kept: the path is unproven"
    verdicts = [verdict for crossing in crossings for verdict in _judge_node(crossing)]
    for outcome in (Outcome.INVALID, Outcome.INCONCLUSIVE):
        for verdict, reason in verdicts:
            if verdict is outcome:
                return outcome, reason
    return Outcome.PASS, "the bytes crossed the network"


def _judge_node(crossing: Crossing) -> Iterable[tuple[Outcome, str]]:
    """Yield a verdict of what a node sent, and of what it received."""
    if crossing.unread:
        yield Outcome.INCONCLUSIVE, f"{crossing.node}: {crossing.unread}: the path is unproven"
        return
    kinds = (
        ("sent", crossing.sent_payload_bytes, crossing.sent_bytes, crossing.other_sent_bytes),
        ("received", crossing.received_payload_bytes, crossing.received_bytes,
         crossing.other_received_bytes),
    )  # fmt: skip
    for verb, payload, inside, outside in kinds:
        expected = listed(list(crossing.interfaces))
        outcome = Outcome.INCONCLUSIVE
        if payload < LEAST_PAYLOAD:
            reason = f"{crossing.node} {verb} {amount(payload)}: too little to prove the path"
        elif inside < MOVED_AT_ALL * payload:
            outcome = Outcome.INVALID
            reason = (
                f"{expected} of {crossing.node} {verb} {amount(inside)} of {amount(payload)}:"
                f" the messages took another path ({amount(outside)} crossed other interfaces)"
            )
        elif inside < CROSSED_SHARE * payload:
            reason = (
                f"{expected} of {crossing.node} counted {percent(inside / payload)} of what it"
                f" {verb}: part took another path, or the counters lag"
            )
        elif outside >= MOVED_AT_ALL * payload:
            reason = (
                f"other interfaces of {crossing.node} {verb} {amount(outside)} beside"
                f" {amount(payload)} of messages: the path is unproven"
            )
        else:
            continue
        yield outcome, reason


def find_ceiling(network: Network | None) -> float:
    """Return the payload in bytes/s that a network carries one way, 0 if its rate is unknown."""
    if network is None:
        return 0.0
    ceiling = ceilings((network,))[network.name]
    if isinstance(ceiling, Skipped):
        return 0.0
    return min((ceiling.payload_bytes_per_s, *ceiling.by_mtu.values()))


def judge_rate(
    directions: Sequence[Direction], message_bytes: int, ceiling_bytes_per_s: float,
    fail_below: float = RATE_FAIL,
) -> tuple[Outcome, str]:  # fmt: skip
    """Return the outcome of the usual message times against the ceiling; PASS if it is unknown.

    A round trip is taken off, but no more than the message itself needs: on a link that is too slow
    round trips wait behind messages.
    """
    curves = [(direction, *usual_times(direction.curve)) for direction in directions]
    known = [(direction, time_s, ping_s) for direction, time_s, ping_s in curves if time_s > 0]
    if not ceiling_bytes_per_s or not known:
        return Outcome.PASS, "the network's rate is unknown"
    least_s = message_bytes / ceiling_bytes_per_s
    net = [
        (time_s - min(ping_s, least_s), direction, time_s) for direction, time_s, ping_s in known
    ]
    longest_s, direction, time_s = max(net, key=lambda item: item[0])
    share = least_s / max(longest_s, 1e-9)
    reason = (
        f"{way(direction.origin, direction.target)}: messages usually took {duration(time_s)},"
        f" the network needs {duration(least_s)} ({percent(min(share, 1.0))} of its rate)"
    )
    if share < fail_below:
        return Outcome.FAIL, reason
    return (Outcome.WARN if share < RATE_PASS else Outcome.PASS), reason


def usual_times(curve: Sequence[CurvePoint]) -> tuple[float, float]:
    """Return the usual times of a message and a round trip: those of the slower half of the soak.

    A rate that falls little by little is never a dip.
    """
    points = [point for point in curve if point.median_s > 0]
    middle = len(points) // 2
    halves = [half for half in (points[:middle], points[middle:]) if half]
    usual = [
        (sorted(p.median_s for p in half)[len(half) // 2],
         sorted(p.ping_median_s for p in half)[len(half) // 2])
        for half in halves
    ]  # fmt: skip
    return max(usual, default=(0.0, 0.0))
