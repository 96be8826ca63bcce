"""Do the nodes' clocks agree with the head's?"""

from collections.abc import Iterator
from statistics import median

from fabricgauge.doctor.wording import duration
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Clock, Preflight

ID = "clocks"
TITLE = "The nodes' clocks agree with the head's"
WHY = (
    "Batch systems refuse credentials of another time (munge after 5 minutes), files get times from"
    " the future, and logs cannot be laid side by side."
)

#: NTP keeps nodes within milliseconds; a second off means that it does not run.
WRONG_S = 1.0

#: munge(7): a credential is good for 300 s.
REFUSED_S = 300.0

REMEDY = (
    "let chrony or ntpd run on every node and on the head, with one server for all:"
    " systemctl enable --now chronyd; chronyc makestep"
)


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if preflight.fabric.virtual:
        return Skipped("the nodes are one machine's and have its clock")
    if not preflight.clocks:
        return Skipped(preflight.untried.get("clocks", "no clock was read"))
    shift_s = _heads(preflight.clocks)
    found = [] if shift_s == 0 else [_head(shift_s, len(preflight.clocks))]
    for clock in preflight.clocks:
        found += _look(clock, shift_s)
    return tuple(found)


def _heads(clocks: tuple[Clock, ...]) -> float:
    """How far most nodes agree that they are off the head's, which then is wrong; else 0."""
    wrong = [clock for clock in clocks if abs(least_offset_s(clock)) >= WRONG_S]
    shift_s = median((clock.low_s + clock.high_s) / 2 for clock in wrong) if wrong else 0.0
    agreeing = [clock for clock in wrong if abs(least_offset_s(_shifted(clock, shift_s))) < WRONG_S]
    return shift_s if len(agreeing) > 1 and 2 * len(agreeing) > len(clocks) else 0.0


def _shifted(clock: Clock, by_s: float) -> Clock:
    return Clock(clock.node, clock.low_s - by_s, clock.high_s - by_s)


def least_offset_s(clock: Clock) -> float:
    """How far off the clock is at least, in seconds; positive when it is ahead."""
    if clock.low_s > 0:
        return clock.low_s
    return min(clock.high_s, 0.0)


def _severity(off_s: float) -> Severity:
    return Severity.FAIL if abs(off_s) > REFUSED_S else Severity.WARN


def _head(shift_s: float, count: int) -> Finding:
    way = "behind" if shift_s > 0 else "ahead of"
    return Finding(
        ID, _severity(shift_s), "the head",
        f"its clock is {duration(abs(shift_s))} {way} the nodes'",
        (f"most of {count:,} nodes agree with each other, and not with the head",), WHY, REMEDY,
    )  # fmt: skip


def _look(clock: Clock, shift_s: float) -> Iterator[Finding]:
    """Against the head's clock, or where that is wrong against most nodes'."""
    whose, against = ("the head's", "the head") if shift_s == 0 else ("most nodes'", "most nodes")
    clock = _shifted(clock, shift_s)
    off_s = least_offset_s(clock)
    if abs(off_s) < WRONG_S:
        return
    way = "ahead of" if off_s > 0 else "behind"
    told = f"{clock.node}: between {clock.low_s:+.3f} s and {clock.high_s:+.3f} s against {against}"
    what = f"its clock is at least {duration(abs(off_s))} {way} {whose}"
    yield Finding(
        ID, _severity(off_s), clock.node, what, (told,), WHY, REMEDY, (clock.node,)
    )  # fmt: skip
