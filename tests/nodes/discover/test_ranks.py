"""What is wrong with the ranks of a launch that says nothing."""

import pytest

from fabricgauge.nodes.discover.ranks import find_lost_ranks, parse_hex_address

RANKS = {"c1": 1, "c2": 1, "c3": 1}
RUNNING = {"c1": ("R",), "c2": ("S",), "c3": ("R",)}


def test_nothing_is_wrong_where_every_rank_runs_or_sleeps() -> None:
    assert find_lost_ranks(RANKS, RUNNING, {}) == {}


def test_a_stopped_rank_names_its_node() -> None:
    found = find_lost_ranks(RANKS, {**RUNNING, "c3": ("T",)}, {})
    assert list(found) == ["c3"]
    assert "stopped" in found["c3"]


def test_a_rank_that_is_gone_names_its_node() -> None:
    found = find_lost_ranks({**RANKS, "c2": 2}, {**RUNNING, "c2": ("S",), "c3": ()}, {})
    assert {node: "gone" in what for node, what in found.items()} == {"c2": True, "c3": True}


def test_a_node_that_is_silent_is_named_with_its_reason() -> None:
    found = find_lost_ranks(RANKS, {"c1": ("R",), "c2": ("R",)}, {"c3": "c3: no answer in 6 s"})
    assert list(found) == ["c3"]
    assert "no answer in 6 s" in found["c3"]


def test_nothing_is_known_where_no_rank_is_seen_anywhere() -> None:
    assert find_lost_ranks(RANKS, {"c1": (), "c2": (), "c3": ()}, {}) == {}
    assert find_lost_ranks(RANKS, {}, dict.fromkeys(RANKS, "no answer")) == {}


@pytest.mark.parametrize(
    ("text", "ip"),
    [
        ("0D004D0A", "10.77.0.13"),
        ("0000000000000000FFFF00000D004D0A", "10.77.0.13"),
        ("000080FE00000000000000000B000000", "fe80::b"),
        ("0D004D", ""),
        ("no hex", ""),
    ],
)
def test_an_address_is_read_as_the_kernel_prints_it(text: str, ip: str) -> None:
    assert parse_hex_address(text) == ip
