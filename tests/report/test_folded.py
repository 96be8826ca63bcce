"""Names of many nodes in one word."""

import pytest
from ClusterShell.NodeSet import NodeSet
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.report.content.inventory import LONGEST, folded, shortened


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["c1", "c2", "c3", "c7"], "c[1-3,7]"),
        (["c2", "c1", "c2"], "c[1-2]"),
        (["n08", "n09", "n10", "n11"], "n[08-11]"),
        (["n9", "n10"], "n[9-10]"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["c1.x", "c2.x", "head"], "head,c[1-2].x"),
        (["c1"], "c1"),
        ([], ""),
    ],
)
def test_names_are_folded_by_their_last_number(names: list[str], text: str) -> None:
    assert folded(names) == text


@given(st.sets(st.from_regex(r"[a-z]{1,3}[0-9]{1,4}", fullmatch=True), max_size=30))
def test_clustershell_reads_back_what_was_folded(names: set[str]) -> None:
    assert set(NodeSet(folded(names))) == names


def test_a_list_that_folds_badly_is_shortened_and_one_of_a_few_names_is_not() -> None:
    scattered = [f"c{number}" for number in range(1, 2000, 2)]
    assert shortened(scattered) == "c1, c3 … c1999 (1,000)"
    long = ["x" * LONGEST, "y"]
    assert shortened(long) == folded(long)
