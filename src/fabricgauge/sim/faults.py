"""What is to be wrong with a simulated cluster, as people write it and as values.

rate NODE FACTOR                     both ways of the node's link
rate-out NODE FACTOR                 from the node into the network; -in: back
latency NODE +TIME                   e.g. +400ns, each way; -out, -in: one way
uplink GROUP[/NUMBER] FACTOR         the links that lead out of a group, or one; -out, -in
pair SOURCE DESTINATION FACTOR       messages of one node to another, and no others
noise NODE DEVIATION                 messages of the node take longer at random
flap NODE FACTOR [PERIOD [SHARE]]    now and then the node's link has less
"""

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from fabricgauge.model.errors import UsageError

Way = Literal["out", "in"]
BOTH: tuple[Way, ...] = ("out", "in")


class SlowLink(msgspec.Struct, frozen=True):
    """The node's links have ``factor`` of their rate in these ways."""

    node: str
    factor: float
    ways: tuple[Way, ...] = BOTH


class AddedLatency(msgspec.Struct, frozen=True):
    """Each message of the node takes so much longer, one way."""

    node: str
    added_s: float
    ways: tuple[Way, ...] = BOTH


class SlowUplink(msgspec.Struct, frozen=True):
    """The links that lead out of a group have ``factor`` of their rate.

    ``number`` is that of one of them from 0, None for all.
    """

    group: str
    factor: float
    number: int | None = None
    ways: tuple[Way, ...] = BOTH


class SlowPair(msgspec.Struct, frozen=True):
    """What ``source`` sends to ``destination`` has ``factor`` of the rate."""

    source: str
    destination: str
    factor: float


class NoisyNode(msgspec.Struct, frozen=True):
    """The node's messages take 1 + ``deviation`` × |z| as long, z standard normal."""

    node: str
    deviation: float


class FlappingLink(msgspec.Struct, frozen=True):
    """The node's links have ``factor`` of their rate for ``share`` of each period."""

    node: str
    factor: float
    period_s: float = 1e-3
    share: float = 0.5


Fault = SlowLink | AddedLatency | SlowUplink | SlowPair | NoisyNode | FlappingLink


class _Wrong(Exception):
    """What was expected instead."""


#: The largest deviation: messages that take several times as long.
_MOST_DEVIATION = 5.0

_TIME = re.compile(r"\+?([0-9.]+(?:e-?[0-9]+)?)(ns|us|µs|ms|s)")
_PER_SECOND = {"ns": 1e9, "us": 1e6, "µs": 1e6, "ms": 1e3, "s": 1.0}
_UPLINK = re.compile(r"([^/]+)(?:/([0-9]{1,4}))?")


def parse_fault(text: str) -> Fault:
    """The fault that ``text`` describes.

    Raises:
        UsageError: it is not understood; the message says what was expected.
    """
    words = text.split()
    kind, _, way = words[0].rpartition("-") if words and "-" in words[0] else (text[:0], "", "")
    name = kind if way in BOTH else (words[0] if words else "")
    row = _FORMS.get(name)
    if row is None or (way in BOTH and name not in _WITH_WAYS):
        raise UsageError(f"--sim-fault {text!r:.200}: expected {_all_forms()}")
    form, read, counts = row
    ways = tuple(one for one in BOTH if one == way) or BOTH
    try:
        if len(words) - 1 not in counts:
            raise _Wrong(f"{len(words) - 1} words after {words[0]}")
        return read(words[1:], ways)
    except _Wrong as wrong:
        raise UsageError(
            f"--sim-fault {text!r:.200}: expected {form!r}, but there is {wrong}"
        ) from wrong


def nodes_of(fault: Fault) -> tuple[str, ...]:
    """The nodes that a fault names; none of a group's."""
    if isinstance(fault, SlowPair):
        return (fault.source, fault.destination)
    return () if isinstance(fault, SlowUplink) else (fault.node,)


def _slow_link(words: list[str], ways: tuple[Way, ...]) -> Fault:
    return SlowLink(words[0], _factor(words[1]), ways)


def _added_latency(words: list[str], ways: tuple[Way, ...]) -> Fault:
    return AddedLatency(words[0], _time(words[1]), ways)


def _slow_uplink(words: list[str], ways: tuple[Way, ...]) -> Fault:
    match = _UPLINK.fullmatch(words[0])
    if match is None:
        raise _Wrong(f"{words[0]!r} for a group")
    number = int(match[2]) if match[2] else None
    return SlowUplink(match[1], _factor(words[1]), number, ways)


def _slow_pair(words: list[str], ways: tuple[Way, ...]) -> Fault:
    if words[0] == words[1]:
        raise _Wrong(f"{words[0]} twice")
    return SlowPair(words[0], words[1], _factor(words[2]))


def _noisy_node(words: list[str], ways: tuple[Way, ...]) -> Fault:
    return NoisyNode(words[0], _between(words[1], "a deviation", 0, _MOST_DEVIATION))


def _flapping_link(words: list[str], ways: tuple[Way, ...]) -> Fault:
    plain = FlappingLink(words[0], _factor(words[1]))
    period_s = _time(words[2]) if len(words) > 2 else plain.period_s
    share = _between(words[3], "a share", 0, 1) if len(words) > 3 else plain.share
    return FlappingLink(plain.node, plain.factor, period_s, share)


def _factor(word: str) -> float:
    return _between(word, "a factor", 0, 1)


def _between(word: str, what: str, low: float, high: float) -> float:
    """A number between ``low`` and ``high``, neither of them included."""
    try:
        value = float(word)
    except ValueError:
        value = low
    if not low < value < high:
        raise _Wrong(f"{word!r} for {what} between {low:g} and {high:g}")
    return value


def _time(word: str) -> float:
    """Seconds, more than 0 and at most 1."""
    match = _TIME.fullmatch(word)
    try:
        seconds = float(match[1]) / _PER_SECOND[match[2]] if match else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1:
        raise _Wrong(f"{word!r} for a time such as +400ns or 2ms, at most 1s")
    return seconds


_Read = Callable[[list[str], tuple[Way, ...]], Fault]

_FORMS: dict[str, tuple[str, _Read, tuple[int, ...]]] = {
    "rate": ("rate[-out|-in] NODE FACTOR", _slow_link, (2,)),
    "latency": ("latency[-out|-in] NODE +TIME", _added_latency, (2,)),
    "uplink": ("uplink[-out|-in] GROUP[/NUMBER] FACTOR", _slow_uplink, (2,)),
    "pair": ("pair SOURCE DESTINATION FACTOR", _slow_pair, (3,)),
    "noise": ("noise NODE DEVIATION", _noisy_node, (2,)),
    "flap": ("flap NODE FACTOR [PERIOD [SHARE]]", _flapping_link, (2, 3, 4)),
}
_WITH_WAYS = frozenset({"rate", "latency", "uplink"})


def _all_forms() -> str:
    return " or ".join(repr(form) for form, _, _ in _FORMS.values())
