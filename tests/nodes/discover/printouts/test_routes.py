import pytest
from tests.nodes.discover.printouts.reading import parse, read

from fabricgauge.model.inventory import Route

ROUTES = (
    Route("default", "d1", "10.10.1.10", "", 100),
    Route("10.0.0.0/8", "d0", "", "10.10.40.21", 0),
    Route("10.10.1.0/24", "d1", "", "10.10.1.21", 0),
    Route("10.50.0.0/16", "d1", "10.10.1.11", "", 0),
    Route("10.50.0.0/16", "d0", "10.10.40.22", "", 0),
    Route("10.51.0.1", "d0", "", "10.10.40.21", 0),
    Route("10.52.0.0/16", "d0", "fe80::1", "", 0),
)


@pytest.mark.parametrize("case", ["6.1--text", "6.1--json"])
def test_text_and_json_give_the_same_routes(case: str) -> None:
    assert read("ip_route", case).routes == ROUTES


@pytest.mark.parametrize("case", ["6.1--all", "6.1--all-json"])
def test_what_leads_to_the_node_itself_is_left_out(case: str) -> None:
    routes, tables = read("ip_route", case).routes, read("ip_route", case).tables
    assert tables == ()
    assert routes[: len(ROUTES)] == ROUTES
    assert [one.destination for one in routes[len(ROUTES) :]] == ["fe80::/64", "fe80::/64"]


def test_an_ipv6_route_has_its_metric() -> None:
    assert read("ip_route", "6.1--six-json").routes[0] == Route("fe80::/64", "d1", "", "", 256)


def test_words_without_a_value_do_not_shift_the_others() -> None:
    text = "10.1.0.0/16 via 10.0.0.1 dev e0 onlink metric 5 linkdown\n"
    assert parse("ip_route", text).routes == (Route("10.1.0.0/16", "e0", "10.0.0.1", "", 5),)


@pytest.mark.parametrize("text", ["Error: ipv4: FIB table does not exist.\n", "Dump terminated\n"])
def test_a_message_is_no_route(text: str) -> None:
    parts = parse("ip_route", text)
    assert (parts.routes, len(parts.troubles)) == ((), 1)


def test_no_routes_are_no_trouble() -> None:
    assert parse("ip_route", "").troubles == parse("ip_route", "[]").troubles == ()


def test_routes_of_other_tables_stand_apart() -> None:
    parts = read("ip_route", "6.1--rails-json")
    assert [one.interface for one in parts.routes] == ["eth0", "eth1"]
    assert parts.tables == (
        Route("10.77.0.0/24", "eth0", "", "10.77.0.11", 0, "101"),
        Route("10.77.0.0/24", "eth1", "", "10.77.0.101", 0, "102"),
    )
