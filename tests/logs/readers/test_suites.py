"""Mixed, labelled, broken and foreign files: each reader gets what is its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import LogStream, read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

LATENCY = (
    b"\n# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
    b"1                       1.77\n2                       5.96\n4                       2.46\n"
)
BANDWIDTH = (
    b"\n# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
    b"1                       7.00\n2                      15.02\n4                      25.58\n"
)
#: perftest's, as 4.5 prints it.
PERFTEST = (
    b"---------------------------------------------------------------------------------------\n"
    b"                    RDMA_Write BW Test\n"
    b" Dual-port       : OFF\t\tDevice         : rxe0\n"
    b"---------------------------------------------------------------------------------------\n"
    b" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    b" 2          5000             12.01              11.85              6.210454\n"
    b" 65536      5000             12001.10           11999.90           0.191998\n"
    b"---------------------------------------------------------------------------------------\n"
)
JSON = b'{\n  "made_by": "nobody",\n  "list": [1, 2,\n 3]\n}\n'

VALUES = [1.77e-6, 5.96e-6, 2.46e-6]


def found(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.splitlines(keepends=True), "a.out"))
    curves = [each for each in everything if isinstance(each, SuiteCurve)]
    return curves, [each for each in everything if isinstance(each, UnparsedLine)]


def benchmarks(text: bytes) -> list[str]:
    return [each.benchmark for each in found(text)[0]]


def values(curve: SuiteCurve) -> list[float]:
    return [point.estimate.value for point in curve.points]


def labelled(text: bytes, label: bytes) -> list[bytes]:
    return [label + line for line in text.splitlines(keepends=True)]


def test_every_finding_names_its_source() -> None:
    curves, strange = found(LATENCY + b"Goodbye\n")
    assert {each.source for each in curves} == {each.source for each in strange} == {"a.out"}


def test_outputs_of_several_suites_in_one_file_are_told_apart() -> None:
    names = benchmarks(LATENCY + PERFTEST + BANDWIDTH)
    assert names[0] == "osu_latency"
    assert "ib_write_bw" in names
    assert names[-1] == "osu_bw"


@pytest.mark.parametrize("label", [
    b"[1,0]<stdout>:", b"[1,0]<stdout>: ", b"0: ", b" 0: ", b"[0] ", b"c1: ", b"node-7.example: ",
])  # fmt: skip
def test_a_launchers_label_is_taken_off(label: bytes) -> None:
    curves, _ = found(b"".join(labelled(LATENCY, label)))
    assert [values(each) for each in curves] == [pytest.approx(VALUES)]


@pytest.mark.parametrize("labels", [(b"c1: ", b"c2: "), (b"0: ", b"11: "), (b"[0] ", b"[1] ")])
def test_outputs_of_two_hosts_interleaved_line_by_line_are_two(labels: tuple[bytes, bytes]) -> None:
    lines = zip(labelled(LATENCY, labels[0]), labelled(BANDWIDTH, labels[1]), strict=True)
    curves, _ = found(b"".join(one + other for one, other in lines))
    assert sorted(each.benchmark for each in curves) == ["osu_bw", "osu_latency"]
    assert {len(each.points) for each in curves} == {3}


def test_a_word_with_a_colon_is_no_label_unless_an_output_begins_behind_it() -> None:
    _, strange = found(b"Warning: no device\nerror: none either\n12: and nothing here\n")
    assert [(each.text, each.count) for each in strange] == [("Warning: no device", 3)]


def test_carriage_returns_and_colours_change_nothing() -> None:
    dressed = LATENCY.replace(b"\n", b"\r\n").replace(b"# OSU", b"\x1b[1;32m# OSU")
    dressed = dressed.replace(b"1.77", b"\x1b[31m1.77\x1b[0m")
    assert found(dressed)[0] == found(LATENCY)[0]


def test_junk_before_amid_and_after_leaves_the_table_whole() -> None:
    lines = LATENCY.splitlines(keepends=True)
    warning = b"[c1:4711] mca_base_component: unable to open mca_btl_openib\n"
    text = warning + b"".join([*lines[:5], warning, *lines[5:]]) + b"slurmstepd: done\n"
    curves, strange = found(text)
    assert values(curves[0]) == pytest.approx(VALUES)
    assert [each.line for each in strange] == [1, 7, 10]


def test_lines_that_follow_each_other_are_told_of_together_over_blank_ones() -> None:
    _, strange = found(b"one\ntwo\n\n\nthree\n" + LATENCY + b"four\n")
    assert [(each.line, each.count, each.text) for each in strange] == [
        (1, 3, "one"),
        (13, 1, "four"),
    ]


def test_an_object_that_no_suite_writes_is_reported_and_ends_nothing() -> None:
    curves, strange = found(LATENCY + JSON + BANDWIDTH)
    assert [each.benchmark for each in curves] == ["osu_latency", "osu_bw"]
    assert [(each.line, each.count) for each in strange] == [(8, 5)]


def test_an_object_that_never_closes_does_not_swallow_the_output_after_it() -> None:
    assert benchmarks(b'{\n "start": {\n' + LATENCY + BANDWIDTH) == ["osu_latency", "osu_bw"]


def test_a_launchers_line_in_an_object_is_reported_alone() -> None:
    iperf = b'{\n"start": {"version": "iperf 3.12"},\nslurmstepd - a warning, no JSON\n"end": {}}\n'
    _, strange = found(iperf)
    assert (3, "slurmstepd - a warning, no JSON") in [(each.line, each.text) for each in strange]


def test_many_labels_are_read_in_bounded_memory() -> None:
    text = b"".join(b"%d: # OSU MPI Latency Test v7.4\n" % rank for rank in range(5000))
    curves, _ = found(text)
    assert len(curves) == 5000


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_any_bytes_raise_nothing(lines: list[bytes]) -> None:
    list(read(lines))


PIECES = [
    *LATENCY.splitlines(keepends=True), *PERFTEST.splitlines(keepends=True), b"{\n", b"}\n",
    b'{"a": [1]}\n', b"[\n", b"]\n", b'"b": "{",\n', b"c1: junk\n", b"c1: # OSU MPI Latency Test\n",
    b"0: 1    2.00\n", b"\n", b"junk\n", b"```\n", b"\xff\xfe\x00\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_no_line_is_counted_twice_and_none_beyond_the_end(lines: list[bytes]) -> None:
    told = [each for each in read(lines) if isinstance(each, UnparsedLine)]
    assert all(1 <= each.line <= len(lines) for each in told)
    assert sum(each.count for each in told) <= len(lines)


@given(st.lists(st.sampled_from([b"junk\n", b"\n", b"a: b\n", b"7\n", b"# x\n"]), max_size=60))
def test_every_foreign_line_is_counted_once(lines: list[bytes]) -> None:
    told = [each for each in read(lines) if isinstance(each, UnparsedLine)]
    assert sum(each.count for each in told) == sum(bool(line.strip()) for line in lines)


@given(st.integers(0, len(LATENCY + PERFTEST)))
def test_an_output_cut_anywhere_is_whole_or_told_of(cut: int) -> None:
    for curve in found((LATENCY + PERFTEST)[:cut])[0]:
        assert curve.cut_off or curve.suite == "perftest"


def test_a_stream_keeps_nothing_of_what_it_has_told() -> None:
    assert list(LogStream().end()) == []


LABELS = [
    "[rank 1] ", "[rank1]: ", "[default0]:", "rank 1: ", "Rank 0: ", "c1 0: ", "c1  | ",
    "[STDOUT] ", "[1,0]<stdout>:", "Mon Nov 23 21:39:27 2026[1,0]<stdout>:",
    "Mon Nov 23 21:39:27 2026<stdout>:", "[prterun-c1-44@1,0]<stdout>: ", "0: ", "[0] ", "c1: ",
    "> ", ">> ", "> > ", "> [1,0]<stdout>: ",
]  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_labels_and_quotes_before_each_line_change_nothing(label: str) -> None:
    labelled = b"".join(label.encode() + line for line in LATENCY.splitlines(keepends=True))
    curves, strange = found(labelled)
    assert strange == []
    assert curves == found(LATENCY)[0]


def test_two_ranks_under_labels_are_told_apart() -> None:
    turns = [f"[rank {i}] ".encode() + line for line in LATENCY.splitlines(True) for i in (0, 1)]
    curves, strange = found(b"".join(turns))
    assert strange == []
    assert [values(one) for one in curves] == [values(found(LATENCY)[0][0])] * 2


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf" + LATENCY, LATENCY + b"\xef\xbb\xbf" + LATENCY])
def test_a_byte_order_mark_changes_nothing(text: bytes) -> None:
    assert {one.benchmark for one in found(text)[0]} == {"osu_latency"}
    assert found(text)[1] == []


@pytest.mark.parametrize("fence", ["```", "~~~", "```text", '```console title="a log"'])
def test_fences_of_a_document_end_an_output_and_are_no_lines_of_it(fence: str) -> None:
    block = f"{fence}\n".encode() + LATENCY + f"{fence[:3]}\n".encode()
    curves, strange = found(block + b"Then:\n" + block + PERFTEST)
    assert [one.benchmark for one in curves] == ["osu_latency"] * 2 + benchmarks(PERFTEST)
    assert [one.text for one in strange] == ["Then:"]


def test_a_fence_ends_an_object_that_is_cut_off() -> None:
    assert benchmarks(b'{\n "start": {\n```\n' + LATENCY) == ["osu_latency"]


@pytest.mark.parametrize(("text", "is_told"), [
    (b"1 2,00\n", True), (b"65536 11744,88\n", True), (b"1,024 2.00\n", False),
    (b"a line [1,0] of others\n", False),
])  # fmt: skip
def test_a_decimal_comma_is_named(text: bytes, is_told: bool) -> None:
    _, (line,) = found(b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n" + text)
    assert (line.line, "decimal comma" in line.reason) == (3, is_told)


@pytest.mark.parametrize("ranks", [(0, 1), (1, 2), (3, 7)])
def test_ranks_that_begin_one_after_the_other_are_no_lines_numbers(ranks: tuple[int, int]) -> None:
    one, other = (
        [f"{rank}: ".encode() + line for line in LATENCY.splitlines(True)] for rank in ranks
    )
    curves, strange = found(b"".join(one[1:3] + other[1:3] + one[3:] + other[3:]))
    assert strange == []
    assert [values(curve) for curve in curves] == [pytest.approx(VALUES)] * 2
    turns = [line for pair in zip(one[1:], other[1:], strict=True) for line in pair]
    assert [values(curve) for curve in found(b"".join(turns))[0]] == [pytest.approx(VALUES)] * 2
