import statistics

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import curves_of, found, raw

from fabricgauge.logs.readers import mpigraph
from fabricgauge.logs.readers.lines import LONGEST_BYTES
from fabricgauge.logs.readers.mpigraph import Spread
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve

NAME = "1.5--three-ranks"


def table(ranks: int, rate: "dict[tuple[int, int], float]") -> bytes:
    names = [f"node-{rank:05}:{rank}" for rank in range(ranks)]
    lines = ["START mpiGraph v1.5", "MsgSize\t65536", f"Procs\t{ranks}", ""]
    for part, way in (("Send", "to"), ("Recv", "from")):
        lines += [f"{part}\t" + "".join(f"{name}\t" for name in names)]
        for here, name in enumerate(names):
            cells = [rate.get((here, peer), 100.0) * (here != peer) for peer in range(ranks)]
            lines.append(f"{name} {way}\t" + "".join(f"{one:0.3f}\t" for one in cells))
    return "\n".join([*lines, "END mpiGraph", ""]).encode()


def test_each_table_is_one_figure_the_median_pair() -> None:
    send, recv = curves_of("mpigraph", NAME)
    pairs = [1181.922, 555.693, 3715.530, 459.905, 370.630, 530.429]
    point = send.points[0]
    assert point.estimate.value == pytest.approx(statistics.median(pairs) * 2**20)
    assert point.besides["minimum"] == pytest.approx(370.63 * 2**20)
    assert point.besides["maximum"] == pytest.approx(3715.53 * 2**20)
    assert (point.message_bytes, point.estimate.samples) == (1048576, 6)
    assert (send.version, send.benchmark, send.statistic) == ("1.5", "mpiGraph", "median")
    assert (send.ranks, send.hosts, send.pattern) == (3, ("c1", "c1", "c1"), None)
    assert recv.settings["part"] == "Recv"
    assert send.cut_off == recv.cut_off == ""


def test_the_slowest_pair_is_named_in_the_direction_of_the_bytes() -> None:
    send, recv = curves_of("mpigraph", NAME)
    assert send.settings["slowest pair"].startswith("c1:2 to c1:0: 370.63 MiB/s (68.2 % ")
    assert recv.settings["slowest pair"].startswith("c1:2 to c1:0: 328.593 MiB/s")
    assert recv.settings["fastest pair"].startswith("c1:0 to c1:2: 3453.2 MiB/s")
    assert send.settings["window"] == "4"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (7, "ends before the first table"),
        (16, "the Send table has 2 of 3 rows"),
        (17, "ends without the line 'END mpiGraph'"),
        (24, "the Recv table has 2 of 3 rows"),
        (25, "ends without the line 'END mpiGraph'"),
    ],
)
def test_every_cut_is_told_of(lines: int, told: str) -> None:
    text = b"".join(raw("mpigraph", NAME).splitlines(keepends=True)[:lines])
    assert found(text)[0][-1].cut_off == told


def test_a_row_cut_in_the_middle_is_told_of() -> None:
    text = raw("mpigraph", NAME).partition(b"1228.612")[0]
    assert found(text)[0][-1].cut_off == "the last row of the Recv table has 1 of 3 figures"


def test_an_end_without_a_table_is_told_of() -> None:
    curves, strange = found(b"START mpiGraph v1.5\nProcs\t3\n\nEND mpiGraph\n")
    assert curves == []
    assert [one.line for one in strange] == [4]


def test_a_pair_without_a_figure_is_a_failure() -> None:
    text = raw("mpigraph", NAME).replace(b"459.905", b"0.000").replace(b"555.693", b"inf")
    send = found(text)[0][0]
    assert [one.text for one in send.failures] == ["c1:0 to c1:2: inf", "c1:1 to c1:2: 0.000"]
    assert send.points[0].estimate.samples == 4


def test_rows_longer_than_a_line_may_be_are_put_together() -> None:
    ranks = 9000
    header = "".join(f"node-{rank:05}:{rank}\t" for rank in range(ranks))
    row = "0.000\t" + "101.000\t" * (ranks - 1)
    lines = ["START mpiGraph v1.5\n", f"Procs\t{ranks}\n", f"Send\t{header}\n"]
    lines += [f"node-00000:0 to\t{row}\n"]
    pieces = [
        text[at : at + LONGEST_BYTES].encode()
        for text in lines
        for at in range(0, len(text), LONGEST_BYTES)
    ]
    send = next(iter(read(pieces)))
    assert isinstance(send, SuiteCurve)
    assert send.points[0].estimate.samples == ranks - 1
    assert send.failures == ()
    assert send.cut_off == f"the Send table has 1 of {ranks} rows"


def test_slow_pairs_are_found_among_many() -> None:
    send, _ = found(table(40, {(7, 3): 12.5}))[0]
    assert send.settings["slowest pair"].startswith("node-00007:7 to node-00003:3: 12.5 MiB/s")
    assert send.points[0].estimate.value == 100 * 2**20


def test_a_matrix_is_as_large_as_the_rows_that_were_seen() -> None:
    text = b"START mpiGraph v1.5\nProcs\t1024\n" + b"Send\ta:0\na:0 to\t1.0\t\n" * 12
    curves = found(text)[0]
    assert len(curves) == 12
    assert not any(curve.evidence.rank_pairs for curve in curves)
    assert len(msgspec.json.encode(curves)) < 100 * len(text)


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (b"Procs\t3", b"Procs\t3", 9), (b"Procs\t3", b"Procs\t4", 0), (b"Procs\t3", b"Procs\t2", 0),
        (b"1:1 to\t", b"1:2 to\t", 0), (b"0.000\t", b"", 0),
    ],
)  # fmt: skip
def test_only_whole_matrices_are_kept(old: bytes, new: bytes, pairs: int) -> None:
    text = table(3, {}).replace(b"node-0000", b"")
    assert old in text
    matrix = found(text.replace(old, new))[0][0].evidence.rank_pairs
    assert (len(matrix.values) if matrix else 0) == pairs


def test_matrices_of_a_file_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpigraph, "MOST_PAIRS", 40)
    curves = found(table(4, {}) * 4)[0]
    kept = [bool(curve.evidence.rank_pairs) for curve in curves]
    assert kept == [True, False, True, False, *[False] * 4]
    assert {curve.points[0].estimate.samples for curve in curves} == {12}


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=60))
def test_quantiles_are_exact_for_few_figures(figures: list[float]) -> None:
    some = Spread()
    for figure in figures:
        some.add([figure])
    assert some.quantiles((0.5,))[0] == pytest.approx(statistics.median(figures))
    assert some.quantiles((0.0, 1.0)) == [min(figures), max(figures)]


@given(figures=st.lists(st.floats(1e-3, 1e6), min_size=9, max_size=60))
def test_quantiles_of_very_many_figures_are_within_their_class(figures: list[float]) -> None:
    before, mpigraph.MOST_EXACT = mpigraph.MOST_EXACT, 4
    try:
        some = Spread()
        for figure in figures:
            some.add([figure])
        median = some.quantiles((0.5,))[0]
    finally:
        mpigraph.MOST_EXACT = before
    assert not some.is_exact
    assert median == pytest.approx(statistics.median(figures), rel=mpigraph.RESOLUTION)


@given(st.lists(st.sampled_from(raw("mpigraph", NAME).splitlines(True))))
def test_lines_in_any_order_never_raise(lines: list[bytes]) -> None:
    for curve in found(b"".join(lines))[0]:
        assert all(point.estimate.value > 0 for point in curve.points)


def test_a_last_cell_whose_tab_an_editor_took_counts() -> None:
    text = raw("mpigraph", NAME)
    bare = b"\n".join(line.rstrip() for line in text.split(b"\n"))
    assert bare != text
    assert [one.points for one in found(bare)[0]] == [one.points for one in found(text)[0]]
