"""The connectivity round: each node connects to each other node of a network.

The program of each node prints its attempts; ``parse_answer`` reads them, and ``connect`` starts
the programs on all nodes at once and puts their answers together.
"""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Condition

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError, ToolMissing
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.preflight import Connectivity, FailedConnection, How
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.ready_made import connect_program
from fabricgauge.nodes.launch.carrying import on_nodes

FORMAT, MAJOR_VERSION = "fabricgauge-connect", "1"

#: The failure of a connection that ended in a phase, if the kernel named no error.
_SILENT: Mapping[str, How] = {"connect": "no answer", "greeting": "no data", "data": "no data"}
_REFUSED, _TAKEN = "Connection refused", "Address already in use"


class _Line(msgspec.Struct):
    """The fields in use of any line of the program; a line's kind follows from those it has."""

    format: str = ""
    version: str = ""
    listening: str = ""
    to: int = -1
    source: str = ""
    target: str = ""
    phase: str = ""
    error: str = ""
    stranger: bool = False
    answered_by: int = 0
    end: bool = False


class Answer(msgspec.Struct, frozen=True):
    """One node's part: its own connections that failed, and how many it tried.

    ``port_taken``: the program could not listen on an address because its port is in use.
    """

    tried: int
    failures: tuple[FailedConnection, ...]
    port_taken: bool


def parse_answer(node: str, text: str, names: Mapping[int, str]) -> Answer:
    """Parse what the program of ``node`` printed; ``names`` are the nodes by their number.

    Raises:
        ProbeError: it is not this program's output, or it ends early.
    """
    try:
        filled = [line for line in text.splitlines() if line.strip()]
        lines = [msgspec.json.decode(line, type=_Line) for line in filled]
    except msgspec.MsgspecError as error:
        raise ProbeError(f"{node} answered with a line that is not understood: {error}") from error
    if not lines or lines[0].format != FORMAT or lines[0].version.split(".")[0] != MAJOR_VERSION:
        raise ProbeError(f"{node} did not answer as {FORMAT} {MAJOR_VERSION} does")
    if not lines[-1].end:
        raise ProbeError(f"{node} stopped before the connectivity round was over")
    attempts = [line for line in lines if line.to >= 0]
    failures: list[FailedConnection] = []
    for line in attempts:
        if how := _failure_kind(line):
            other = "" if line.answered_by == line.to else names.get(line.answered_by, "")
            answerer = "another program" if line.stranger else other
            ends = node, names[line.to], line.source, line.target
            failures.append(FailedConnection(*ends, how, line.error, answerer))
    port_taken = any(line.listening and line.error == _TAKEN for line in lines)
    return Answer(len(attempts), tuple(failures), port_taken)


def _failure_kind(line: _Line) -> How | None:
    """Return the kind of failure; None if all bytes arrived at the intended node."""
    if line.stranger or (line.phase != "connect" and line.answered_by not in (0, line.to)):
        return "other node"
    if line.phase == "done":
        return None
    if line.error == _REFUSED:
        return "refused"
    return "error" if line.error else _SILENT[line.phase]


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

#: Why a node took no part whose program could not listen.
PORT_TAKEN = "another program uses the port that was to be tried"

Keep = Callable[[str, str], None]

#: Variables that limit an MPI to some ports, "FIRST:LAST" or "FIRST-LAST": a firewall may let only
#: these pass. Sources: the strings of MPICH 5.0 and Intel MPI 2021.18; UCX, ucx_info -cf.
PORT_VARIABLES = (
    "MPIR_CVAR_CH3_PORT_RANGE", "MPICH_PORT_RANGE", "MPIEXEC_PORT_RANGE", "I_MPI_PORT_RANGE",
    "UCX_TCP_PORT_RANGE",
)  # fmt: skip
#: Open MPI has two: the first port, and how many (ompi_info --param btl tcp).
FIRST_PORT, PORT_COUNT = "OMPI_MCA_btl_tcp_port_min_v4", "OMPI_MCA_btl_tcp_port_range_v4"
_RANGE = re.compile(r"(\d+)[:-](\d+)")


def mpi_ports(variables: Mapping[str, str]) -> range:
    """Return the ports that the environment allows MPI; by default the kernel's ephemeral ports."""
    for name in PORT_VARIABLES:
        ports = _RANGE.fullmatch(variables.get(name, ""))
        if ports and 0 < int(ports[1]) <= int(ports[2]) < 65536:
            return range(int(ports[1]), int(ports[2]) + 1)
    first, count = variables.get(FIRST_PORT, ""), variables.get(PORT_COUNT, "")
    if first.isdecimal() and count.isdecimal() and 0 < int(first) < 65536 - int(count):
        return range(int(first), int(first) + max(1, int(count)))
    return PORTS


def connectivity(
    access: HostAccess, networks: Iterable[Network], keep: Keep
) -> tuple[Connectivity, ...] | Skipped:
    """Make one round per network, one after the other; Skipped if no node could take part.

    ``keep(node, raw)`` receives the output of each node. A round in which no node could take part
    proves nothing: it is the reason to skip.
    """
    program = connect_program()
    if isinstance(program, Skipped):
        return program
    ports = mpi_ports(os.environ)
    with on_nodes(program, access.hosts) as placed:
        path = Path(placed.path)
        connectivities = tuple(
            connect(path, access, network, keep, ports, placed.failures) for network in networks
        )
    for network_round in connectivities:
        if network_round.silent and len(network_round.silent) == len(network_round.tried):
            node, reason = next(iter(network_round.silent.items()))
            return Skipped(f"{node}: {reason}")
    return connectivities


def connect(
    program: Path, access: HostAccess, network: Network, keep: Keep, ports: range = PORTS,
    failures: Mapping[str, str] = {},
) -> Connectivity:  # fmt: skip
    """Let every member of ``network`` connect to every other, or to a sample if they are many.

    One of ``ports`` is used. ``keep(node, raw)`` gets the output of each node before it is parsed.
    ``failures`` are the reasons of nodes that cannot hold the program; they are silent.
    """
    hosts = {host.node: host for host in access.hosts}
    start_s: dict[str, float] = {}
    play_round = partial(_play_round, program, hosts, network, keep, ports, start_s)
    members: dict[str, Member] = {}
    for member in network.members:
        if member.node in hosts:  # a node with several addresses connects from the first
            members.setdefault(member.node, member)
    players = [member for node, member in members.items() if node not in failures]
    rounds = (_play_with_free_port(play_round, group) for group in _groups(players))
    played = _connectivity(network.name, members, rounds, start_s)
    unable = {node: failures[node] for node in members if node in failures}
    return msgspec.structs.replace(played, silent={**unable, **played.silent})


def gather_round(
    network: str, names: Mapping[int, str], printed: Mapping[str, str]
) -> Connectivity:
    """Gather a round that a job played from each node's output; ``names`` are by number."""
    answers = {node: _read_answer(node, raw, names) for node, raw in printed.items()}
    return _connectivity(network, printed, [answers], {})


def _connectivity(
    network: str,
    nodes: Iterable[str],
    rounds: Iterable[Mapping[str, Answer | str]],
    start_s: Mapping[str, float],
) -> Connectivity:
    """Join rounds; a failure with a node that did not play is none: the node is ``silent``.

    A node whose port another program uses cannot be connected to, and did not play either.
    """
    tried = dict.fromkeys(nodes, 0)
    failures: list[FailedConnection] = []
    silent: dict[str, str] = {}
    for answers in rounds:
        lost = {
            node: answer if isinstance(answer, str) else PORT_TAKEN
            for node, answer in answers.items()
            if isinstance(answer, str) or answer.port_taken
        }
        silent |= lost
        for node, answer in answers.items():
            if node not in lost and not isinstance(answer, str):
                failures += [failure for failure in answer.failures if failure.target not in lost]
                tried[node] += answer.tried - len(lost)
    return Connectivity(network, tried, tuple(failures), silent, {**start_s})


def _read_answer(node: str, raw: str, names: Mapping[int, str]) -> Answer | str:
    try:
        return parse_answer(node, raw, names)
    except ProbeError as error:
        return str(error)


def _groups(members: Sequence[Member]) -> Iterator[Sequence[Member]]:
    """Yield groups of at most ``MOST_TOGETHER``: neighbours in the list, then distant nodes."""
    count = -(-len(members) // MOST_TOGETHER)
    if count <= 1:
        yield members
        return
    size = -(-len(members) // count)
    yield from (members[at : at + size] for at in range(0, len(members), size))
    yield from (members[at::count] for at in range(count))


def _play_with_free_port(
    play_round: Callable[[Sequence[Member]], dict[str, Answer | str]], members: Sequence[Member]
) -> dict[str, Answer | str]:
    """Return each node's answer, or why it has none. If the port is taken, try another one once."""
    for _ in range(2):
        answers = play_round(members)
        if not any(isinstance(answer, Answer) and answer.port_taken for answer in answers.values()):
            break
    return answers


class _StartGate:
    """Hold the programs of ``nodes`` back until each listens, or has ended without listening.

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
        """Let all begin; return the nodes that did not listen in time."""
        with self._changed:
            self._changed.wait_for(lambda: not self.awaited, within_s)
            late = {*self.awaited}
        os.close(self._ends.pop())
        return late

    def close(self) -> None:
        """Close the open ends of the pipe; the programs have ended."""
        while self._ends:
            os.close(self._ends.pop())


def _play_round(
    program: Path, hosts: Mapping[str, Host], network: Network, keep: Keep, ports: range,
    start_s: dict[str, float], members: Sequence[Member],
) -> dict[str, Answer | str]:  # fmt: skip
    token, port = secrets.token_hex(8), secrets.choice(ports)
    names = dict(enumerate((member.node for member in members), 1))
    gate, group = _StartGate(names.values()), process.ChildGroup()
    patience_s = START_S + START_PER_NODE_S * len(members)

    def ask(number: int) -> str:
        node = names[number]
        addresses = tuple(member.ip for member in network.members if member.node == node)
        argv = [str(program), *program_words(token, port, number, members, addresses)]
        try:
            completed = process.run(
                hosts[node].through(argv), timeout_s=patience_s + TIMEOUT_S, group=group,
                stdin=gate.stdin, hear=partial(gate.hear, node, len(addresses)),
            )  # fmt: skip
        finally:
            gate.leave(node)
        if completed.exit_code != 0:
            last_lines = completed.stderr.strip().splitlines()
            raise ProbeError(
                last_lines[-1] if last_lines else f"it ended with status {completed.exit_code}"
            )
        return completed.stdout

    answers: dict[str, Answer | str] = {}
    with closing(gate), ThreadPoolExecutor(max(1, len(members))) as pool:
        try:
            futures = {names[number]: pool.submit(ask, number) for number in names}
            late = gate.begin(patience_s)
            for node in late:
                answers[node] = f"its program did not start within {patience_s:.0f} s"
            for node in (name for name in futures if name not in late):
                try:
                    raw = futures[node].result()
                except (ProbeError, ToolMissing, OSError) as error:
                    answers[node] = str(error)
                else:
                    keep(node, raw)
                    answers[node] = _read_answer(node, raw, names)
        finally:
            group.end()
    start_s |= gate.start_s
    return answers


def program_words(
    token: str, port: int, number: int, members: Sequence[Member], addresses: Sequence[str]
) -> tuple[str, ...]:
    """Return the program's arguments on the node of that number, which has these ``addresses``.

    A node's partners begin with the next node, so that all nodes send to different ones at a time.
    """
    member = members[number - 1]
    order = [(number - 1 + step) % len(members) for step in range(1, len(members))]
    partners = ((str(at + 1), member.ip, members[at].ip) for at in order)
    return (
        token, str(number), str(port), str(BYTES), str(len(order)), "held",
        *(word for address in addresses for word in ("listen", address)),
        *(word for partner in partners for word in ("to", *partner)),
    )  # fmt: skip
