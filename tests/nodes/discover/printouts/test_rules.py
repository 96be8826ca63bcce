import pytest
from tests.nodes.discover.printouts.reading import parse, read

from fabricgauge.model.inventory import RoutingRule

KERNELS = (RoutingRule(32766, "all", "all", "main"), RoutingRule(32767, "all", "all", "default"))
LOCAL = RoutingRule(0, "all", "all", "local")


@pytest.mark.parametrize("case", ["6.1--rails-text", "6.1--rails-json"])
def test_rules_by_source_have_their_tables(case: str) -> None:
    own = (
        RoutingRule(101, "10.77.0.11", "all", "101"),
        RoutingRule(102, "10.77.0.101", "all", "102"),
    )
    assert read("ip_rule", case).rules == (LOCAL, *own, *KERNELS)


@pytest.mark.parametrize("case", ["6.1--selectors-text", "6.1--selectors-json"])
def test_rules_on_more_than_addresses_are_left_out(case: str) -> None:
    both = RoutingRule(50, "10.0.0.0/8", "10.2.0.0/16", "7")
    assert read("ip_rule", case).rules == (LOCAL, both, *KERNELS)


def test_who_made_a_rule_is_no_condition() -> None:
    text = "5:\tfrom 10.1.0.1 lookup 7 proto static\n"
    assert parse("ip_rule", text).rules == (RoutingRule(5, "10.1.0.1", "all", "7"),)
    told = '[{"priority":5,"src":"10.1.0.1","table":"7","protocol":"static"}]'
    assert parse("ip_rule", told).rules == (RoutingRule(5, "10.1.0.1", "all", "7"),)


@pytest.mark.parametrize("text", ["Error: whatever\n", "x: from all lookup main\n"])
def test_a_message_is_no_rule(text: str) -> None:
    parts = parse("ip_rule", text)
    assert (parts.rules, len(parts.troubles)) == ((), 1)
