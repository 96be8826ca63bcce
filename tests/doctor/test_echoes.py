"""Planted faults of MTUs and of what echoes meet; each is named alone."""

import msgspec
from tests.doctor.clusters import NO, clean, findings, only, with_interface, with_pings

from fabricgauge.model.finding import Command, Severity
from fabricgauge.model.preflight import Ping, Preflight


def test_another_mtu_is_named_with_the_command_that_sets_it() -> None:
    found = only(with_interface(clean(), "c3:eth0", mtu_bytes=1500))
    assert (found.check, found.where, found.severity) == ("mtu", "c3:eth0", Severity.FAIL)
    assert found.mends == (Command("c3", ("ip", "link", "set", "dev", "eth0", "mtu", "9000")),)


def unwhole(preflight: Preflight, node: str) -> Preflight:
    def lost(ping: Ping) -> Ping:
        if ping.whole and ping.network == "eth" and node in (ping.source, ping.target):
            return msgspec.structs.replace(ping, received=0, rtt_s=NO, told="frag needed")
        return ping

    return with_pings(preflight, lost)


def test_a_path_that_takes_no_full_packet_is_named_by_the_node_that_all_fail_with() -> None:
    found = only(unwhole(clean(), "c3"))
    assert (found.check, found.where) == ("mtu", "c3:eth0")
    assert found.what == "packets of the full MTU (9000) do not pass"
    assert "frag needed" in found.evidence[0]


def test_whole_packets_that_the_twin_of_an_address_got_prove_nothing() -> None:
    (address,) = {
        ping.source_ip for ping in clean().pings if (ping.source, ping.network) == ("c4", "eth")
    }

    def shared(ping: Ping) -> Ping:
        if (ping.source, ping.network) == ("c3", "eth"):
            return msgspec.structs.replace(ping, source_ip=address)
        return ping

    assert not findings(with_pings(unwhole(clean(), "c3"), shared))


def test_a_lossy_path_is_not_taken_for_a_small_mtu() -> None:
    def lossy(ping: Ping) -> Ping:
        if ping.network == "eth" and "c3" in (ping.source, ping.target):
            return msgspec.structs.replace(ping, received=3 if not ping.whole else 0)
        return ping

    found = only(with_pings(clean(), lossy))
    assert (found.check, found.where, found.what) == ("ping", "c3:eth0", "loses echoes")


def test_of_two_nodes_the_pair_is_named() -> None:
    def lossy(ping: Ping) -> Ping:
        small = not ping.whole and ping.network == "eth"
        return msgspec.structs.replace(ping, received=2) if small else ping

    found = only(with_pings(clean(2), lossy))
    assert (found.where, found.nodes) == ("between c1:eth0 and c2:eth0", ("c1", "c2"))


def test_where_all_pairs_fail_nobody_is_accused() -> None:
    def lost(ping: Ping) -> Ping:
        gone = msgspec.structs.replace(ping, received=0, rtt_s=NO)
        return gone if ping.network == "eth" else ping

    found = only(with_pings(clean(), lost))
    assert found.nodes == ("c1", "c2", "c3", "c4")
    assert found.what == "answers no echo"


def test_a_single_echo_that_is_lost_is_a_warning_only() -> None:
    def lost(ping: Ping) -> Ping:
        one = (ping.source, ping.target, ping.network, ping.payload_bytes)
        return msgspec.structs.replace(ping, received=4) if one == ("c1", "c2", "eth", 56) else ping

    assert only(with_pings(clean(), lost)).severity is Severity.WARN


def test_a_node_that_answers_late_is_named() -> None:
    def late(ping: Ping) -> Ping:
        if ping.network == "eth" and "c2" in (ping.source, ping.target):
            return msgspec.structs.replace(ping, rtt_s=2e-3)
        return ping

    found = only(with_pings(clean(), late))
    assert (found.check, found.where, found.severity) == ("ping", "c2:eth0", Severity.WARN)


def held_back(preflight: Preflight, node: str, rtt_s: float) -> Preflight:
    def slow(ping: Ping) -> Ping:
        large = ping.payload_bytes > 10000 and ping.network == "eth"
        if large and node in (ping.source, ping.target):
            return msgspec.structs.replace(ping, rtt_s=rtt_s)
        return ping

    return with_pings(preflight, slow)


def test_a_link_that_is_held_back_elsewhere_shows_by_its_large_echoes() -> None:
    found = only(held_back(clean(), "c2", 1.2e-3))
    assert (found.check, found.where, found.severity) == ("carried", "c2:eth0", Severity.WARN)
    assert "of 100 Gb/s" in found.what


def test_what_hosts_add_to_large_echoes_is_no_finding() -> None:
    assert findings(held_back(clean(), "c2", 0.5e-3)) == []
    assert findings(held_back(clean(2), "c2", 1.2e-3)) == []


def test_what_was_not_tried_is_no_finding_and_says_why() -> None:
    from fabricgauge.doctor.examining import examine

    preflight = msgspec.structs.replace(
        clean(), pings=(), lookups=(), clocks=(), rises=(), seconds=0.0,
        untried={"ping": "there is no ping program"},
    )  # fmt: skip
    checked = {one.check: one for one in examine(preflight)}
    assert not [one for one in checked.values() if one.findings]
    ping = checked["ping"].skipped
    assert ping is not None
    assert ping.reason == "there is no ping program"
    assert all(checked[name].skipped for name in ("names", "clocks", "counters", "carried"))


def test_where_echoes_are_forbidden_and_links_answer_it_is_a_warning() -> None:
    def filtered(ping: Ping) -> Ping:
        return msgspec.structs.replace(ping, received=0, rtt_s=NO, heard=True)

    found = findings(with_pings(clean(), filtered))
    assert {(one.check, one.severity) for one in found} == {("ping", Severity.WARN)}
    assert "icmp_echo_ignore_all" in found[0].remedy

    def deaf(ping: Ping) -> Ping:
        return filtered(ping) if ping.target == "c2" else ping

    assert {(one.where, one.severity) for one in findings(with_pings(clean(), deaf))} == {
        ("c2:eth0", Severity.WARN), ("c2:ib0", Severity.WARN),
    }  # fmt: skip


def test_a_dead_node_is_no_evidence_against_a_lossy_pair() -> None:
    def lost(ping: Ping) -> Ping:
        if "c1" in (ping.source, ping.target):
            return msgspec.structs.replace(ping, received=0, rtt_s=NO)
        if (ping.source, ping.target) == ("c3", "c4") and not ping.whole:
            return msgspec.structs.replace(ping, received=2)
        return ping

    pair = next(one for one in findings(with_pings(clean(), lost)) if len(one.nodes) == 2)
    assert (pair.nodes, pair.network) == (("c3", "c4"), "eth")
    assert not any("c1" in line for line in pair.evidence)
