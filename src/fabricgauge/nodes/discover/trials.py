"""Let all nodes try their connections to each other at once: plan, run and parse the trials.

Each node of any number tries a few partners. Two families of ping are known: iputils (20161105 to
20240117: ``5 packets transmitted, 4 received``, ``rtt min/avg/max/mdev``) and busybox (1.30 to
1.36: ``4 packets received``, ``round-trip min/avg/max``).
"""

import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import Fabric, Member, Network
from fabricgauge.model.groups import group_by
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.preflight import (
    TRIALS,
    Clock,
    EchoPath,
    Lookup,
    Ping,
    Preflight,
    Rise,
    Trial,
)
from fabricgauge.model.words.figures import percent
from fabricgauge.nodes.discover.probe import NodeAnswer, ask_nodes
from fabricgauge.nodes.discover.sections import find_frame, is_address, list_sections

#: Names and addresses that a node looks up: with more nodes, only its own and its partners'.
MAX_NAMES = 32

#: The longest name of the name service (RFC 1035, 2.3.4).
LONGEST_NAME = 255

#: Octets of an echo: a small one, and one that takes many packets at any usual MTU.
SMALL_BYTES, LARGE_BYTES = 56, 65000

#: Headers around an echo's payload: IP 20 or 40 octets (RFC 791, 8200), ICMP 8 (RFC 792, 4443).
HEADERS_BYTES = {4: 28, 6: 48}

#: Number of echoes of each kind.
SMALL_COUNT, WHOLE_COUNT, LARGE_COUNT = 5, 3, 4

#: Small echoes to the next node, and to every partner if some of the first were lost: if a pair
#: loses 1 % in each direction, 500 echoes all come back in one of 20,000 trials.
MANY_COUNT, MANY_INTERVAL_S = 500, 0.01

SMALL: frozenset[Trial] = frozenset({"echoes"})

#: Between two other echoes of one ping; users who are not root may not send faster with iputils
#: before 2022 (ping(8)), which then send many echoes at this pace for the same time.
INTERVAL_S = 0.2

#: Neighbours begin their large echoes one after another, so that they do not meet on a wire:
#: one of 65,000 octets takes 1 ms at 1 Gb/s, and they come every 200 ms.
PHASES, PHASE_S = 8, 0.025

#: End of the large echoes. They must not meet small ones that are counted: Linux answers
#: all echoes of a processor through one socket, and drops what exceeds its buffer (Linux 6.12,
#: net/ipv4/icmp.c, icmp_init: two packets of 64 KiB).
LARGE_S = 1.5


#: More large echoes follow if the quickest took longer than SLOW_FACTOR times the wire's time there
#: and back plus SLOW_S: other work on a node may delay all of a few echoes.
SLOW_FACTOR, SLOW_S, SLOW_COUNT = 2.0, 0.5e-3, 12


class Echo(EchoPath, frozen=True):
    """Echoes that one node is to send to another in a network."""

    count: int
    after_s: float = 0.0
    interval_s: float = INTERVAL_S


class NodeTrial(msgspec.Struct, frozen=True):
    """All trials of one node."""

    echoes: tuple[Echo, ...]
    names: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    def list_words(self) -> list[str]:
        """Return the positional parameters of trials.sh, without its first two."""
        pings = (
            ("ping", str(echo.count), f"{echo.interval_s:g}", str(echo.payload_bytes),
             str(int(echo.whole)), f"{echo.after_s:g}", echo.source_ip, echo.target_ip)
            for echo in self.echoes
        )  # fmt: skip
        names = (("name", name) for name in self.names)
        addresses = (("address", ip) for ip in self.addresses)
        return [word for words in (*pings, *names, *addresses) for word in words]


def plan_trials(
    fabric: Fabric, networks: tuple[Network, ...], selected: Collection[Trial] = TRIALS
) -> dict[str, NodeTrial]:
    """Return by node its ``selected`` trials over ``networks``."""
    echoes: dict[str, list[Echo]] = {node.name: [] for node in fabric.nodes}
    for network, rail in _list_rails(networks):
        for echo in _plan_small_echoes(network, rail, selected):
            echoes[echo.source].append(echo)
    trials = {node: NodeTrial(tuple(node_echoes), ()) for node, node_echoes in echoes.items()}
    names = tuple(node.name for node in fabric.nodes if is_name(node.name))
    ips = tuple(dict.fromkeys(member.ip for network in networks for member in network.members))
    for node, node_echoes in echoes.items() if "names" in selected else ():
        near_names = filter(is_name, (node, *(echo.target for echo in node_echoes)))
        near_ips = (ip for echo in node_echoes for ip in (echo.source_ip, echo.target_ip))
        trials[node] = NodeTrial(
            tuple(node_echoes), _limit_names(names, near_names), _limit_names(ips, near_ips)
        )
    return trials


def plan_second_trials(
    networks: tuple[Network, ...],
    lossy: Iterable[tuple[str, str, str]],
    names: Mapping[str, tuple[str, ...]],
    selected: Collection[Trial] = TRIALS,
) -> dict[str, NodeTrial]:
    """Return by node its second trials: large echoes, and small ones after losses.

    ``lossy`` are the network, source and target address of pings that lost echoes. Both ends
    try all their partners again, which shows the culprit. ``names`` are further names for each
    node to look up.
    """
    lossy_ips = {(network, ip) for network, source, target in lossy for ip in (source, target)}
    echoes: dict[str, list[Echo]] = {}
    for network, rail in _list_rails(networks):
        for echo in _plan_large_echoes(network, rail) if "large" in selected else ():
            echoes.setdefault(echo.source, []).append(echo)
        for echo in _plan_small_echoes(network, rail, SMALL):
            if lossy_ips & {(echo.network, echo.source_ip), (echo.network, echo.target_ip)}:
                echoes.setdefault(echo.source, []).append(_multiply(echo, LARGE_S))
    return {
        node: NodeTrial(tuple(echoes.get(node, ())), names.get(node, ()))
        for node in dict.fromkeys((*echoes, *names))
        if node in echoes or names[node]
    }


def plan_slow_trials(
    networks: tuple[Network, ...], round_trips_s: Mapping[tuple[str, str, str], float]
) -> dict[str, NodeTrial]:
    """Return by node the large echoes to repeat, because the first were slow.

    ``round_trips_s`` are those of the first by network, source and target address.
    """
    echoes: dict[str, list[Echo]] = {}
    for network, rail in _list_rails(networks):
        if isinstance(network.rate_bit_s, Skipped):
            continue
        slow_s = SLOW_FACTOR * 2 * LARGE_BYTES * 8 / network.rate_bit_s + SLOW_S
        for echo in _plan_large_echoes(network, rail):
            path = echo.network, echo.source_ip, echo.target_ip
            if round_trips_s.get(path, 0.0) > slow_s:
                repeated = msgspec.structs.replace(echo, count=SLOW_COUNT)
                echoes.setdefault(echo.source, []).append(repeated)
    return {node: NodeTrial(tuple(node_echoes), ()) for node, node_echoes in echoes.items()}


def _list_rails(networks: Iterable[Network]) -> Iterator[tuple[Network, list[Member]]]:
    """Yield the first interface of each node in a network, then the second ones, …"""
    for network in networks:
        by_node = group_by(network.members, lambda member: member.node)
        for rail in range(max(map(len, by_node.values()), default=0)):
            members = [
                node_members[rail] for node_members in by_node.values() if len(node_members) > rail
            ]
            if len(members) > 1:
                yield network, members


def _plan_small_echoes(
    network: Network, ring: list[Member], selected: Collection[Trial]
) -> Iterator[Echo]:
    """Yield echoes to the next node, the one before, and the one across.

    They are small ones, and ones that fill a packet of the smaller MTU.
    """
    size = len(ring)
    steps = [step for step in dict.fromkeys((1 % size, (size - 1) % size, size // 2)) if step]
    for index, member in enumerate(ring):
        headers_bytes = HEADERS_BYTES[ipaddress.ip_address(member.ip).version]
        for step_index, step in enumerate(steps):
            target = ring[(index + step) % size]
            if target.ip == member.ip:
                continue
            if "echoes" in selected:
                small = _make_echo(network, member, target, SMALL_BYTES, False, SMALL_COUNT)
                yield _multiply(small) if "losses" in selected and not step_index else small
            if "wholes" in selected:
                full_bytes = max(0, min(member.mtu_bytes, target.mtu_bytes) - headers_bytes)
                yield _make_echo(network, member, target, full_bytes, True, WHOLE_COUNT)


def _multiply(echo: Echo, after_s: float = 0.0) -> Echo:
    return msgspec.structs.replace(
        echo, count=MANY_COUNT, interval_s=MANY_INTERVAL_S, after_s=after_s
    )


def _plan_large_echoes(network: Network, ring: list[Member]) -> Iterator[Echo]:
    """Yield echoes to the next node only: two senders to one node would wait for each other."""
    for index, member in enumerate(ring):
        target = ring[(index + 1) % len(ring)]
        if target.ip != member.ip:
            after_s = index % PHASES * PHASE_S
            yield _make_echo(network, member, target, LARGE_BYTES, False, LARGE_COUNT, after_s)


def _make_echo(
    network: Network, source: Member, target: Member, payload_bytes: int, is_whole: bool,
    count: int, after_s: float = 0.0,
) -> Echo:  # fmt: skip
    return Echo(
        network.name, source.node, source.interface, source.ip, target.node, target.ip,
        payload_bytes, is_whole, count, after_s,
    )  # fmt: skip


def is_name(text: str) -> bool:
    """Check for a name that can be looked up: no address, and no option for getent.

    ``_gateway`` and ``_outbound`` mean a different address on each node (nss-myhostname(8)).
    """
    if text.startswith(("-", "_")) or not 0 < len(text) <= LONGEST_NAME or "\0" in text:
        return False
    return not is_address(text)


def _limit_names(names: tuple[str, ...], near_names: Iterable[str]) -> tuple[str, ...]:
    """Return all names, or if they are many only those of the node and its partners."""
    return names if len(names) <= MAX_NAMES else tuple(dict.fromkeys(near_names))[:MAX_NAMES]


#: Fewer small echoes to the next node do not show 1 % of loss: if all of n echoes come back, the
#: loss is below 3 / n with 95 % confidence.
ENOUGH_ECHOES = 300

#: Messages of ping if the network, and not the program, is the reason that nothing was sent.
REFUSED = (
    "unreachable", "assign requested address", "no route", "message too long", "invalid argument",
    "network is down",
)  # fmt: skip

#: ``ping 3 1 heard``: the trial's number, the program's exit status, and the word ``heard``.
_HEAD = re.compile(r"(ping|name|address) ([0-9]{1,7}) ([0-9]{1,7})(?: (.*))?")
_HEADINGS = ("PING ", "--- ", "pipe ")
_COUNTED = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received")
_TIMES = re.compile(r"(?:rtt|round-trip) min/avg/max(?:/mdev)? = (\d{1,9}(?:\.\d{1,9})?)/")
_CLOCK = re.compile(r"(\d{1,12})(?:\.(\d{9}))?(?!\d)")

#: Paths of counters in /sys: netdev/statistics/NAME, device/ports/N/counters/NAME, and the
#: driver's own in hw_counters.
_NETDEV = re.compile(r"\./([^/:]+)/statistics/([^/:]+):(\d{1,20})")
_PORT = re.compile(r"\./([^/:]+)/ports/(\d{1,5})/(?:hw_)?counters/([^/:]+):(\d{1,20})")
_ETHTOOL = re.compile(r"ethtool/([^/]+)/([^:]{1,80}): *(\d{1,20})")


class TrialResults(msgspec.Struct):
    """The results of a round of trials; fields as in ``Preflight``.

    ``reverse_names`` are by node the names that it has for the addresses in its trial.
    """

    pings: list[Ping] = []
    lookups: list[Lookup] = []
    clocks: list[Clock] = []
    rises: list[Rise] = []
    untried: dict[str, str] = {}
    reverse_names: dict[str, tuple[str, ...]] = {}


class _Program(msgspec.Struct, frozen=True):
    """A program's exit status and output; ``heard`` is the word behind the status of a ping."""

    status: str
    heard: str
    output: tuple[str, ...]


def add_answer(results: TrialResults, answer: NodeAnswer, trial: NodeTrial) -> None:
    """Add the results of one node's trials; ``untried`` gets the reasons of missing ones."""
    node = answer.node
    try:
        programs, sections = _split_trials(node, answer.raw)
    except ProbeError as error:
        for name in ("ping", "mtu", "names", "clocks", "counters"):
            results.untried.setdefault(name, answer.trouble or str(error))
        return
    for number, echo in enumerate(trial.echoes):
        _add_echo(results, echo, programs.get(("ping", number)))
    for number, name in enumerate(trial.names, len(trial.echoes)):
        program = programs.get(("name", number))
        if program is None:
            reason = f"{node}: the name {name} was not found in time"
            results.untried.setdefault("names", reason)
        elif program.status == "127":
            results.untried.setdefault("names", f"{node}: it has no getent program")
        else:
            ips = (line.split()[0] for line in program.output if line.split())
            addresses = tuple(dict.fromkeys(ip for ip in ips if is_address(ip)))
            results.lookups.append(Lookup(node, name, addresses))
    results.reverse_names[node] = tuple(
        dict.fromkeys(
            name
            for (kind, _), program in programs.items()
            for ip, *names in filter(None, map(str.split, program.output))
            if kind == "address" and is_address(ip)
            for name in names
        )
    )
    _add_times(results, answer, sections)


def _split_trials(
    node: str, raw: str
) -> tuple[dict[tuple[str, int], _Program], dict[str, tuple[str, ...]]]:
    """Return the programs by kind and number, and the lines of the other sections.

    Raises:
        ProbeError: the beginning or the end is missing.
    """
    lines, start, end = find_frame(raw, "== fabricgauge-trials 1", "== end")
    if not start:
        raise ProbeError(
            f"{node}: the output of its trials has no beginning; does the node have a POSIX sh?"
        )
    if not end:
        raise ProbeError(f"{node}: the output of its trials was cut off at line {len(lines)}")
    programs: dict[tuple[str, int], _Program] = {}
    sections: dict[str, tuple[str, ...]] = {}
    for _, name, body in list_sections(lines, start, end):
        if head := _HEAD.fullmatch(" ".join(name.split())):
            output = tuple(line[2:] for line in body if line.startswith("| "))
            programs[head[1], int(head[2])] = _Program(head[3], head[4] or "", output)
        else:
            sections[name.strip()] = tuple(body)
    return programs, sections


def _add_echo(results: TrialResults, echo: Echo, program: _Program | None) -> None:
    ping = _parse_ping(echo, program) if program else Skipped("it did not end in time")
    if isinstance(ping, Skipped):
        name = "mtu" if echo.whole else "ping"
        results.untried.setdefault(name, f"{echo.source}: {ping.reason}")
        return
    results.pings.append(ping)
    if ping.sent < ENOUGH_ECHOES <= echo.count:
        bound = f"a loss under {percent(3 / ping.sent)} would not show"
        results.untried.setdefault("ping", f"{echo.source} sent {ping.sent}: {bound}")


def _parse_ping(echo: Echo, program: _Program) -> Ping | Skipped:
    """Return the counts and the shortest round trip.

    If no sum was printed, the network may be the reason.
    """
    output = program.output
    counts = next((match for match in map(_COUNTED.search, output) if match), None)
    last = next((line.strip() for line in reversed(output) if line.strip()), "ping printed nothing")
    sent, received, message = echo.count, 0, last
    rtt_s: float | Skipped = Skipped(last)
    if counts:
        sent, received, message = int(counts[1]), int(counts[2]), ""
        if sent == 0 or received > sent:  # ended before the first, or answered by several
            sent, received = max(sent, echo.count), min(received, max(sent, echo.count))
        times = next((match for match in map(_TIMES.search, output) if match), None)
        rtt_s = float(times[1]) / 1e3 if times else Skipped("no echo came back")
        # The last line that is neither a heading nor a sum.
        lines = (line.strip() for line in reversed(output) if not line.startswith(_HEADINGS))
        complaints = (line for line in lines if line and not _COUNTED.search(line))
        message = "" if received else next(complaints, "")
    elif not any(word in line.lower() for line in output for word in REFUSED):
        if program.status == "127":
            return Skipped("it has no ping program")
        reasons = (line for line in output if line.startswith("ping:"))
        reason = next(reasons, "it gave no reason")
        return Skipped(f"its ping does not do that ({reason[:120]})")
    return Ping(
        echo.network, echo.source, echo.interface, echo.source_ip, echo.target, echo.target_ip,
        echo.payload_bytes, echo.whole, sent, received, rtt_s, message,
        bool(counts) and not received and program.heard == "heard",
    )  # fmt: skip


def _add_times(
    results: TrialResults, answer: NodeAnswer, sections: dict[str, tuple[str, ...]]
) -> None:
    """Add the clock and the rises of counters.

    The trials began after the question and ended before the answer: that bounds the clock's offset.
    """
    node = answer.node
    began, ended = _parse_moment(sections.get("began")), _parse_moment(sections.get("ended"))
    if began is None or ended is None:
        results.untried.setdefault("clocks", f"{node} did not report its time")
        results.untried.setdefault("counters", f"{node} did not report the duration of its trials")
        return
    if answer.began_s:
        results.clocks.append(Clock(node, ended[0] - answer.ended_s, began[1] - answer.began_s))
    else:
        results.untried.setdefault("clocks", f"{node} did not report its time")
    seconds = max(0.001, ended[1] - began[0])
    before = _parse_counters(sections.get("before", ()))
    for (interface, counter), after in _parse_counters(sections.get("after", ())).items():
        rise = after - before.get((interface, counter), 0)
        if rise > 0:
            results.rises.append(Rise(node, interface, counter, rise, seconds))


def _parse_moment(lines: tuple[str, ...] | None) -> tuple[float, float] | None:
    """Return the bounds of a clock reading in seconds since 1970.

    Some date programs print no nanoseconds.
    """
    match = _CLOCK.match(lines[0].strip()) if lines else None
    if match is None:
        return None
    second = float(match[1])
    exact = second + int(match[2] or "0") / 1e9
    return exact, exact if match[2] else second + 1.0


def _parse_counters(lines: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return values by interface (or port, ``mlx5_0:1``) and counter; absent counters are 0."""
    counters: dict[tuple[str, str], int] = {}
    for line in lines:
        if match := _NETDEV.fullmatch(line) or _ETHTOOL.fullmatch(line):
            counters[match[1], match[2].strip()] = int(match[3])
        elif match := _PORT.fullmatch(line):
            counters[f"{match[1]}:{match[2]}", match[3]] = int(match[4])
    return counters


#: Echoes and lookups still running this long after the counters' time are ended: without an answer
#: of its name server a lookup takes 5 s and more (resolv.conf(5), timeout).
GRACE_S = 7

#: Nodes that try at once: they mostly wait, and so does the process that asks each of them.
PARALLEL = 128

#: Further time in which the launcher reaches the node; ssh's own limit is 5 s.
REACH_S = 15.0


def run_trials(
    access: HostAccess,
    fabric: Fabric,
    networks: tuple[Network, ...],
    seconds: float,
    *,
    keep: Callable[[str, str], None],
    selected: Collection[Trial] = TRIALS,
) -> Preflight:
    """Have every node of ``fabric`` try its partners; ``keep`` gets each answer unedited.

    Only the ``selected`` trials are made, and connections are made elsewhere. Counters are watched
    for ``seconds`` at least. A node that does not answer is in ``untried``; the trials of the other
    nodes stand. The preflight has no inventories yet.
    """
    seconds = seconds if "counters" in selected else 0.0
    plan = plan_trials(fabric, networks, selected) if {*selected} - {"connect"} else {}
    first = _run_round(access, plan, seconds, keep)
    lossy = [
        _get_path(ping) for ping in first.pings if not ping.whole and ping.received < ping.sent
    ]
    further_names = _list_further_names(first)
    second_plan = plan_second_trials(networks, lossy, further_names, selected)
    second = _run_round(access, second_plan, 0.0, keep)
    repeated = {_get_key(ping) for ping in second.pings}
    quickest = {
        _get_path(ping): ping.rtt_s
        for ping in second.pings
        if ping.payload_bytes == LARGE_BYTES and not isinstance(ping.rtt_s, Skipped)
    }
    third = _run_round(access, plan_slow_trials(networks, quickest), 0.0, keep)
    # The second round replaces the first: it repeats no chance loss, and its path is warm.
    unrepeated = (ping for ping in first.pings if _get_key(ping) not in repeated)
    return Preflight(
        fabric,
        (),
        (*unrepeated, *second.pings, *third.pings),
        (*first.lookups, *second.lookups),
        tuple(first.clocks),
        tuple(first.rises),
        seconds,
        {**second.untried, **first.untried},
    )


def _get_path(ping: Ping) -> tuple[str, str, str]:
    return ping.network, ping.source_ip, ping.target_ip


def _get_key(ping: Ping) -> tuple[tuple[str, str, str], int, bool]:
    return _get_path(ping), ping.payload_bytes, ping.whole


def _list_further_names(results: TrialResults) -> dict[str, tuple[str, ...]]:
    """Return names that some node has for an address, for each node to look up.

    If they are many, a node looks up only those that it has itself.
    """
    looked_up = {lookup.name for lookup in results.lookups}
    new_names = {
        node: tuple(name for name in names if name not in looked_up and is_name(name))
        for node, names in results.reverse_names.items()
    }
    all_names = tuple(dict.fromkeys(name for names in new_names.values() for name in names))
    if len(all_names) <= MAX_NAMES:
        return dict.fromkeys(new_names, all_names)
    return {node: names[:MAX_NAMES] for node, names in new_names.items()}


def _run_round(
    access: HostAccess,
    trials: dict[str, NodeTrial],
    seconds: float,
    keep: Callable[[str, str], None],
) -> TrialResults:
    hosts = [host for host in access.hosts if host.node in trials]
    limit_s = int(max(seconds, LARGE_S + MANY_COUNT * MANY_INTERVAL_S)) + GRACE_S
    words = {
        node: [f"{seconds:g}", str(limit_s), *trial.list_words()] for node, trial in trials.items()
    }
    results = TrialResults()
    with closing(ask_nodes(hosts, limit_s + REACH_S, "trials.sh", words, PARALLEL)) as answers:
        for answer in answers:
            keep(answer.node, answer.raw)
            add_answer(results, answer, trials[answer.node])
    return results
