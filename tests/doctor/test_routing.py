"""Which way packets take, by rules and tables; and rails of one subnet, with and without them."""

from functools import partial

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor import clusters
from tests.doctor.clusters import clean, findings, only, with_inventory
from tests.doctor.rails import DEFAULT, DIRECT, OTHER, RAILS, routed, two_rails

from fabricgauge.doctor.checks.routes import choose_route, find_best_route
from fabricgauge.model.fabric import Network
from fabricgauge.model.finding import Command, Severity
from fabricgauge.model.inventory import Inventory, Route, RoutingRule
from fabricgauge.model.preflight import Preflight

MAIN = RoutingRule(32766, "all", "all", "main")
FIRST = Route("10.2.0.0/24", "ib0", "", "10.2.0.1", 0)
SECOND = Route("10.2.0.0/24", "ib1", "", "10.2.0.101", 0)


def inventory(rules: tuple[RoutingRule, ...], *tables: Route) -> Inventory:
    plain = clusters.inventory(1)
    return msgspec.structs.replace(plain, rules=rules, routes=(FIRST, SECOND), tables=tables)


def way(one: Inventory, source: str, ip: str = "10.2.0.2") -> str:
    route = choose_route(one, source, ip)
    return route.interface if route else "none"


def test_a_rule_by_source_goes_before_the_main_table() -> None:
    own = msgspec.structs.replace(SECOND, table="102")
    ruled = inventory((RoutingRule(102, "10.2.0.101", "all", "102"), MAIN), own)
    assert (way(ruled, "10.2.0.101"), way(ruled, "10.2.0.1")) == ("ib1", "ib0")
    assert way(inventory((MAIN,)), "10.2.0.101") == "ib0"
    assert way(inventory(()), "10.2.0.101") == "ib0"


def test_a_table_without_a_route_leaves_it_to_the_next_rule() -> None:
    other = Route("10.9.0.0/24", "ib1", "", "", 0, "102")
    ruled = inventory((RoutingRule(102, "10.2.0.101", "all", "102"), MAIN), other)
    assert (way(ruled, "10.2.0.101"), way(ruled, "10.2.0.101", "10.9.0.3")) == ("ib0", "ib1")
    assert way(inventory((RoutingRule(1, "10.2.0.101", "all", "7"),)), "10.2.0.101") == "none"


def test_a_rule_to_another_destination_does_not_count() -> None:
    own = msgspec.structs.replace(SECOND, table="7")
    ruled = inventory((RoutingRule(7, "10.0.0.0/8", "10.3.0.0/16", "7"), MAIN), own)
    assert way(ruled, "10.2.0.101") == "ib0"


TEXT = st.one_of(st.text(max_size=12), st.sampled_from(["all", "default", "10.0.0.0/8", "::/0"]))


@given(st.lists(st.tuples(TEXT, TEXT)), st.lists(TEXT), st.ip_addresses(), st.ip_addresses())
def test_no_rule_or_route_is_a_crash(
    selectors: list[tuple[str, str]], destinations: list[str], source: object, ip: object
) -> None:
    routes = tuple(Route(text, "e0", "", "", 0) for text in destinations)
    rules = tuple(RoutingRule(0, one, other, "main") for one, other in selectors)
    one = msgspec.structs.replace(clusters.inventory(1), routes=routes, rules=rules)
    found = choose_route(one, str(source), str(ip))
    assert found is None or found in routes
    assert find_best_route(routes, str(ip)) is None or routes


def answered(preflight: Preflight, rail: Network) -> Preflight:
    """The same with an echo that came back between any two members of a rail."""
    answers = (
        clusters.ping(rail, one, other, 56, False)
        for one in rail.members
        for other in rail.members
        if one != other
    )
    return msgspec.structs.replace(preflight, pings=(*preflight.pings, *answers))


def railed(with_tables: bool, **settings: str) -> Preflight:
    """Two InfiniBand rails in one subnet on each node, members of one network, all answered."""
    preflight = two_rails(**settings)
    rail = clusters.network(preflight.fabric.nodes, "ib", "ib1", 200e9)
    members = (*preflight.fabric.networks[1].members, *rail.members)
    preflight = clusters.with_network(preflight, "ib", members=members)
    preflight = answered(preflight, rail)
    for number in (1, 2, 3, 4):
        preflight = with_inventory(
            preflight, f"c{number}", partial(with_routes, number=number, with_tables=with_tables)
        )
    return preflight


def with_routes(one: Inventory, number: int, with_tables: bool) -> Inventory:
    ips = {"101": ("ib0", f"10.2.0.{number}"), "102": ("ib1", f"10.2.0.{100 + number}")}
    routes = tuple(Route("10.2.0.0/24", name, "", ip, 0) for name, ip in ips.values())
    direct = Route("10.1.0.0/24", "eth0", "", f"10.1.0.{number}", 0)
    tables = tuple(
        Route("10.2.0.0/24", name, "", ip, 0, table) for table, (name, ip) in ips.items()
    )
    own = tuple(RoutingRule(int(table), ip, "all", table) for table, (_, ip) in ips.items())
    return msgspec.structs.replace(
        one, routes=(direct, *routes), tables=tables if with_tables else (),
        rules=(*own, MAIN) if with_tables else (MAIN,),
    )  # fmt: skip


def test_rails_with_rules_by_their_source_are_no_fault() -> None:
    assert findings(railed(True, **RAILS)) == []
    assert findings(railed(True, **{**RAILS, "arp_announce": "0"})) == []
    filtered = {"arp_ignore": "0", "arp_announce": "0", "arp_filter": "1"}
    assert findings(railed(True, **filtered)) == []


def test_rules_by_source_do_not_keep_a_node_from_answering_for_another_rail() -> None:
    """Tried: with rules and no arp_ignore, the address of one rail had the MAC of the other."""
    found = only(railed(True, **{**RAILS, "arp_ignore": "0", "arp_announce": "0"}))
    assert (found.check, found.severity) == ("arp", Severity.WARN)
    assert {command.argv[-1].rpartition(".")[2] for command in found.mends} == {"arp_ignore=1"}


def test_rails_without_rules_all_send_by_the_first_one() -> None:
    """Tried: with arp_filter, or with arp_ignore, all that the second one should send leaves by
    the first."""
    for settings in (RAILS, {**RAILS, "arp_ignore": "0", "arp_filter": "1"}):
        found = only(railed(False, **settings))
        assert (found.check, found.severity) == ("reverse-path", Severity.WARN)
        assert found.where == "c1:ib1, c2:ib1, c3:ib1 and c4:ib1"
        assert found.what.endswith("packets of ib1 to ib leave by ib0")
    own = [one.argv for one in found.mends if one.node == "c1"]
    table = own[0][-1]
    assert found.mends[0] == Command(
        "c1",
        (
            "ip",
            "route",
            "replace",
            "10.2.0.0/24",
            "dev",
            "ib1",
            "src",
            "10.2.0.101",
            "table",
            table,
        ),
    )
    assert own[1] == (
        "ip", "rule", "add", "from", "10.2.0.101", "lookup", table, "priority", table
    )  # fmt: skip


def test_a_mending_table_is_one_that_nobody_has() -> None:
    preflight = railed(False, **RAILS)
    usual = only(preflight).mends[0].argv[-1]
    taken = Route("10.9.0.0/24", "eth0", "", "", 0, usual)
    preflight = with_inventory(
        preflight, "c1", lambda one: msgspec.structs.replace(one, tables=(taken,))
    )
    tables = {one.argv[-1] for one in only(preflight).mends if one.node == "c1"}
    assert usual not in tables
    assert len(tables) == 1


def test_rails_in_one_subnet_are_a_finding_only_where_they_answer_for_each_other() -> None:
    assert findings(two_rails(**RAILS)) == []
    assert findings(two_rails(**{**RAILS, "arp_ignore": "0", "arp_filter": "1"})) == []
    assert findings(two_rails()) == []  # nobody knows
    found = only(two_rails(**{**RAILS, "arp_ignore": "0"}))
    assert (found.check, found.severity, len(found.nodes)) == ("arp", Severity.WARN, 4)
    assert Command("c1", ("sysctl", "-w", "net.ipv4.conf.ib1.arp_ignore=1")) in found.mends


def test_a_route_by_another_interface_is_named_and_fails_where_the_kernel_drops() -> None:
    assert findings(routed(clean(), DIRECT, OTHER, DEFAULT)) == []
    wrong = routed(clean(), DIRECT, Route("10.2.0.0/25", "eth0", "10.1.0.254", "", 0), OTHER)
    found = only(wrong)
    assert (found.check, found.where, found.severity) == ("reverse-path", "c2:ib0", Severity.WARN)
    assert found.what.endswith("packets to ib leave by eth0")
    strict = clusters.with_fact(wrong, "c2", "net.ipv4.conf.all.rp_filter", "1")
    assert only(strict).severity is Severity.FAIL


def test_a_route_to_one_peer_over_another_network_fails_where_the_rules_are_known() -> None:
    """Peers refuse connections from an address that they were not told: MPI does not start."""
    wrong = routed(clean(), DIRECT, Route("10.2.0.4/32", "eth0", "10.1.0.4", "", 0), OTHER)
    assert only(wrong).severity is Severity.WARN
    ruled = with_inventory(wrong, "c2", lambda one: msgspec.structs.replace(one, rules=(MAIN,)))
    found = only(ruled)
    assert (found.check, found.where, found.severity) == ("reverse-path", "c2:ib0", Severity.FAIL)
    assert "10.2.0.4 is reached by eth0" in found.evidence[0]


def test_rails_that_get_answers_are_left_to_the_check_of_arp() -> None:
    preflight = two_rails(**RAILS)
    nodes = preflight.fabric.nodes
    rail = clusters.network(nodes, "ib", "ib1", 200e9)
    both = (*preflight.fabric.networks[1].members, *rail.members)
    preflight = clusters.with_network(preflight, "ib", members=both)
    first = Route("10.2.0.0/24", "ib0", "", "10.2.0.2", 0)
    second = Route("10.2.0.0/24", "ib1", "", "10.2.0.102", 0)
    preflight = routed(preflight, DIRECT, first, second)
    assert [(one.check, one.where) for one in findings(preflight)] == [("reverse-path", "c2:ib1")]
    assert findings(answered(preflight, rail)) == []
