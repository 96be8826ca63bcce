"""Which sizes and percentiles a table shows."""

import msgspec
from tests.report import sample

from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import Measurement
from fabricgauge.report.content.curves import key_sizes, pictures
from fabricgauge.report.content.measured import cases
from fabricgauge.report.document import Fold, Table, plain_text


def with_sizes(*sizes: int) -> Judged:
    judged = sample.judged()
    curves = tuple(
        msgspec.structs.replace(
            one, points=tuple(point for point in one.points if point.message_bytes in sizes)
        )
        for one in judged.curves
    )
    return msgspec.structs.replace(judged, curves=curves)


def test_all_of_a_few_sizes_are_shown() -> None:
    few = (0, 8, 32, 1024, 2048, 1 << 20)
    assert key_sizes(with_sizes(*few).curves) == few
    assert len(key_sizes(sample.judged().curves)) == 7


def with_samples(count: int) -> Judged:
    """Every point from one launch with so many samples."""
    judged = sample.judged()
    curves = tuple(
        msgspec.structs.replace(
            one,
            points=tuple(
                msgspec.structs.replace(p, time=msgspec.structs.replace(p.time, samples=count))
                for p in one.points
            ),
        )
        for one in judged.curves
    )

    def fewer(one: Measurement) -> Measurement:
        return msgspec.structs.replace(one, samples=count, batch=16, warmup_samples=1500)

    (launch, *_) = judged.run.launches
    launch = msgspec.structs.replace(launch, measurements=tuple(map(fewer, launch.measurements)))
    run = msgspec.structs.replace(judged.run, launches=(launch,))
    return msgspec.structs.replace(judged, run=run, curves=curves)


def first_row(count: int) -> dict[str, str]:
    """The first row of the first table, by its heads."""
    fold = next(one for one in cases(with_samples(count)).blocks if isinstance(one, Fold))
    (table,) = fold.blocks
    assert isinstance(table, Table)
    cells = zip(table.columns, table.rows[0], strict=True)
    return {column.head: plain_text(said) for column, said in cells}


def test_a_percentile_of_too_few_samples_is_not_shown() -> None:
    assert (first_row(99)["p99"], first_row(99)["p99.9"]) == ("–", "–")
    assert first_row(100)["p99"] != "–"
    assert first_row(999)["p99.9"] == "–"
    assert first_row(1000)["p99.9"] != "–"


def test_a_percentile_of_too_few_samples_is_not_drawn() -> None:
    series = pictures(with_samples(99), "net1")[0].series[0]
    assert series.column("tail") == series.column("high")
    assert "too few samples" in series.marks[0].also


def test_batch_and_warm_up_are_shown() -> None:
    row = first_row(2000)
    assert (row["batch"], row["warm-up"]) == ("16", "1,500")
