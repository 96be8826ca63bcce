"""The connectivity round on loopback addresses: each stands for a node."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.preflight import Connectivity
from fabricgauge.nodes import connectivity as rounds
from fabricgauge.nodes.connectivity import MOST_TOGETHER, PORTS, _groups, connect, program_words
from fabricgauge.nodes.engines.ready_made import connect_program


def network(count: int) -> Network:
    members = tuple(Member(f"c{n}", "lo", f"127.0.7.{n}", 65536) for n in range(1, count + 1))
    return Network("net1", "127.0.7.0/24", "ethernet", Skipped("none"), "", members)


def played(
    nodes: int, prefixes: Mapping[str, tuple[str, ...]] = {}, ports: range = PORTS,
    failures: Mapping[str, str] = {},
) -> Connectivity:  # fmt: skip
    program = connect_program()
    assert isinstance(program, Path)
    names = tuple(f"c{n}" for n in range(1, nodes + 1))
    hosts = tuple(Host(name, prefixes.get(name, ())) for name in names)
    access = HostAccess("local", hosts)
    return connect(program, access, network(nodes), lambda _, __: None, ports, failures)


def delayed(seconds: float) -> tuple[str, ...]:
    """A login that takes so long."""
    return ("sh", "-c", f'sleep {seconds}; exec "$@"', "sh")


def test_all_pairs_connect_on_a_sound_network() -> None:
    made = played(5)
    assert (made.network, made.failures, made.silent) == ("net1", (), {})
    assert made.tried == {f"c{n}": 4 for n in range(1, 6)}
    assert made.start_s.keys() == made.tried.keys()


def test_a_slow_login_is_awaited_and_is_no_failed_connection() -> None:
    """No refusal is borne once the connections have begun."""
    made = played(3, {"c2": delayed(0.5), "c3": delayed(1.5)})
    assert (made.failures, made.silent) == ((), {})
    assert made.start_s["c3"] >= 1.5 and made.start_s["c2"] >= 0.5


def test_a_login_that_never_ends_leaves_its_node_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "START_S", 0.5)
    made = played(3, {"c3": delayed(600)})
    assert made.failures == ()
    assert "did not start" in made.silent["c3"] and list(made.silent) == ["c3"]


def test_a_node_whose_program_does_not_start_is_silent_and_accuses_nobody() -> None:
    made = played(3, {"c2": ("false",)})
    assert list(made.silent) == ["c2"]
    assert made.failures == () and made.tried["c1"] == made.tried["c3"] == 1


def test_a_node_that_cannot_hold_the_program_is_silent_with_the_reason() -> None:
    made = played(3, failures={"c2": "/tmp forbids execution"})
    assert made.silent == {"c2": "/tmp forbids execution"}
    assert made.failures == () and made.tried == {"c1": 1, "c2": 0, "c3": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "greeting",
    [b"HTTP/1.1 400 Bad Request\r\n" + 64 * b"x", b""],
)
def test_another_program_at_the_port_is_told_from_a_node(greeting: bytes) -> None:
    with socket.create_server(("127.0.7.9", 0)) as listener:
        port = listener.getsockname()[1]
        kept: list[socket.socket] = []

        def answer() -> None:
            with suppress(OSError):  # until it is closed
                while True:
                    other, _ = listener.accept()
                    other.sendall(greeting)
                    kept.append(other)

        Thread(target=answer, daemon=True).start()
        program = connect_program()
        assert isinstance(program, Path)
        # c2 plays its part on another address, so that the one it is known by is the listener's.
        members = (Member("c1", "lo", "127.0.7.1", 65536), Member("c2", "lo", "127.0.7.9", 65536))
        of = Network("net1", "127.0.7.0/24", "ethernet", Skipped("none"), "", members)
        elsewhere = (
            "sh",
            "-c",
            'exec $(echo "$@" | sed "s/listen 127.0.7.9/listen 127.0.7.2/")',
            "",
        )
        access = HostAccess("local", (Host("c1", ()), Host("c2", elsewhere)))
        made = connect(program, access, of, lambda node, raw: None, range(port, port + 1))
    (failure,) = [one for one in made.failures if one.source == "c1"]
    assert failure.how == ("other node" if greeting else "no data")


def test_a_port_that_a_nodes_own_program_uses_accuses_nobody() -> None:
    with socket.create_server(("127.0.7.2", 0)) as listener:
        port = listener.getsockname()[1]
        made = played(3, ports=range(port, port + 1))
    assert made.failures == ()
    assert list(made.silent) == ["c2"] and "port" in made.silent["c2"]
    assert made.tried["c1"] == made.tried["c3"] == 1


def test_each_node_begins_with_another_partner() -> None:
    members = network(4).members
    first = [program_words("t", 1, n, members, ["x"])[9] for n in range(1, 5)]
    assert sorted(first) == ["1", "2", "3", "4"]


def test_many_nodes_are_tried_in_groups_and_every_node_in_two() -> None:
    members = [Member(f"n{n}", "eth0", f"10.0.0.{n}", 1500) for n in range(3 * MOST_TOGETHER + 5)]
    groups = list(_groups(members))
    assert max(map(len, groups)) <= MOST_TOGETHER
    for member in members:
        own = [group for group in groups if member in group]
        assert len(own) == 2 and set(own[0]) & set(own[1]) != set(own[0])
