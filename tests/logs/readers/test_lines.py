import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.lines import LONGEST_BYTES, plain, split_host, split_label


@pytest.mark.parametrize(("text", "label", "rest"), [
    ("[1,0]<stdout>:# OSU", "[1,0]<stdout>:", "# OSU"),
    ("[1,12]<stderr>: x", "[1,12]<stderr>:", "x"),
    ("0: x", "0:", "x"), (" 12: x", "12:", "x"), ("[3] x", "[3]", "x"), ("x: y", "", "x: y"),
    ("  0:       1 bytes  20000 times -->", "", "  0:       1 bytes  20000 times -->"),
    ("[  5]   0.00-1.00   sec", "", "[  5]   0.00-1.00   sec"),
    ("[10] 0.0-1.0 sec", "", "[10] 0.0-1.0 sec"), ("", "", ""),
])  # fmt: skip
def test_labels_of_launchers(text: str, label: str, rest: str) -> None:
    assert split_label(text) == (label, rest)


def test_a_host_is_a_word_with_a_colon() -> None:
    assert split_host("c1: # OSU") == ("c1", "# OSU")
    assert split_host("10.0.0.1: x") == ("", "10.0.0.1: x")


@given(st.binary(max_size=200))
def test_any_bytes_become_text_without_line_end(raw: bytes) -> None:
    assert not plain(raw).endswith(("\n", "\r"))


def test_a_line_longer_than_any_suites_is_cut_but_json_is_not() -> None:
    assert len(plain(b"x" * 2 * LONGEST_BYTES)) == LONGEST_BYTES
    assert len(plain(b"{" + b"x" * 2 * LONGEST_BYTES)) == 2 * LONGEST_BYTES + 1
