"""What broken logs once brought the readers to: figures that are none, lines gone astray."""

import io
import json
from pathlib import Path

import msgspec
import pytest

from fabricgauge.logs.readers.lines import LONGEST_BYTES
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[2] / "fixtures"
IPERF = "iperf3/3.12--json"


def found(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(io.BytesIO(text), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def recorded(name: str) -> bytes:
    return (FIXTURES / f"{name}.out").read_bytes()


@pytest.mark.parametrize("half", [r"\ud800", r"\udc00", r"\ud83d\ud83d\ude00", r"\\ud83d\ude00"])
def test_half_a_character_in_json_can_be_written_again(half: str) -> None:
    text = recorded(IPERF).replace(b"iperf 3.12", b"iperf 3.12 " + half.encode())
    curves, _ = found(text)
    assert msgspec.json.decode(msgspec.json.encode(curves), type=list[SuiteCurve]) == curves
    assert "�" in curves[0].version


def test_a_whole_character_in_json_stays() -> None:
    text = recorded(IPERF).replace(b"iperf 3.12", rb"iperf 3.12 \ud83d\ude00")
    assert "\U0001f600" in found(text)[0][0].version


def test_a_figure_too_small_for_the_machine_is_a_failure() -> None:
    curves, _ = found(b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n1 5e-324\n")
    assert [(one.points, one.failures[0].trouble) for one in curves] == [((), "not a number")]


def test_a_percentile_too_large_for_the_machine_is_left_out() -> None:
    head = b"# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s) P50 Tail BW(MB/s)\n"
    curves, _ = found(head + b"1 2.00 1e308\n")
    assert [point.besides for point in curves[0].points] == [{}]


@pytest.mark.parametrize("size", ["9007199254740992", "999999999999999999"])
def test_a_message_larger_than_any_number_of_json_is_a_failure(size: str) -> None:
    head = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n"
    curves, _ = found(head + f"{size} 2.00\n".encode())
    assert [(one.points, one.failures[0].message_bytes) for one in curves] == [((), None)]


@pytest.mark.parametrize(("name", "before", "after"), [
    (IPERF, '"num_streams":\t1', f'"num_streams":\t{10**400}'),
    ("nccl-tests/2.19.6--all-reduce-two-nodes-json", '"iterations":20', f'"iterations":{10**30}'),
])  # fmt: skip
def test_a_count_beyond_all_bounds_is_not_believed(name: str, before: str, after: str) -> None:
    text = recorded(name)
    assert before.encode() in text
    curves, _ = found(text.replace(before.encode(), after.encode()))
    assert [len(one.points) for one in curves] == [len(one.points) for one in found(text)[0]]
    assert msgspec.json.decode(msgspec.json.encode(curves), type=list[SuiteCurve]) == curves


@pytest.mark.parametrize("columns", ["Size Size Latency(us)", "Size Latency(us) Size"])
def test_a_second_column_of_sizes_is_no_figure(columns: str) -> None:
    head = f"# OSU MPI Latency Test v7.4\n# {columns}\n".encode()
    curves, _ = found(head + b"1 2 3\n")
    assert [len(one.points) for one in curves] == [1]


def test_no_pairs_at_all_are_taken_for_one() -> None:
    head = b"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
    curves, _ = found(head + b"# [ pairs: 0 ] [ window size: 64 ]\n# Size MB/s Messages/s\n1 2 3\n")
    assert {one.pairs for one in curves} == {1}


def test_a_table_of_nccl_tests_without_heading_begins_at_its_first_row() -> None:
    row = b"8 2 float sum -1 11.0 0.01 0.01 0 11.0 0.01 0.01 0\n"
    curves, _ = found(b"# Using devices\n" + row)
    assert {one.first_line for one in curves} == {2}


def test_a_heading_of_nccl_tests_without_its_type_is_strange() -> None:
    heading = b"# size count #wrong redop root time algbw busbw type time algbw busbw #wrong\n"
    row = b"8 2 float sum -1 11.0 0.01 0.01 0 11.0 0.01 0.01 0\n"
    _, strange = found(b"# Using devices\n" + heading + row)
    assert strange[0].line == 2


@pytest.mark.parametrize("text", [
    b"# Using devices\n4 6 f s ]NCCL INFO o\n# Rank 7 on 2 device 3 []\n2 4 7 0",
    b"# Using devices\n4 6 a ]NCCL INFO o\n# Rank 7 Pid 7 on 2 device 3 []\n2 0 0 2 0",
])  # fmt: skip
def test_a_heading_in_the_midst_of_a_row_of_nccl_tests_is_below_its_first_line(text: bytes) -> None:
    curves, _ = found(text)
    assert {(one.first_line, one.last_line) for one in curves} == {(2, 2)}


@pytest.mark.parametrize("before", [
    b"# Using devices\n", b"# Using devices\n# Avg bus bandwidth : 1\n",
])  # fmt: skip
def test_the_beginning_of_a_row_of_nccl_tests_alone_is_told_of(before: bytes) -> None:
    curves, strange = found(before + b"8 2 float su NCCL INFO x\n")
    assert (curves, [one.text for one in strange]) == ([], ["8 2 float su"])


def test_what_is_no_rest_of_a_row_of_nccl_tests_is_told_of_by_itself() -> None:
    _, strange = found(b"# Using devices\n8 2 float su NCCL INFO x\nnobody's\n")
    assert [(one.line, one.text) for one in strange] == [(3, "nobody's"), (2, "8 2 float su")]


def test_each_line_of_an_unclosed_object_without_iperfs_fields_is_counted() -> None:
    curves, strange = found(b'{"start":{\nk\n"connected":{}')
    assert curves == []
    assert [(one.line, one.count) for one in strange] == [(2, 1), (1, 2)]


@pytest.mark.parametrize("name", [
    IPERF, "nvbandwidth/0.8--three-gpus-json", "nccl-tests/2.19.6--all-reduce-two-nodes-json",
])  # fmt: skip
def test_lines_of_others_in_an_object_do_not_shift_the_lines_after_them(name: str) -> None:
    lines = json.dumps(json.loads(recorded(name)), indent=1).encode().splitlines(keepends=True)
    disturbed = [*lines[:2], b"slurmstepd: a warning\n", *lines[2:4], b"|\n", *lines[4:]]
    whole, moved = found(b"".join(lines))[0], found(b"".join(disturbed))[0]
    assert len(whole) == len(moved)
    for one, other in zip(whole, moved, strict=True):
        assert [row.line + 2 for row in one.points] == [row.line for row in other.points]


def test_two_hosts_objects_in_turn_keep_the_lines_of_the_file() -> None:
    lines = recorded(IPERF).splitlines(keepends=True)
    turns = [label + line for line in lines for label in (b"c1: ", b"c2: ")]
    rows = {row.line for one in found(b"".join(turns))[0] for row in one.points}
    (alone,) = {row.line for one in found(b"".join(lines))[0] for row in one.points}
    assert rows == {2 * alone - 1, 2 * alone}


@pytest.mark.parametrize("text", [
    b'{"nvbandwidth": {"testcases": []}}\n', b'{"test_info": ["test: Send_BW_Test"]}\n',
])  # fmt: skip
def test_an_object_of_a_suite_without_results_is_told_of(text: bytes) -> None:
    curves, strange = found(text)
    assert (curves, [one.line for one in strange]) == ([], [1])


@pytest.mark.parametrize("label", [b"", b"  ", b"c1: ", b"0: ", b"[1] ", b"[1,0]<stdout>:"])
@pytest.mark.parametrize(("name", "field"), [
    (IPERF, "intervals"), ("nccl-tests/2.19.6--all-reduce-two-nodes-json", "results"),
    ("nvbandwidth/0.8--three-gpus-json", "nvbandwidth"),
])  # fmt: skip
def test_json_on_one_line_of_any_length_is_whole(name: str, field: str, label: bytes) -> None:
    document = json.loads(recorded(name))
    assert field in document
    document["padding"] = "x" * 4 * LONGEST_BYTES
    curves, strange = found(label + json.dumps(document).encode() + b"\n")
    assert strange == []
    assert len(curves) == len(found(recorded(name))[0])
    assert {one.cut_off for one in curves} == {""}


def test_a_long_line_that_only_begins_as_json_is_cut_like_all_others() -> None:
    curves, strange = found(b"{" + b"x" * 4 * LONGEST_BYTES + b"ib_write_bw \n")
    assert (curves, len(strange)) == ([], 1)


def test_our_own_remark_in_anothers_layout_is_no_strange_line() -> None:
    remark = b"# fabricgauge: measured by fabricgauge 0.1.0, not by # OSU MPI Latency Test v7.4\n"
    table = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n1 2.00\n"
    curves, strange = found(remark + table + remark + b"4194304 3.00\n" + remark)
    assert [len(one.points) for one in curves] == [2]
    assert strange == []
