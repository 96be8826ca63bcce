"""Find the TCP limit that holds a stream back: a sender's buffer or a receiver's window.

The kernel counts for how long each was the limit (TCP_INFO). It also counts a full
window if a slow link queues: then the round trip grows with the queue; with a small window it does
not.
"""

from collections.abc import Iterator, Sequence

from fabricgauge.judge.causes import Cause
from fabricgauge.judge.evidence.connections import held_by_receiver, held_by_sender
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.streams import WIRE_BUSY, Stream
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.words import figures, sentences

#: Settings with the least, default and largest bytes of a connection's buffer. Linux,
#: Documentation/networking/ip-sysctl.rst: without SO_SNDBUF and SO_RCVBUF a buffer grows up to the
#: largest.
WMEM, RMEM = "net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem"
SCALING = "net.ipv4.tcp_window_scaling"

#: A buffer is small if it holds less than this many seconds of the line rate, less than this part
#: of another node's buffer, or less than this many bytes. The kernel's own defaults are never small
#: at 10 Gb/s and below.
SMALL_S, SMALL_PART, SMALL_BYTES = 100e-6, 0.25, 65536

#: A round trip behind a full queue is longer than a small message's by this factor.
QUEUE = 1.5


def tcp_limits(stream: Stream) -> Iterator[Cause]:
    """Yield the limits that hold a stream back; small settings come first."""
    cases = [case for case in stream.measurements if case.sockets_of(case.sender)]
    sender, receiver = stream.series.way
    rate = stream.rate_bit_s
    if not cases or isinstance(rate, Skipped):
        return
    sends = median_or_zero(map(held_by_sender, cases))
    receives = median_or_zero(map(held_by_receiver, cases))
    held_from, always_from = stream.limit("fraction.tcp_held"), stream.limit("fraction.tcp_always")
    for node, setting, share in ((sender, WMEM, sends), (receiver, RMEM, receives)):
        held = share >= held_from or stream.busy < WIRE_BUSY
        if held and (largest_bytes := _find_small_buffer(stream, node, setting, rate)):
            yield _setting_limit(stream, node, setting, largest_bytes, share)
    if receives >= always_from and not _queues(stream, cases):
        yield _window_limit(stream, receiver, receives)
    if sends >= always_from:
        yield Cause(
            f"the send buffer of {sender} holds the stream back: a program (SO_SNDBUF) limits it",
            f"on {sender}: check the connection's buffer (`ss -tmi`) and the setting (`sysctl"
            f" {WMEM}`)",
            f"the sender's buffer was the limit for {figures.percent(sends)} of the time with data"
            " under way",
            in_host=True,
            node=sender,
        )


def _setting_limit(stream: Stream, node: str, setting: str, largest: int, share: float) -> Cause:
    sends = setting == WMEM
    values = _settings(stream, setting)
    best = max(values.values(), key=lambda value: value[-1])
    if best[-1] <= largest:
        best = (*best[:2], DEFAULTS[setting])
    new_value = " ".join(map(str, best))
    busy_text = f"; data were under way for {figures.percent(stream.busy)} of the time"
    evidence = "; ".join(
        f"{setting} of {name}: {' '.join(map(str, value))}" for name, value in values.items()
    )
    return Cause(
        f"{setting} of {node} limits the {'send' if sends else 'receive'} buffer of a connection to"
        f" {figures.size(largest)}: too small to fill the link",
        f"on {node}: {sentences.command(('sysctl', '-w', f'{setting}={new_value}'))}, and set it in"
        " /etc/sysctl.d too; then measure again",
        f"{evidence}; the {_END[sends]} was the limit for {figures.percent(share)} of the time with"
        f" data under way{busy_text}",
        in_host=True,
        node=node,
    )  # fmt: skip


#: The largest buffer of a kernel with enough memory: ip-sysctl.rst, tcp_wmem and tcp_rmem.
DEFAULTS = {WMEM: 4 << 20, RMEM: 6 << 20}
_END = {True: "sender's buffer", False: "receiver's window"}


def _window_limit(stream: Stream, node: str, share: float) -> Cause:
    allowed = _settings(stream, RMEM).get(node)
    known_node = stream.subject.run.fabric.node(node)
    facts = {} if isinstance(known_node, Skipped) else known_node.facts
    setting_text = f"{RMEM} allows {figures.size(allowed[-1])}" if allowed else f"{RMEM} is unknown"
    reason = "a program (SO_RCVBUF), a route (window) or a slow reader limits it"
    if facts.get(SCALING) == "0":
        reason = f"{SCALING} is 0, so a window is at most 64 KiB"
    return Cause(
        f"the receive window of {node} holds the sender back: {reason}",
        f"on {node}: check the connection's buffer (`ss -tmi`), a window in the route (`ip route"
        f" show`) and the settings (`sysctl {SCALING} {RMEM}`)",
        f"the receiver's window was the limit for {figures.percent(share)} of the time with data"
        f" under way, without a queue in the network; {setting_text}",
        in_host=True,
        node=node,
    )


def _find_small_buffer(stream: Stream, node: str, setting: str, rate_bit_s: float) -> int:
    """Return the largest buffer in bytes of a node if it is small, else 0."""
    values = _settings(stream, setting)
    if node not in values:
        return 0
    largest = values[node][-1]
    other_largest = [value[-1] for name, value in values.items() if name != node]
    least_bytes = max(SMALL_BYTES, SMALL_S * rate_bit_s / 8)
    differs = bool(other_largest) and largest < SMALL_PART * max(other_largest)
    return largest if largest < least_bytes or differs else 0


def _settings(stream: Stream, setting: str) -> dict[str, tuple[int, ...]]:
    """Return the three sizes of a setting in bytes, by node."""
    sizes_by_node = {}
    for node in stream.subject.run.fabric.nodes:
        words = node.facts.get(setting, "").split()
        if len(words) == 3 and all(word.isdecimal() for word in words):
            sizes_by_node[node.name] = tuple(map(int, words))
    return sizes_by_node


def _queues(stream: Stream, cases: Sequence[Measurement]) -> bool:
    """Check whether the round trip shows a queue before a slower link; if unknown, it does."""
    trips = [
        socket.rtt_s
        for case in cases
        for socket in case.sockets_of(case.sender)
        if socket.sent_bytes > 0
    ]
    small = [
        2.0 * case.times.median_s
        for _, case in stream.subject.cases("latency")
        if case.message_bytes <= SMALL_MESSAGE and case.times
    ]
    if not trips or not small:
        return True
    trip = median_or_zero(trips)
    window_bytes = stream.best.bandwidth.value * trip
    return trip > QUEUE * min(small) + window_bytes / stream.ceiling.payload_bytes_per_s


#: Messages of this size at most have a round trip without a queue.
SMALL_MESSAGE = 64
