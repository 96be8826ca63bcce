"""Trials on nodes whose doors are programs of this machine: nothing leaves it."""

import subprocess
import time
from collections import Counter
from collections.abc import Collection
from importlib import resources
from pathlib import Path

import pytest

from fabricgauge.model.fabric import Fabric, Member, Network, Node
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.preflight import TRIALS, Preflight, Trial
from fabricgauge.nodes.discover.probe import NodeAnswer
from fabricgauge.nodes.discover.trials import (
    GRACE_S,
    Echo,
    NodeTrial,
    TrialResults,
    add_answer,
    run_trials,
)

CONNECT: frozenset[Trial] = frozenset({"connect"})
SCRIPT = resources.files("fabricgauge.nodes.discover").joinpath("trials.sh")


def node(name: str) -> Node:
    return Node(name, name, "boot", "net", 2, "6.1", (), {})


def tried(
    hosts: dict[str, tuple[str, ...]], seconds: float = 0.2, wanted: Collection[Trial] = TRIALS
) -> Preflight:
    members = tuple(
        Member(name, "lo", f"127.0.0.{number}", 65536) for number, name in enumerate(hosts, 1)
    )
    net = Network("lo", "127.0.0.0/8", "ethernet", 1e9, "declared", members)
    fabric = Fabric(tuple(node(name) for name in hosts), (), (net,))
    access = HostAccess("test", tuple(Host(name, prefix) for name, prefix in hosts.items()))
    return run_trials(access, fabric, (net,), seconds, keep=lambda name, raw: None, selected=wanted)


@pytest.mark.parametrize("wanted", ["echoes", "wholes", "large", "names", "clocks", "counters"])
def test_no_trial_is_made_that_nobody_wants(wanted: Trial, tmp_path: Path) -> None:
    ping = tmp_path / "ping"
    ping.write_text(UNHURRIED_PING)
    ping.chmod(0o755)
    host = ("env", f"PATH={tmp_path}:/usr/bin:/bin")
    found = tried({"localhost": host, "c2": host}, 0.2, {wanted, "connect"})
    sizes = {(one.payload_bytes, one.whole, one.sent) for one in found.pings}
    kinds = {"echoes": (56, False, 5), "wholes": (65508, True, 3), "large": (65000, False, 4)}
    assert sizes == ({kinds[wanted]} if wanted in kinds else set())
    assert bool(found.lookups) == (wanted == "names")
    assert found.seconds == (0.2 if wanted == "counters" else 0.0)


def test_where_only_connections_are_wanted_no_node_is_asked() -> None:
    found = tried({"localhost": ("false",), "c2": ("false",)}, 0.2, CONNECT)
    assert found.untried == {} and not found.clocks


def test_nodes_try_each_other_and_what_they_find_is_theirs() -> None:
    found = tried({"localhost": (), "c2": ()})
    small = [ping for ping in found.pings if ping.payload_bytes == 56]
    if not small:
        pytest.skip(f"no ping here: {found.untried}")
    assert {(p.source, p.target, p.received) for p in small} == {
        ("localhost", "c2", 500), ("c2", "localhost", 500),
    }  # fmt: skip
    assert {look.addresses[:1] for look in found.lookups if look.name == "localhost"} == {
        ("127.0.0.1",)
    }
    assert all(clock.low_s <= 0.001 and clock.high_s >= -0.001 for clock in found.clocks)
    assert all(clock.high_s - clock.low_s < 2 for clock in found.clocks)
    assert (found.fabric.nodes[0].name, found.inventories) == ("localhost", ())


def test_a_remote_shell_hands_the_words_on_as_they_are() -> None:
    """As ssh does, the far side's shell reads one line."""
    host = Host("it's $(odd)", ("sh", "-c"), remote_shell=True)
    fabric = Fabric((node(host.node),), (), ())
    found = run_trials(HostAccess("test", (host,)), fabric, (), 0.1, keep=lambda name, raw: None)
    assert found.untried == {}
    assert [(look.name, look.addresses) for look in found.lookups] == [(host.node, ())]


@pytest.mark.slow
def test_a_node_that_cannot_be_asked_is_told_of_and_the_others_stand() -> None:
    found = tried({"localhost": (), "gone": ("false",)})
    assert "gone could not be reached" in found.untried["ping"]
    assert "gone" in found.untried["counters"]
    assert [clock.node for clock in found.clocks] == ["localhost"]


def test_hostile_words_stay_data(tmp_path: Path) -> None:
    target = tmp_path / "made"
    words = [f"$(touch {target})", f"`touch {target}`", f"'; touch {target}; '", "a\nb", "*", "-x"]
    argv = ["sh", "-s", "--", "0.1", "3"]
    for word in words:
        argv += ["name", word, "address", word, "ping", "1", "0.2", "56", "0", "0", word, word]
    with SCRIPT.open("rb") as script:
        done = subprocess.run(argv, stdin=script, capture_output=True, text=True, timeout=30)
    assert done.stdout.endswith("== end\n")
    assert not target.exists()
    assert done.stdout.count("\n== name ") == len(words)


def test_what_does_not_end_is_ended_in_time(tmp_path: Path) -> None:
    """A name server that is away, here a getent that sleeps."""
    slow = tmp_path / "getent"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    argv = ["env", f"PATH={tmp_path}:/usr/bin:/bin", "sh", "-s", "--", "0.1", "1", "name", "c1"]
    began = time.monotonic()
    with SCRIPT.open("rb") as script:
        done = subprocess.run(argv, stdin=script, capture_output=True, text=True, timeout=25)
    assert time.monotonic() - began < 1 + GRACE_S
    assert done.stdout.endswith("== end\n")
    assert "== name" not in done.stdout


def test_the_sum_of_many_echoes_is_kept() -> None:
    argv = ["sh", "-s", "--", "0", "9", "ping", "20", "0.01", "56", "0", "0"]
    argv += ["127.0.0.1", "127.0.0.1"]
    with SCRIPT.open("rb") as script:
        done = subprocess.run(argv, stdin=script, capture_output=True, text=True, timeout=30)
    echo = Echo("lo", "c1", "lo", "127.0.0.1", "c1", "127.0.0.1", 56, False, 20)
    found = TrialResults()
    add_answer(found, NodeAnswer("c1", done.stdout, ""), NodeTrial((echo,), ()))
    if "ping" in found.untried:
        assert "no ping program" in found.untried["ping"]
        pytest.skip(found.untried["ping"])
    assert [(one.sent, one.received) for one in found.pings] == [(20, 20)]


#: As iputils before 2022 says it to a user who is not root.
UNHURRIED_PING = """#!/bin/sh
case "$*" in *'-i 0.01 '*) echo 'ping: cannot flood; minimal interval allowed for user is 200ms'
    exit 2 ;; esac
while [ "$1" != -c ]; do shift; done
echo "$2 packets transmitted, $2 received"
"""


def test_a_ping_that_refuses_the_pace_sends_fewer_and_it_is_told_what_they_cannot_show(
    tmp_path: Path,
) -> None:
    ping = tmp_path / "ping"
    ping.write_text(UNHURRIED_PING)
    ping.chmod(0o755)
    host = ("env", f"PATH={tmp_path}:/usr/bin:/bin")
    found = tried({"c1": host, "c2": host})
    assert {one.sent for one in found.pings if one.payload_bytes == 56} == {25}
    assert found.untried["ping"].endswith("sent 25: a loss under 12.0 % would not show")


#: Answers every ping in 9 ms, and the third time a large one is asked for in 1 ms.
SLOW_PING = """#!/bin/sh
case "$*" in *'-s 65000'*) ;; *) echo '500 packets transmitted, 500 received'
    echo 'rtt min/avg/max/mdev = 0.1/0.1/0.1/0 ms'; exit ;; esac
echo x >>"$0.count"
[ "$(wc -l <"$0.count")" -gt 2 ] && ms=1 || ms=9
echo '4 packets transmitted, 4 received'
echo "rtt min/avg/max/mdev = $ms/$ms/$ms/0 ms"
"""


def test_a_large_echo_that_was_slow_by_chance_is_quick_in_the_end(tmp_path: Path) -> None:
    ping = tmp_path / "ping"
    ping.write_text(SLOW_PING)
    ping.chmod(0o755)
    host = ("env", f"PATH={tmp_path}:/usr/bin:/bin")
    found = tried({"c1": host, "c2": host})
    large = [one.rtt_s for one in found.pings if one.payload_bytes == 65000]
    assert Counter(large) == {1e-3: 2, 9e-3: 2}
