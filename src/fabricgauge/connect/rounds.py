"""Starts the program on all nodes at once and puts their answers together."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

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

#: Longer than the program's own limits together.
TIMEOUT_S = 45.0

Keep = Callable[[str, str], None]


def connect(
    program: Path, access: HostAccess, network: Network, keep: Keep, ports: range = PORTS
) -> Connectivity:
    """Let every member of ``network`` connect to every other, or to a sample where they are many.

    One of ``ports`` is used. ``keep(node, raw)`` is handed what each node printed, before it is
    read.
    """
    hosts = {host.node: host for host in access.hosts}
    play = partial(_played, program, hosts, network, keep, ports)
    members: dict[str, Member] = {}
    for member in network.members:
        if member.node in hosts:  # a node with several addresses connects from the first
            members.setdefault(member.node, member)
    rounds = (_round(play, group) for group in _groups(list(members.values())))
    return _joined(network.name, members, rounds)


def gathered(network: str, names: Mapping[int, str], said: Mapping[str, str]) -> Connectivity:
    """A round that others played, from what each node printed; ``names`` are by number."""
    return _joined(network, said, [{node: _read(node, raw, names) for node, raw in said.items()}])


def _joined(
    network: str, nodes: Iterable[str], rounds: Iterable[Mapping[str, Answer | str]]
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
    return Connectivity(network, tried, tuple(failures), silent)


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


def _played(
    program: Path, hosts: Mapping[str, Host], network: Network, keep: Keep, ports: range,
    members: Sequence[Member],
) -> dict[str, Answer | str]:  # fmt: skip
    token, port = secrets.token_hex(8), secrets.choice(ports)
    names = dict(enumerate((one.node for one in members), 1))
    group = process.ChildGroup()

    def ask(number: int) -> str:
        own = tuple(one.ip for one in network.members if one.node == names[number])
        argv = [str(program), *words(token, port, number, members, own)]
        done = process.run(hosts[names[number]].through(argv), timeout_s=TIMEOUT_S, group=group)
        if done.exit_code != 0:
            said = done.stderr.strip().splitlines()
            raise ProbeError(said[-1] if said else f"it ended with status {done.exit_code}")
        return done.stdout

    answers: dict[str, Answer | str] = {}
    with ThreadPoolExecutor(max(1, len(members))) as pool:
        try:
            asked = {names[number]: pool.submit(ask, number) for number in names}
            for node, one in asked.items():
                try:
                    raw = one.result()
                except (ProbeError, ToolMissing, OSError) as error:
                    answers[node] = str(error)
                else:
                    keep(node, raw)
                    answers[node] = _read(node, raw, names)
        finally:
            group.end()
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
        token, str(number), str(port), str(BYTES), str(len(order)),
        *(word for address in addresses for word in ("listen", address)),
        *(word for partner in partners for word in ("to", *partner)),
    )  # fmt: skip
