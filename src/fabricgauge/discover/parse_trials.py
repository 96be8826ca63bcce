"""What trials.sh prints on one node, as values; pure.

Two families of ping are known: iputils (20161105 to 20240117: ``5 packets transmitted, 4
received``, ``rtt min/avg/max/mdev``) and busybox (1.30 to 1.36: ``4 packets received``,
``round-trip min/avg/max``).
"""

import re
from collections.abc import Iterable

import msgspec

from fabricgauge.discover.partners import Echo, NodeTrial
from fabricgauge.discover.probe import NodeAnswer
from fabricgauge.discover.sections import framed, headed, is_address
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.preflight import Clock, Lookup, Ping, Rise
from fabricgauge.words.figures import percent

FIRST = "== fabricgauge-trials 1"
LAST = "== end"

#: Fewer small echoes to the next node do not show 1 % of loss: n that all come back bound it by
#: 3 / n with 95 % confidence.
ENOUGH_ECHOES = 300

#: What ping says where the network, and not the program, is the reason that nothing was sent.
REFUSED = (
    "unreachable", "assign requested address", "no route", "message too long", "invalid argument",
    "network is down",
)  # fmt: skip

#: ``ping 3 1 heard``: the trial's number, the program's exit status, and a word of ``heard``.
_HEAD = re.compile(r"(ping|name|address) ([0-9]{1,7}) ([0-9]{1,7})(?: (.*))?")
_COUNTED = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received")
_TIMES = re.compile(r"(?:rtt|round-trip) min/avg/max(?:/mdev)? = (\d{1,9}(?:\.\d{1,9})?)/")
_CLOCK = re.compile(r"(\d{1,12})(?:\.(\d{9}))?(?!\d)")

#: Where counters are in /sys: netdev/statistics/NAME, device/ports/N/counters/NAME, and the
#: driver's own in hw_counters.
_NETDEV = re.compile(r"\./([^/:]+)/statistics/([^/:]+):(\d{1,20})")
_PORT = re.compile(r"\./([^/:]+)/ports/(\d{1,5})/(?:hw_)?counters/([^/:]+):(\d{1,20})")
_ETHTOOL = re.compile(r"ethtool/([^/]+)/([^:]{1,80}): *(\d{1,20})")


class Tried(msgspec.Struct):
    """What came of a round of trials; fields as in ``Preflight``.

    ``called`` are by node the names that it knows of addresses which it was asked for.
    """

    pings: list[Ping] = []
    lookups: list[Lookup] = []
    clocks: list[Clock] = []
    rises: list[Rise] = []
    untried: dict[str, str] = {}
    called: dict[str, tuple[str, ...]] = {}


class _Program(msgspec.Struct, frozen=True):
    """A program's exit status and what it printed; ``heard`` is the word behind a ping's."""

    status: str
    heard: str
    said: tuple[str, ...]


def take(found: Tried, answer: NodeAnswer, trial: NodeTrial) -> None:
    """Add what came of one node's trials; ``untried`` says why something could not be tried."""
    node = answer.node
    try:
        programs, others = _cut(node, answer.raw)
    except ProbeError as error:
        for what in ("ping", "mtu", "names", "clocks", "counters"):
            found.untried.setdefault(what, answer.trouble or str(error))
        return
    for number, echo in enumerate(trial.echoes):
        _take_echo(found, echo, programs.get(("ping", number)))
    for number, name in enumerate(trial.names, len(trial.echoes)):
        one = programs.get(("name", number))
        if one is None:
            found.untried.setdefault("names", f"{node}: the name {name} was not found in time")
        elif one.status == "127":
            found.untried.setdefault("names", f"{node}: there is no getent program")
        else:
            ips = (line.split()[0] for line in one.said if line.split())
            known = tuple(dict.fromkeys(ip for ip in ips if is_address(ip)))
            found.lookups.append(Lookup(node, name, known))
    found.called[node] = tuple(
        dict.fromkeys(
            name
            for (kind, _), one in programs.items()
            for ip, *names in filter(None, map(str.split, one.said))
            if kind == "address" and is_address(ip)
            for name in names
        )
    )
    _take_times(found, answer, others)


def _cut(node: str, raw: str) -> tuple[dict[tuple[str, int], _Program], dict[str, tuple[str, ...]]]:
    """What programs said by kind and number, and the lines of the other sections.

    Raises:
        ProbeError: the beginning or the end is missing.
    """
    lines, start, end = framed(raw, FIRST, LAST)
    where = f"{node}: what its trials came to"
    if not start:
        raise ProbeError(f"{where} has no beginning; does the node have a POSIX sh?")
    if not end:
        raise ProbeError(f"{where} was cut off at line {len(lines)}")
    programs: dict[tuple[str, int], _Program] = {}
    others: dict[str, tuple[str, ...]] = {}
    for _, name, body in headed(lines, start, end):
        if head := _HEAD.fullmatch(" ".join(name.split())):
            said = tuple(line[2:] for line in body if line.startswith("| "))
            programs[head[1], int(head[2])] = _Program(head[3], head[4] or "", said)
        else:
            others[name.strip()] = tuple(body)
    return programs, others


def _take_echo(found: Tried, echo: Echo, one: _Program | None) -> None:
    came = _echoed(echo, one) if one else Skipped("it did not end in time")
    if isinstance(came, Skipped):
        what = "mtu" if echo.whole else "ping"
        found.untried.setdefault(what, f"{echo.source}: {came.reason}")
        return
    found.pings.append(came)
    if came.sent < ENOUGH_ECHOES <= echo.count:
        least = f"a loss under {percent(3 / came.sent)} would not show"
        found.untried.setdefault("ping", f"{echo.source} sent {came.sent}: {least}")


def _echoed(echo: Echo, one: _Program) -> Ping | Skipped:
    """The shortest round trip counts. Where no sum was printed, the network may be the reason."""
    counted = next((m for m in map(_COUNTED.search, one.said) if m), None)
    last = next((line.strip() for line in reversed(one.said) if line.strip()), "ping said nothing")
    sent, received, told = echo.count, 0, last
    rtt_s: float | Skipped = Skipped(last)
    if counted:
        sent, received, told = int(counted[1]), int(counted[2]), ""
        if sent == 0 or received > sent:  # ended before the first, or answered by several
            sent, received = max(sent, echo.count), min(received, max(sent, echo.count))
        times = next((m for m in map(_TIMES.search, one.said) if m), None)
        rtt_s = float(times[1]) / 1e3 if times else Skipped("no echo came back")
        told = "" if received else _complaint(one.said)
    elif not any(word in line.lower() for line in one.said for word in REFUSED):
        if one.status == "127":
            return Skipped("there is no ping program")
        why = next(
            (line for line in one.said if line.startswith("ping:")), "it said nothing of use"
        )
        return Skipped(f"its ping does not do that ({why[:120]})")
    return Ping(
        echo.network, echo.source, echo.interface, echo.source_ip, echo.target, echo.target_ip,
        echo.payload_bytes, echo.whole, sent, received, rtt_s, told,
        bool(counted) and not received and one.heard == "heard",
    )  # fmt: skip


def _complaint(said: Iterable[str]) -> str:
    """The last line that is no heading and no sum."""
    heads = ("PING ", "--- ", "pipe ")
    told = [line for line in said if line.strip() and not line.startswith(heads)]
    return next((line.strip() for line in reversed(told) if not _COUNTED.search(line)), "")


def _take_times(found: Tried, answer: NodeAnswer, of: dict[str, tuple[str, ...]]) -> None:
    """Begun after we asked and ended before we had the answer: that bounds the clock's offset."""
    node, began, ended = answer.node, _moment(of.get("began")), _moment(of.get("ended"))
    if began is None or ended is None:
        found.untried.setdefault("clocks", f"{node} did not say its time")
        found.untried.setdefault("counters", f"{node} did not say for how long it looked")
        return
    if answer.began_s:
        found.clocks.append(Clock(node, ended[0] - answer.ended_s, began[1] - answer.began_s))
    else:
        found.untried.setdefault("clocks", f"{node} did not say its time")
    seconds = max(0.001, ended[1] - began[0])
    before = _counters(of.get("before", ()))
    for (interface, counter), now in _counters(of.get("after", ())).items():
        by = now - before.get((interface, counter), 0)
        if by > 0:
            found.rises.append(Rise(node, interface, counter, by, seconds))


def _moment(lines: tuple[str, ...] | None) -> tuple[float, float] | None:
    """Between which seconds since 1970 the clock was read; a date may know no nanoseconds."""
    match = _CLOCK.match(lines[0].strip()) if lines else None
    if match is None:
        return None
    whole = float(match[1])
    exact = whole + int(match[2] or "0") / 1e9
    return exact, exact if match[2] else whole + 1.0


def _counters(lines: Iterable[str]) -> dict[tuple[str, str], int]:
    """By interface (or port, ``mlx5_0:1``) and counter; what is not printed is 0."""
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        if match := _NETDEV.fullmatch(line) or _ETHTOOL.fullmatch(line):
            found[match[1], match[2].strip()] = int(match[3])
        elif match := _PORT.fullmatch(line):
            found[f"{match[1]}:{match[2]}", match[3]] = int(match[4])
    return found
