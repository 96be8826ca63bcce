import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.nodes.discover.sections import split_by_node

NODES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
LINES = st.text(st.characters(exclude_characters="\n\r", codec="utf-8"))


def test_pdsh_mixes_nodes_and_keeps_each_ones_order() -> None:
    text = "c1: *-network\nc2: *-network\nc1:   product: X\n\nc2:   product: Y\nc1: \n"
    assert split_by_node(text) == {
        "c1": "*-network\n  product: X\n\n", "c2": "*-network\n  product: Y\n",
    }  # fmt: skip


def test_the_launchers_own_words_are_nobodys() -> None:
    text = "pdsh@head: c1: ssh exited with exit code 1\nc1: x\nclush: c2: exited with exit code 1\n"
    assert split_by_node(text) == {"c1": "x\n"}


def test_srun_pads_its_numbers() -> None:
    assert split_by_node(" 0: a\n10: b\n 0: c\n") == {"0": "a\nc\n", "10": "b\n"}


@pytest.mark.parametrize("text", ["", "c1: a\nno label\n", "c1:no blank\n", "a b: c\n", "<b>: x\n"])
def test_a_file_with_a_line_that_has_no_label_is_not_labelled(text: str) -> None:
    assert split_by_node(text) == {}


def test_keys_are_no_nodes_where_the_nodes_are_known() -> None:
    text = "driver: i40e\nversion: 1\n"
    assert split_by_node(text, ["c1", "c2"]) == {}
    assert split_by_node(f"c1: {text}".replace("\nv", "\nc1: v"), ["c1"]) == {"c1": text}


def test_only_the_first_label_is_taken_away() -> None:
    assert split_by_node("c1: c2: x\n") == {"c1": "c2: x\n"}


@given(st.lists(st.tuples(NODES, LINES), min_size=1))
def test_what_was_labelled_is_found_again(said: list[tuple[str, str]]) -> None:
    said = [(node, line) for node, line in said if node not in ("clush", "srun")]
    text = "".join(f"{node}: {line}\n" for node, line in said)
    wanted: dict[str, str] = {}
    for node, line in said:
        wanted[node] = wanted.get(node, "") + line + "\n"
    assert split_by_node(text) == wanted
