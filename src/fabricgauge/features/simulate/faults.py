"""Faults of a simulated cluster, as people write them and as values.

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
from functools import partial
from typing import NamedTuple

from fabricgauge.model.errors import UsageError
from fabricgauge.model.simulation import BOTH, Fault, Way


class _UnexpectedWord(Exception):
    """The message is the word that was not expected."""


#: The largest deviation: messages that take several times as long.
_MOST_DEVIATION = 5.0

_TIME = re.compile(r"\+?([0-9.]+(?:e-?[0-9]+)?)(ns|us|µs|ms|s)")
_PER_SECOND = {"ns": 1e9, "us": 1e6, "µs": 1e6, "ms": 1e3, "s": 1.0}
_UPLINK = re.compile(r"([^/]+)(?:/([0-9]{1,4}))?")


def _between(word: str, quantity: str, high: float) -> float:
    """Return a number above 0 and below ``high``."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < high:
        raise _UnexpectedWord(f"{word!r} for {quantity} between 0 and {high:g}")
    return value


_factor = partial(_between, quantity="a factor", high=1)
_share = partial(_between, quantity="a share", high=1)
_deviation = partial(_between, quantity="a deviation", high=_MOST_DEVIATION)


def _time(word: str) -> float:
    """Return seconds, more than 0 and at most 1."""
    match = _TIME.fullmatch(word)
    try:
        seconds = float(match[1]) / _PER_SECOND[match[2]] if match else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1:
        raise _UnexpectedWord(f"{word!r} for a time such as +400ns or 2ms, at most 1s")
    return seconds


class FaultForm(NamedTuple):
    """The written form of a kind: ``names`` words, then a word for each of ``figures``.

    The last figures may be omitted: ``usual`` are their values then.
    """

    text: str
    names: int
    figures: tuple[Callable[[str], float], ...]
    usual: tuple[float, ...] = ()
    has_ways: bool = False


_FORMS = {
    "rate": FaultForm("rate[-out|-in] NODE FACTOR", 1, (_factor,), has_ways=True),
    "latency": FaultForm("latency[-out|-in] NODE +TIME", 1, (_time,), has_ways=True),
    "uplink": FaultForm("uplink[-out|-in] GROUP[/NUMBER] FACTOR", 1, (_factor,), has_ways=True),
    "pair": FaultForm("pair SOURCE DESTINATION FACTOR", 2, (_factor,)),
    "noise": FaultForm("noise NODE DEVIATION", 1, (_deviation,)),
    "flap": FaultForm(
        "flap NODE FACTOR [PERIOD [SHARE]]", 1, (_factor, _time, _share), (1e-3, 0.5)
    ),
}


def parse_fault(text: str) -> Fault:
    """Return the fault that ``text`` describes.

    Raises:
        UsageError: the text has another form; the message has the expected one.
    """
    head, *words = text.split() or [""]
    stem, _, end = head.rpartition("-")
    directions = tuple(way for way in BOTH if way == end)
    kind = stem if directions else head
    form = _FORMS.get(kind)
    if form is None or (directions and not form.has_ways):
        listed = " or ".join(repr(form.text) for form in _FORMS.values())
        raise UsageError(f"--sim-fault {text!r:.200}: expected {listed}")
    try:
        return _fault(text, kind, form, words, (directions or BOTH) if form.has_ways else ())
    except _UnexpectedWord as wrong:
        raise UsageError(
            f"--sim-fault {text!r:.200}: expected {form.text!r}, but there is {wrong}"
        ) from wrong


def _fault(
    text: str, kind: str, form: FaultForm, words: list[str], directions: tuple[Way, ...]
) -> Fault:
    names, printed = words[: form.names], words[form.names :]
    least = len(form.figures) - len(form.usual)
    if not least <= len(printed) <= len(form.figures):
        raise _UnexpectedWord(f"{len(words)} words after {text.split()[0]}")
    if len(set(names)) < len(names):
        raise _UnexpectedWord(f"{names[0]} twice")
    number = None
    if kind == "uplink":
        match = _UPLINK.fullmatch(names[0])
        if match is None:
            raise _UnexpectedWord(f"{names[0]!r} for a group")
        names, number = [match[1]], int(match[2]) if match[2] else None
    read = tuple(figure(word) for figure, word in zip(form.figures, printed, strict=False))
    return Fault(
        text, kind, tuple(names), read + form.usual[len(read) - least :], directions, number
    )
