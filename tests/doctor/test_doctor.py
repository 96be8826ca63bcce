"""Each fault that the lab can plant is named by doctor, at its place, and nothing else is."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from tests.check.commands import SHORT, Checked, fabricgauge

pytestmark = [pytest.mark.lab]

TWO_NETWORKS = ("--network", "net1:1G", "--network", "net2:1G:9000")


def doctor(name: str, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit status and findings."""
    done = fabricgauge("doctor", "--lab", name, "--format", "json", "--seconds", "1", *options)
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return done.returncode, found


def named(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["check"], one["where"]) for one in found]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--nodes", "2"), marks=pytest.mark.slow),
        ("--nodes", "4", *TWO_NETWORKS),
    ],
)
def test_a_clean_lab_has_no_finding(lab: Callable[..., str], options: tuple[str, ...]) -> None:
    assert doctor(lab(*options)) == (0, [])


FAULTS = {
    "link down": (("link-down", "c2", "net1"), "link", "c2:eth0"),
    "a port that came up slow": (("port-rate", "c2", "net1", "100M"), "rate", "c2:eth0"),
    "a rate held back elsewhere": (("rate", "c2", "net1", "250M"), "carried", "c2:eth0"),
    "another MTU": (("mtu", "c2", "net2", "1500"), "mtu", "c2:eth1"),
    "overlapping subnets": (("address", "c2", "net1", "10.77.0.12/8"), "subnets", "c2:eth0"),
    "a duplicate address": (("address", "c2", "net1", "10.77.0.11/24"), "addresses", "c2:eth0"),
    "an address of the head": (("address", "c2", "net1", "10.77.0.1/24"), "addresses", "c2:eth0"),
    "a wrong hosts entry": (("hosts", "c2", "net1", "c1=10.77.0.99"), "names", "c2"),
    "a wrong alias": (("hosts", "c2", "net2", "c3=10.77.1.99"), "names", "c2"),
    "lost pings": (("loss", "c2", "net2", "40"), "ping", "c2:eth1"),
    "one frame of a hundred lost": (("loss", "c2", "net2", "1"), "ping", "c2:eth1"),
    "low memlock": (("memlock", "c2", "65536"), "limits", "c2"),
    "an address elsewhere": (("address", "c2", "net1", "10.99.0.12/24"), "members", "c2"),
    "rising drops": (("drops", "c2", "net2", "50"), "counters", "c2:eth1"),
}


#: What load does not change.
QUICK = ("a rate held back elsewhere", "low memlock")


@pytest.mark.slow
@pytest.mark.parametrize(
    "some",
    [QUICK, pytest.param(FAULTS.keys() - QUICK, marks=pytest.mark.alone)],
    ids=("two", "all others"),
)
def test_each_planted_fault_is_named_at_its_place_and_nothing_else(
    lab: Callable[..., str], fault: Callable[..., None], some: Collection[str]
) -> None:
    name = lab("--nodes", "3", *TWO_NETWORKS)
    for planted in sorted(some):
        words, check, where = FAULTS[planted]
        fault(name, *words)
        status, found = doctor(name)
        assert named(found) == [(check, where)], (planted, found)
        assert status == (found[0]["severity"] == "FAIL"), planted
        assert found[0]["nodes"] == ["c2"], planted
        assert found[0]["evidence"]
        assert found[0]["remedy"]
        healed = fabricgauge("lab", "heal", "--name", name)
        assert healed.returncode == 0, healed.stderr
    assert doctor(name) == (0, [])


@pytest.mark.parametrize(
    "planted",
    [
        "a duplicate address",
        pytest.param("an address of the head", marks=pytest.mark.slow),
        pytest.param("link down", marks=pytest.mark.slow),
        pytest.param("another MTU", marks=pytest.mark.slow),
        pytest.param("overlapping subnets", marks=pytest.mark.slow),
    ],
)
def test_of_two_nodes_the_right_one_is_named(
    lab: Callable[..., str], fault: Callable[..., None], planted: str
) -> None:
    words, check, where = FAULTS[planted]
    name = lab("--nodes", "2", *TWO_NETWORKS)
    fault(name, *words)
    found = doctor(name)[1]
    if planted == "another MTU":  # 1500 and 9000: the smaller of two is the odd one
        assert found[0]["mends"][0]["argv"][-1] == "9000"
    assert named(found) == [(check, where)]


@pytest.mark.parametrize(
    "entry",
    ["c2=10.77.0.99", *(pytest.param(f"c2=10.77.{one}", marks=pytest.mark.slow)
                        for one in ("1.12", "0.11"))],
)  # fmt: skip
def test_of_two_nodes_the_one_with_the_wrong_hosts_entry_is_named(
    lab: Callable[..., str], fault: Callable[..., None], entry: str
) -> None:
    name = lab("--nodes", "2", *TWO_NETWORKS)
    fault(name, "hosts", "c1", "net1", entry)
    assert named(doctor(name, "--only", "names")[1]) == [("names", "c1")]


@pytest.mark.slow
def test_a_route_to_the_peer_over_another_network_fails(lab: Callable[..., str]) -> None:
    name = lab("--nodes", "2", *TWO_NETWORKS)
    route = ["ip", "route", "add", "10.77.0.12/32", "via", "10.77.1.12", "dev", "eth1"]
    assert fabricgauge("lab", "exec", "--name", name, "c1", "--", *route).returncode == 0
    status, found = doctor(name)
    assert (status, named(found)) == (1, [("reverse-path", "c1:eth0")])


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("mtu", "c2", "net2", "1500"),
        ("address", "c2", "net1", "10.77.0.12/8"),
        ("address", "c2", "net1", "10.77.0.11/24"),
    ],
)
def test_the_commands_of_a_finding_mend_it(
    lab: Callable[..., str], fault: Callable[..., None], words: tuple[str, ...]
) -> None:
    name = lab("--nodes", "3", *TWO_NETWORKS)
    fault(name, *words)
    ((one,)) = doctor(name)[1]
    assert one["mends"]
    for command in one["mends"]:
        done = fabricgauge("lab", "exec", "--name", name, command["node"], "--", *command["argv"])
        assert done.returncode == 0, done.stderr
    assert doctor(name) == (0, [])


@pytest.mark.slow
def test_the_head_is_looked_at_where_that_was_asked_for(
    lab: Callable[..., str], fault: Callable[..., None]
) -> None:
    name = lab("--nodes", "2", *TWO_NETWORKS)
    assert doctor(name, "--head") == (0, [])
    fault(name, "mtu", "head", "net2", "1500")
    assert doctor(name) == (0, [])
    assert named(doctor(name, "--head")[1]) == [("mtu", "head:eth1")]


def in_one_subnet(name: str, node: str, ip: str) -> None:
    """The second interface becomes a rail of the first network; requests for one's own alone."""
    for words in (
        ("ip", "addr", "add", f"{ip}/24", "brd", "+", "dev", "eth1"),
        ("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.all.arp_announce=2"),
    ):
        done = fabricgauge("lab", "exec", "--name", name, node, "--", *words)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_rails_of_one_subnet_are_mended_by_tables_of_their_own(lab: Callable[..., str]) -> None:
    """They are on different switches here, so nothing but routes is looked at."""
    name = lab("--nodes", "3", *TWO_NETWORKS)
    for number in (1, 2, 3):
        in_one_subnet(name, f"c{number}", f"10.77.0.{100 + number}")
    ((one,)) = doctor(name, "--only", "reverse-path,arp")[1]
    assert (one["check"], one["where"]) == ("reverse-path", "c1:eth1, c2:eth1 and c3:eth1")
    for command in one["mends"]:
        done = fabricgauge("lab", "exec", "--name", name, command["node"], "--", *command["argv"])
        assert done.returncode == 0, done.stderr
    assert doctor(name, "--only", "reverse-path,arp") == (0, [])


def test_an_html_page_is_written_to_a_file(
    lab: Callable[..., str], fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab("--nodes", "2")
    fault(name, "link-down", "c2", "net1")
    page = tmp_path / "doctor.html"
    only = ("--only", "link")
    done = fabricgauge("doctor", "--lab", name, *only, "--format", "html", "--to", str(page))
    assert (done.returncode, done.stdout) == (1, "")
    assert 'c2:eth0 (net1)</span><span class="found">has no carrier' in page.read_text()


def test_a_node_that_cannot_be_entered_is_named_and_the_others_are_looked_at(
    lab: Callable[..., str],
) -> None:
    name = lab("--nodes", "3")
    done = fabricgauge("doctor", "--lab", name, "-w", "c1,c2,c9")
    assert done.returncode == 2
    assert "has no node 'c9'" in done.stderr


@pytest.mark.slow
def test_only_what_was_asked_for_is_looked_at(
    lab: Callable[..., str], fault: Callable[..., None]
) -> None:
    name = lab("--nodes", "2", *TWO_NETWORKS)
    fault(name, "link-down", "c2", "net1")
    fault(name, "mtu", "c2", "net2", "1500")
    assert named(doctor(name, "--only", "mtu")[1]) == [("mtu", "c2:eth1")]
    assert doctor(name, "--network", "net2", "--only", "ping,names") == (0, [])
    assert named(doctor(name, "--skip", "mtu,counters")[1]) == [("link", "c2:eth0")]
    none = fabricgauge("doctor", "--lab", name, "--only", "acs")
    assert (none.returncode, "nothing could be checked" in none.stdout) == (3, True)


def test_a_check_keeps_what_the_quick_checks_found_and_tells_of_what_fails(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    name = lab("--nodes", "2", *TWO_NETWORKS)
    fault(name, "address", "c2", "net1", "10.77.0.12/8")
    checked = check("--lab", name, "--network", "net2", *SHORT)
    found = json.loads((checked.path / "preflight.json").read_text())
    assert named(found) == [("subnets", "c2:eth0")]
    assert "subnets: c2:eth0: has interfaces in overlapping subnets" in checked.text


def test_a_bundle_is_looked_at_and_what_was_not_tried_is_told(
    lab: Callable[..., str], fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab("--nodes", "3")
    fault(name, "mtu", "c2", "net1", "1400")
    bundle = str(tmp_path / "bundle")
    assert fabricgauge("discover", "--lab", name, "-o", bundle).returncode == 0
    done = fabricgauge("doctor", "--from", bundle)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL mtu: c2:eth0" in done.stdout
    assert "ping: a bundle was read; nothing was tried" in done.stdout


def test_the_list_names_every_check_with_a_line() -> None:
    lines = fabricgauge("doctor", "--list").stdout.splitlines()
    assert len(lines) == 36
    assert lines[0].split() == ["reach", "Every", "node", "answers", "to", "the", "end"]


DEAD = {
    "a dead pair": ("c1", "ip route add blackhole 10.77.0.13", "between c1:eth0 and c3:eth0"),
    "a wrong ARP entry": (
        "c2",
        "ip neigh replace 10.77.0.14 lladdr 02:00:00:00:00:99 dev eth0 nud permanent",
        "between c2:eth0 and c4:eth0",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("planted", ["a wrong ARP entry", "a dead pair"])
def test_pairs_that_cannot_connect_are_named_though_no_echo_is_sent_between_them(
    lab: Callable[..., str], planted: str
) -> None:
    node, command, where = DEAD[planted]
    name = lab("--nodes", "4")
    fabricgauge("lab", "exec", "--name", name, node, "--", *command.split())
    status, found = doctor(name, "--only", "connect")
    assert (status, named(found)) == (1, [("connect", where)])
    assert len(found[0]["evidence"]) == 2


#: Drops what comes in for the ports that MPI listens on. The rule has to stand before that of
#: the node's own addresses, which therefore moves.
HIGH_PORTS = (
    "ip rule add pref 10 lookup local",
    "ip rule add pref 5 iif eth0 ipproto tcp dport 32768-65534 blackhole",
    "ip rule del pref 0 lookup local",
)


@pytest.mark.slow
def test_a_filter_of_high_ports_is_named_though_echoes_pass(lab: Callable[..., str]) -> None:
    name = lab("--nodes", "4")
    for command in HIGH_PORTS:
        fabricgauge("lab", "exec", "--name", name, "c3", "--", *command.split())
    _, found = doctor(name, "--only", "connect,ping")
    assert named(found) == [("connect", "c3:eth0")]
