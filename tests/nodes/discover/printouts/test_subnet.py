"""iblinkinfo and ibqueryerrors of a subnet."""

from pathlib import Path

import pytest

from fabricgauge.nodes.discover.printouts.subnet import (
    merge_subnets,
    parse_errors,
    parse_links,
    parse_subnet,
)

FIXTURES = Path(__file__).parents[3] / "fixtures"


def raw(tool: str, case: str) -> str:
    return (FIXTURES / tool / f"{case}.out").read_text()


@pytest.mark.parametrize("case", ["44--two-leaves", "44--two-leaves-lines"])
def test_each_end_of_each_link_is_read_with_what_both_ends_support(case: str) -> None:
    found = parse_links(raw("iblinkinfo", case)).links
    assert len(found) == 16
    first = found[0]
    assert (first.port.description, first.port.number) == ("n4 mlx5_0", 1)
    assert first.port.guid == "0x0000000000100007"
    assert (first.peer.description, first.peer.number) == ("Leaf1", 2)
    assert (first.lanes, first.lane_bit_s) == (4, 2.5e9)
    assert (first.lanes_supported, first.lane_bit_s_supported) == (12, 10e9)


def test_a_port_without_a_link_is_none() -> None:
    found = parse_links(raw("iblinkinfo", "44--unlinked")).links
    assert len(found) == 14
    assert not [one for one in found if (one.port.description, one.port.number) == ("Leaf0", 6)]


@pytest.mark.parametrize("case", ["44--errors", "44--errors-and-links", "44--errors-and-data"])
def test_counters_are_read_by_port_and_a_switchs_sum_is_left_out(case: str) -> None:
    leaf, adapter = parse_errors(raw("ibqueryerrors", case)).errors
    assert (leaf.port.description, leaf.port.number) == ("Leaf1", 5)
    assert leaf.counters["PortXmitDiscards"] == 12
    assert adapter.port.guid == "0x0000000000100003"
    assert adapter.counters["SymbolErrorCounter"] == 65535
    assert adapter.counters["LinkDownedCounter"] == 255


def test_no_error_differs_from_no_answer() -> None:
    assert parse_errors(raw("ibqueryerrors", "44--none")).read == {"errors"}
    assert parse_errors("ibwarn: can't open UMAD port\n").read == frozenset()
    assert parse_subnet("ibqueryerrors", "ibwarn: can't open UMAD port\n") is None
    assert parse_subnet("iblinkinfo", "") is None
    assert parse_subnet("ibstat", raw("iblinkinfo", "44--two-leaves")) is None


def test_two_printouts_of_one_subnet_are_one() -> None:
    one = parse_links(raw("iblinkinfo", "44--two-leaves"))
    assert len(merge_subnets([one, one]).links) == 16


@pytest.mark.parametrize("piece", ["a", " ", "[", '"', "Could be ", "CA: ", "GUID 0x1 port 1: ["])
def test_any_text_is_read_without_harm(piece: str) -> None:
    for parse in (parse_links, parse_errors):
        assert parse(piece * 20_000).links == ()
        assert merge_subnets([parse(f"{piece}\n" * 2_000)]).errors == parse(f"{piece}\n").errors
