"""Every recorded output of the suite is read, and its figures mean what IMB means by them."""

from pathlib import Path

import pytest

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.suite import Failure, SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "imb"
#: Lines that are no output of IMB's, and what IMB says where it does not measure.
NOT_UNDERSTOOD = {
    "2021.11--mt-refused": 2,
    "2021.11--p2p-4-ranks": 1,
    "4.0.0--mpi1-3-ranks": 10,
    "4.0.0--mpi1-checked": 1,
}
CUT_OFF = {"2021.11--p2p-pingpong-cut-off"}


def found(name: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    with (FIXTURES / f"{name}.out").open("rb") as lines:
        everything = list(read(lines, name))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def curves(name: str, benchmark: str, quantity: str = "time") -> list[SuiteCurve]:
    of_both = [one for one in found(name)[0] if one.benchmark == benchmark]
    return [one for one in of_both if one.quantity == quantity]


def values(curve: SuiteCurve) -> dict[int | None, float]:
    return {point.message_bytes: point.estimate.value for point in curve.points}


def names() -> list[str]:
    return sorted(path.stem for path in FIXTURES.glob("*.out"))


@pytest.mark.parametrize("name", names())
def test_every_line_of_every_output_is_understood_but_those_that_are_not_imb_s(name: str) -> None:
    _, strange = found(name)
    assert sum(one.count for one in strange) == NOT_UNDERSTOOD.get(name, 0) or name.startswith(
        "document--guide"
    )


@pytest.mark.parametrize("name", sorted({*names()} - {"2021.11--mt-refused"}))
def test_every_output_gives_curves_whose_cut_off_tables_are_told_of(name: str) -> None:
    all_curves, _ = found(name)
    assert all_curves
    assert all(one.suite == "imb" and one.points for one in all_curves)
    assert {bool(one.cut_off) for one in all_curves} == {name in CUT_OFF}


@pytest.mark.parametrize("name", names())
def test_every_row_of_every_table_becomes_a_point_or_a_failure(name: str) -> None:
    """Rows are the lines that begin with a whole number and have two words more."""
    lines = (FIXTURES / f"{name}.out").read_text().splitlines()
    rows = {
        number
        for number, text in enumerate(lines, 1)
        if len(text.split()) > 2 and text.split()[0].isdecimal() and not text.startswith("#")
    }
    curves_of_file, _ = found(name)
    told = {point.line for curve in curves_of_file for point in curve.points}
    told |= {failure.line for curve in curves_of_file for failure in curve.failures}
    assert rows == told


@pytest.mark.parametrize("name", names())
def test_units_by_version_agree_with_the_arithmetic_of_the_rows(name: str) -> None:
    rules = {one.unit_rule for one in found(name)[0] if one.quantity == "bandwidth"}
    wanted = "MB = 2^20 bytes" if name.startswith("4.0.0") else "MB = 10^6 bytes"
    assert all(rule.startswith(wanted) for rule in rules)
    assert "the rows agree" in " ".join(rules) or not rules


@pytest.mark.parametrize("name", names())
def test_one_table_carries_at_most_one_latency_pattern(name: str) -> None:
    latencies = [one for one in found(name)[0] if one.pattern in LATENCY_PATTERNS]
    tables = [(one.first_line, one.settings.get("group")) for one in latencies]
    assert len(set(tables)) == len(tables)
    assert all(one.quantity == "time" for one in latencies)


def test_ping_pong_is_half_a_round_trip_and_its_bandwidth_no_stream() -> None:
    (time,) = curves("2021.11--mpi1-pingpong-pingping", "PingPong")
    (rate,) = curves("2021.11--mpi1-pingpong-pingping", "PingPong", "bandwidth")
    assert (time.pattern, time.what, time.ranks) == ("latency", "half round trip", 2)
    assert (rate.pattern, rate.directions) == (None, 1)
    assert values(time)[1 << 22] == pytest.approx(3162.73e-6)
    assert values(rate)[1 << 22] == pytest.approx(1326.16e6)
    assert values(time)[0] == pytest.approx(0.20e-6)
    assert 0 not in values(rate)
    assert time.version == "2021.11"
    assert time.points[-1].estimate.samples == 10


def test_mib_of_4_0_0_are_read_as_such() -> None:
    (rate,) = curves("4.0.0--mpi1-checked", "PingPong", "bandwidth")
    assert values(rate)[64] == pytest.approx(77.69 * 2**20)
    assert rate.unit_rule == "MB = 2^20 bytes (IMB 4.0.0, and the rows agree)"


def test_ping_ping_is_told_per_direction_by_mpi1_and_as_a_sum_by_p2p() -> None:
    (mpi1,) = curves("2021.11--mpi1-pingpong-pingping", "PingPing", "bandwidth")
    (p2p,) = curves("2021.11--p2p-4-ranks", "PingPing", "bandwidth")
    assert (mpi1.directions, mpi1.pairs, mpi1.pattern) == (1, 1, None)
    assert (p2p.directions, p2p.pairs, p2p.pattern) == (2, 2, None)


def test_sendrecv_and_exchange_count_both_directions() -> None:
    name = "2021.11--mpi1-4-ranks"
    for benchmark in ("Sendrecv", "Exchange"):
        for rate in curves(name, benchmark, "bandwidth"):
            assert rate.directions == 2
            assert rate.pattern == ("bidirectional_bandwidth" if rate.ranks == 2 else None)
    two, four = curves(name, "Sendrecv")
    assert (two.ranks, four.ranks) == (2, 4)
    assert two.settings["waiting processes"] == "2"
    assert two.points[-1].besides == pytest.approx({"minimum": 11.28e-6, "maximum": 11.30e-6})


def test_streams_sum_over_pairs_and_directions() -> None:
    name = "2021.11--mpi1-4-ranks"
    one, two = curves(name, "Uniband", "bandwidth")
    both, _ = curves(name, "Biband", "bandwidth")
    rates, _ = curves(name, "Uniband", "message_rate")
    assert (one.pattern, one.directions, one.pairs, two.pairs) == ("bandwidth", 1, 1, 2)
    assert (both.pattern, both.directions) == ("bidirectional_bandwidth", 2)
    assert values(one)[4096] == pytest.approx(883.86e6)
    assert values(rates)[4096] == 215787


def test_barrier_has_no_size_and_collectives_have_the_extremes_over_ranks() -> None:
    barrier, _ = curves("2021.11--mpi1-4-ranks", "Barrier")
    assert values(barrier) == {None: pytest.approx(6.70e-6)}
    reduced, _ = curves("2021.11--mpi1-4-ranks", "Allreduce")
    assert (reduced.what, reduced.settings["datatype"]) == ("Allreduce", "MPI_FLOAT")


def test_only_puts_with_a_flush_are_ours() -> None:
    alone, many = curves("2021.11--rma", "Unidir_put")
    _, stream = curves("2021.11--rma", "Unidir_put", "bandwidth")
    assert (alone.pattern, alone.settings["mode"]) == ("put_latency", "non-aggregate")
    assert (many.pattern, stream.pattern) == (None, "put_bandwidth")
    assert {one.pattern for one in curves("2021.11--rma", "Put_local")} == {None}
    fenced = curves("2021.11--ext", "Unidir_Put")
    assert [one.pattern for one in fenced] == [None, None]
    assert fenced[1].what == "Unidir_Put with its fence"
    streams = curves("2021.11--ext", "Unidir_Put", "bandwidth")
    assert [one.pattern for one in streams] == ["put_bandwidth", None]
    bidirectional = curves("2021.11--ext", "Bidir_Put", "bandwidth")
    assert all(one.directions == 1 and "both directions" in one.what for one in bidirectional)


def test_overlap_is_a_share_and_its_times_are_told_apart() -> None:
    (overlap,) = curves("2021.11--nbc", "Ibcast", "overlap")
    assert values(overlap)[1] == pytest.approx(0.2472)
    assert values(overlap)[256] == 0.0
    assert [one.what for one in curves("2021.11--nbc", "Ibcast")] == [
        "Ibcast with computation meanwhile", "Ibcast alone", "computation during Ibcast",
    ]  # fmt: skip


def test_groups_at_once_are_no_lone_ping_pong() -> None:
    (together,) = curves("2021.11--intel-mpi1-multi-0", "PingPong")
    assert (together.pattern, together.ranks) == (None, 4)
    assert together.what == "half round trip, 2 groups at once"
    assert together.title == "Benchmarking Multi-PingPong"
    first, second = curves("2021.11--mpi1-checked-multi-1", "PingPong")
    assert (first.settings["ranks"], second.settings["ranks"]) == ("0 1", "2 3")
    assert (first.ranks, first.pattern) == (2, None)


def test_threads_share_the_printed_size() -> None:
    (time,) = curves("2021.11--mt-2-threads", "PingPongMT")
    assert list(values(time)) == [4, 16, 64, 256, 1024, 4096]
    assert (time.settings["threads"], time.pattern) == ("2", None)
    (stream,) = curves("2021.11--mt-2-threads", "UniBandMT", "bandwidth")
    assert stream.settings["window"] == "64"
    (barrier,) = curves("2021.11--mt-2-threads", "BarrierMT")
    assert values(barrier) == {None: pytest.approx(2365.91e-6)}


@pytest.mark.parametrize(
    ("name", "benchmark", "trouble", "size"),
    [
        ("2021.11--mpi1-time-out", "PingPong", "timeout", 2 << 20),
        ("2021.11--mpi1-out-of-memory", "PingPong", "memory", 8 << 20),
        ("2021.11--mpi1-out-of-memory", "Alltoall", "memory", 4 << 20),
    ],
)
def test_sizes_that_imb_gives_up_are_failures_and_no_cut_off(
    name: str, benchmark: str, trouble: str, size: int
) -> None:
    (time,) = curves(name, benchmark)
    failures: tuple[Failure, ...] = time.failures
    assert [(one.message_bytes, one.trouble) for one in failures] == [(size, trouble)]
    assert time.cut_off == ""


def test_a_bandwidth_that_was_rounded_to_nothing_is_left_out_without_a_failure() -> None:
    (rate,) = curves("2021.11--rma-3-ranks", "One_put_all", "bandwidth")
    (time,) = curves("2021.11--rma-3-ranks", "One_put_all")
    assert (rate.failures, time.failures) == ((), ())
    assert 1 in values(time)
    assert 1 not in values(rate)


def test_a_command_that_imb_refuses_is_told_of() -> None:
    all_curves, strange = found("2021.11--mt-refused")
    assert all_curves == []
    assert "a command that IMB accepts" in [one.reason for one in strange]


def test_tables_in_a_document_are_read_by_their_own_arithmetic() -> None:
    times = curves("document--guide-tables", "PingPong")
    rates = curves("document--guide-tables", "PingPong", "bandwidth")
    assert [values(one)[1] for one in times] == pytest.approx([48.05e-6, 0.46e-6, 0.32e-6])
    assert [values(one)[1 << 22] for one in rates] == pytest.approx(
        [115.62e6, 3950.47e6, 5567.74e6]
    )
    assert {(one.pattern, one.settings["part"], one.version) for one in times} == {
        ("latency", "P2P", "")
    }
    assert {len(one.points) for one in times} == {24}
    assert {one.unit_rule for one in rates} == {"MB = 10^6 bytes (IMB-P2P, and the rows agree)"}
