"""What trials.sh prints, as values; pure.

Two families of ping are known: iputils (20161105 to 20240117: ``5 packets transmitted, 4
received``, ``rtt min/avg/max/mdev``) and busybox (1.30 to 1.36: ``4 packets received``,
``round-trip min/avg/max``).
"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.discover.sections import framed, headed, is_address
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError

FIRST = "== fabricgauge-trials 1"
LAST = "== end"

#: What ping says where the network, and not the program, is the reason that nothing was sent.
REFUSED = (
    "unreachable", "assign requested address", "no route", "message too long", "invalid argument",
    "network is down",
)  # fmt: skip

_COUNTED = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received")
_TIMES = re.compile(r"(?:rtt|round-trip) min/avg/max(?:/mdev)? = (\d{1,9}(?:\.\d{1,9})?)/")
_CLOCK = re.compile(r"(\d{1,12})(?:\.(\d{9}))?(?!\d)")

#: Where counters are in /sys: netdev/statistics/NAME, device/ports/N/counters/NAME.
_NETDEV = re.compile(r"\./([^/:]+)/statistics/([^/:]+):(\d{1,20})")
_PORT = re.compile(r"\./([^/:]+)/ports/(\d{1,5})/counters/([^/:]+):(\d{1,20})")
_ETHTOOL = re.compile(r"ethtool/([^/]+)/([^:]{1,80}): *(\d{1,20})")


class PingResult(msgspec.Struct, frozen=True):
    """What one ping came to; ``rtt_s`` is the shortest round trip in seconds.

    ``told`` is the last line that ping printed where nothing came back; ``heard`` is whether
    the target's link answered ARP or neighbour discovery then.
    """

    sent: int
    received: int
    rtt_s: float | Skipped
    told: str
    heard: bool = False


class Moment(msgspec.Struct, frozen=True):
    """A reading of a node's clock: the time was ``least_s`` to ``most_s``, since 1970."""

    least_s: float
    most_s: float


class TrialAnswer(msgspec.Struct, frozen=True):
    """One node's trials, by the number of each; what it could not try is a ``Skipped``.

    ``names`` are the addresses that a name means there, ``called`` the names of an address.
    """

    echoes: dict[int, PingResult | Skipped]
    names: dict[int, tuple[str, ...] | Skipped]
    called: dict[int, tuple[str, ...]]
    began: Moment | Skipped
    ended: Moment | Skipped
    before: dict[tuple[str, str], int]
    after: dict[tuple[str, str], int]


class _Section(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def said(self) -> tuple[str, ...]:
        """What a program printed, without the mark before each line."""
        return tuple(line[2:] for line in self.lines if line.startswith("| "))


def parse_trials(node: str, raw: str, counts: dict[int, int] | None = None) -> TrialAnswer:
    """One node's answer; ``counts`` are how many echoes each ping was to send.

    Raises:
        ProbeError: its beginning or its end is missing.
    """
    found = tuple(_sections(node, raw))
    named = {section.words[0]: section for section in found if len(section.words) == 1}
    pings, names, called = (_of(found, kind) for kind in ("ping", "name", "address"))
    wanted = counts or {}
    return TrialAnswer(
        {number: _echoed(s, wanted.get(number, 1)) for number, s in pings.items()},
        {number: _addresses(s) for number, s in names.items()},
        {number: _names(s) for number, s in called.items()},
        _moment(node, named.get("began")),
        _moment(node, named.get("ended")),
        _counters(named.get("before")),
        _counters(named.get("after")),
    )


def _sections(node: str, raw: str) -> Iterator[_Section]:
    lines, start, end = framed(raw, FIRST, LAST)
    where = f"{node}: what its trials came to"
    if not start:
        raise ProbeError(f"{where} has no beginning; does the node have a POSIX sh?")
    if not end:
        raise ProbeError(f"{where} was cut off at line {len(lines)}")
    for _, name, body in headed(lines, start, end):
        if words := tuple(name.split()):
            yield _Section(words, tuple(body))


def _of(found: tuple[_Section, ...], kind: str) -> dict[int, _Section]:
    """``ping 3 1 heard``: its number, the program's exit status, and a word of ``heard``."""
    head = re.compile(rf"{kind} [0-9]{{1,7}} [0-9]{{1,7}}(?: .*)?", re.DOTALL)
    return {int(s.words[1]): s for s in found if head.fullmatch(" ".join(s.words))}


def _echoed(section: _Section, count: int) -> PingResult | Skipped:
    said = section.said
    counted = next((m for m in map(_COUNTED.search, said) if m), None)
    last = next((line.strip() for line in reversed(said) if line.strip()), "ping said nothing")
    if counted is None:
        refused = any(word in line.lower() for line in said for word in REFUSED)
        return (
            PingResult(count, 0, Skipped(last), last) if refused else Skipped(_why(section, said))
        )
    sent, received = int(counted[1]), int(counted[2])
    if sent == 0 or received > sent:  # ended before the first, or answered by several
        sent, received = max(sent, count), min(received, max(sent, count))
    times = next((m for m in map(_TIMES.search, said) if m), None)
    rtt_s = float(times[1]) / 1e3 if times else Skipped("no echo came back")
    if received:
        return PingResult(sent, received, rtt_s, "")
    return PingResult(sent, 0, rtt_s, _complaint(said), section.words[3:] == ("heard",))


def _why(section: _Section, said: tuple[str, ...]) -> str:
    if section.words[2] == "127":
        return "there is no ping program"
    complaint = next((line for line in said if line.startswith("ping:")), "it said nothing of use")
    return f"its ping does not do that ({complaint[:120]})"


def _complaint(said: tuple[str, ...]) -> str:
    """The last line that is no heading and no sum."""
    heads = ("PING ", "--- ", "pipe ")
    told = (line for line in reversed(said) if line.strip() and not line.startswith(heads))
    return next((line.strip() for line in told if not _COUNTED.search(line)), "")


def _addresses(section: _Section) -> tuple[str, ...] | Skipped:
    if section.words[2] == "127":
        return Skipped("there is no getent program")
    words = (line.split()[0] for line in section.said if line.split())
    return tuple(dict.fromkeys(word for word in words if is_address(word)))


def _names(section: _Section) -> tuple[str, ...]:
    """``10.77.0.11      c1 c1-net1``: the name and its aliases."""
    lines = (line.split() for line in section.said)
    known = (words[1:] for words in lines if words and is_address(words[0]))
    return tuple(dict.fromkeys(name for names in known for name in names))


def _moment(node: str, section: _Section | None) -> Moment | Skipped:
    match = _CLOCK.match(section.lines[0].strip()) if section and section.lines else None
    if match is None:
        return Skipped(f"{node} did not say its time")
    whole = float(match[1])
    if match[2] is None:
        return Moment(whole, whole + 1.0)
    exact = whole + int(match[2]) / 1e9
    return Moment(exact, exact)


def _counters(section: _Section | None) -> dict[tuple[str, str], int]:
    """By interface (or port, ``mlx5_0:1``) and counter; what is not printed is 0."""
    found: dict[tuple[str, str], int] = {}
    for line in section.lines if section else ():
        if match := _NETDEV.fullmatch(line) or _ETHTOOL.fullmatch(line):
            found[match[1], match[2].strip()] = int(match[3])
        elif match := _PORT.fullmatch(line):
            found[f"{match[1]}:{match[2]}", match[3]] = int(match[4])
    return found
