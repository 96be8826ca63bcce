"""Starts the program on all nodes at once and puts their answers together."""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Condition

from fabricgauge import process
from fabricgauge.connect.answers import Answer, parsed
from fabricgauge.model.connectivity import Connectivity, FailedConnection
from fabricgauge.model.errors import ProbeError, ToolMissing
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.host_access import Host, HostAccess

#: Nodes whose pairs are all tried; more are tried in groups of that many.
MOST_TOGETHER = 256

#: Ports that Linux hands out by itself (ip(7), ip_local_port_range), as MPI's are.
PORTS = range(32768, 60999)

#: Bytes to and from each partner: more than a window, so that a large packet is among them.
BYTES = 65_536

#: Longer than the program's own limits together, once all nodes listen.
TIMEOUT_S = 45.0

#: The slowest node's program is waited for this long. A lookup of DNS that times out takes 5 s for
#: each server (resolv.conf(5)), and a login makes several.
START_S = 30.0
#: The same for each node: one machine starts many logins at once. An allowance, not measured.
START_PER_NODE_S = 0.1

Keep = Callable[[str, str], None]


def connect(
    program: Path, access: HostAccess, network: Network, keep: Keep, ports: range = PORTS
) -> Connectivity:
    """Let every member of ``network`` connect to every other, or to a sample where they are many.

    One of ``ports`` is used. ``keep(node, raw)`` is handed what each node printed, before it is
    read.
    """
    hosts = {host.node: host for host in access.hosts}
    start_s: dict[str, float] = {}
    play = partial(_played, program, hosts, network, keep, ports, start_s)
    members: dict[str, Member] = {}
    for member in network.members:
        if member.node in hosts:  # a node with several addresses connects from the first
            members.setdefault(member.node, member)
    rounds = (_round(play, group) for group in _groups(list(members.values())))
    return _joined(network.name, members, rounds, start_s)


def gathered(network: str, names: Mapping[int, str], said: Mapping[str, str]) -> Connectivity:
    """A round that others played, from what each node printed; ``names`` are by number."""
    answers = {node: _read(node, raw, names) for node, raw in said.items()}
    return _joined(network, said, [answers], {})


def _joined(
    network: str,
    nodes: Iterable[str],
    rounds: Iterable[Mapping[str, Answer | str]],
    start_s: Mapping[str, float],
) -> Connectivity:
    """What failed with a node whose own part was not played is no failure: it is ``silent``."""
    tried = dict.fromkeys(nodes, 0)
    failures: list[FailedConnection] = []
    silent: dict[str, str] = {}
    for answers in rounds:
        lost = {node: one for node, one in answers.items() if isinstance(one, str)}
        silent |= lost
        for node, one in answers.items():
            if not isinstance(one, str):
                failures += [failure for failure in one.failures if failure.target not in lost]
                tried[node] += one.tried - len(lost)
    return Connectivity(network, tried, tuple(failures), silent, {**start_s})


def _read(node: str, raw: str, names: Mapping[int, str]) -> Answer | str:
    try:
        return parsed(node, raw, names)
    except ProbeError as error:
        return str(error)


def _groups(members: Sequence[Member]) -> Iterator[Sequence[Member]]:
    """Of at most ``MOST_TOGETHER``: neighbours in the list, then nodes from far apart in it."""
    count = -(-len(members) // MOST_TOGETHER)
    if count <= 1:
        yield members
        return
    size = -(-len(members) // count)
    yield from (members[at : at + size] for at in range(0, len(members), size))
    yield from (members[at::count] for at in range(count))


def _round(
    play: Callable[[Sequence[Member]], dict[str, Answer | str]], members: Sequence[Member]
) -> dict[str, Answer | str]:
    """Each node's answer, or why there is none. A port that is taken is chosen anew, once."""
    for _ in range(2):
        answers = play(members)
        if not any(isinstance(one, Answer) and one.port_taken for one in answers.values()):
            break
    return answers


class _StartingLine:
    """Holds the programs of ``nodes`` back until each listens, or has ended without.

    The standard input of all of them is one pipe. Its end is the sign to begin: every program sees
    it at the same moment, and sees it if this program dies.
    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self.awaited, self.start_s = {*nodes}, dict[str, float]()
        self._began, self._heard = time.monotonic(), dict.fromkeys(self.awaited, b"")
        self._changed = Condition()
        self._ends = [*os.pipe()]
        self.stdin = self._ends[0]

    def hear(self, node: str, addresses: int, piece: bytes) -> None:
        """Take what the program of ``node`` printed; it listens once each address has a line."""
        self._heard[node] += piece
        if node in self.awaited and self._heard[node].count(b'"listening"') >= addresses:
            self.start_s[node] = time.monotonic() - self._began
            self.leave(node)

    def leave(self, node: str) -> None:
        with self._changed:
            self.awaited.discard(node)
            self._changed.notify()

    def begin(self, within_s: float) -> set[str]:
        """Let all begin; returns the nodes that did not listen in time."""
        with self._changed:
            self._changed.wait_for(lambda: not self.awaited, within_s)
            late = {*self.awaited}
        os.close(self._ends.pop())
        return late

    def close(self) -> None:
        """Close what is still open; the programs have ended."""
        while self._ends:
            os.close(self._ends.pop())


def _played(
    program: Path, hosts: Mapping[str, Host], network: Network, keep: Keep, ports: range,
    start_s: dict[str, float], members: Sequence[Member],
) -> dict[str, Answer | str]:  # fmt: skip
    token, port = secrets.token_hex(8), secrets.choice(ports)
    names = dict(enumerate((one.node for one in members), 1))
    line, group = _StartingLine(names.values()), process.ChildGroup()
    patience_s = START_S + START_PER_NODE_S * len(members)

    def ask(number: int) -> str:
        node = names[number]
        own = tuple(one.ip for one in network.members if one.node == node)
        argv = [str(program), *words(token, port, number, members, own)]
        try:
            done = process.run(
                hosts[node].through(argv), timeout_s=patience_s + TIMEOUT_S, group=group,
                stdin=line.stdin, hear=partial(line.hear, node, len(own)),
            )  # fmt: skip
        finally:
            line.leave(node)
        if done.exit_code != 0:
            said = done.stderr.strip().splitlines()
            raise ProbeError(said[-1] if said else f"it ended with status {done.exit_code}")
        return done.stdout

    answers: dict[str, Answer | str] = {}
    with closing(line), ThreadPoolExecutor(max(1, len(members))) as pool:
        try:
            asked = {names[number]: pool.submit(ask, number) for number in names}
            late = line.begin(patience_s)
            for node in late:
                answers[node] = f"its program did not start within {patience_s:.0f} s"
            for node in (one for one in asked if one not in late):
                try:
                    raw = asked[node].result()
                except (ProbeError, ToolMissing, OSError) as error:
                    answers[node] = str(error)
                else:
                    keep(node, raw)
                    answers[node] = _read(node, raw, names)
        finally:
            group.end()
    start_s |= line.start_s
    return answers


def words(
    token: str, port: int, number: int, members: Sequence[Member], addresses: Sequence[str]
) -> tuple[str, ...]:
    """The program's words on the node of that number, which has these ``addresses``.

    Its partners begin with the next one, so that at each moment the nodes send to different ones.
    """
    own = members[number - 1]
    order = [(number - 1 + step) % len(members) for step in range(1, len(members))]
    partners = ((str(at + 1), own.ip, members[at].ip) for at in order)
    return (
        token, str(number), str(port), str(BYTES), str(len(order)), "held",
        *(word for address in addresses for word in ("listen", address)),
        *(word for partner in partners for word in ("to", *partner)),
    )  # fmt: skip
