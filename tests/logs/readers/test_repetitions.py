"""Tables that repeat a heading, folded: nothing is lost, and no figure is another one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fabricgauge.logs.readers.repetitions import Template, read_folded
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.families import rows_of
from fabricgauge.model.suite import LogContent, SuiteCurve, TableFamily, UnparsedLine

FOLD_FROM = 6
SIZES = tuple(2**power for power in range(10, 23, 2))


def osu_bw(best_mb_s: float, sizes: Iterable[int] = SIZES) -> str:
    rows = "".join(f"{size:<10d}{size / (0.15 + size / best_mb_s):>20.2f}\n" for size in sizes)
    return f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"


def osu_rates(best_mb_s: float) -> str:
    rows = "".join(
        f"{size:<10d}{best_mb_s:>20.2f}{1e6 * best_mb_s / size:>20.2f}\n" for size in SIZES
    )
    return (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
        "# [ pairs: 1 ] [ window size: 64 ]\n"
        f"# Size                  MB/s        Messages/s\n{rows}"
    )


def imb(best_mb_s: float) -> str:
    rows = "".join(
        f"{size:>13d}{640:>13d}{size / best_mb_s:>13.2f}{best_mb_s:>13.2f}\n" for size in SIZES
    )
    return (
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
        "#---------------------------------------------------\n"
        "# Benchmarking Uniband\n# #processes = 2\n"
        "#---------------------------------------------------\n"
        f"       #bytes #repetitions      t[usec]   Mbytes/sec\n{rows}\n"
    )


#: Pieces that a campaign may hold between its tables; each spoils one table or two, or none.
ODD_PIECES = {
    "nothing": "",
    "blank": "\n",
    "foreign": "Fri Nov 27 11:52:30 UTC 2026\n",
    "message": "[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n",
    "command": "+ srun -N2 --ntasks-per-node=1 osu_bw\n",
    "error": "[c1:04711] UCX  ERROR no usable transports/devices\n",
    "cut off": "".join(osu_bw(900.0).splitlines(keepends=True)[:-3]),
    "zero": osu_bw(900.0).replace("899.97", "  0.00"),
    "too slow": osu_bw(900.0).replace("899.97", "1e-317"),
    "too fast": osu_bw(900.0).replace(f"{899.97:>20}", f"{9e12:>20.2f}"),
    "other sizes": osu_bw(900.0, SIZES[:-1]),
    "half a row": osu_bw(900.0)[:-9] + "\n",
    "not a number": osu_bw(900.0)[:-7] + "   nan\n",
    "wider": osu_bw(9e17),
    "other suite": imb(900.0),
    "label": "[0] # OSU MPI Bandwidth Test v7.4\n",
}


def unfold(contents: Iterable[LogContent]) -> Iterator[SuiteCurve | UnparsedLine]:
    for content in contents:
        if isinstance(content, TableFamily):
            rows = rows_of((content,))
            for row in range(content.tables):
                yield from rows.table(row)
        else:
            yield content


def place(content: SuiteCurve | UnparsedLine) -> tuple[int, int, str]:
    is_curve = isinstance(content, SuiteCurve)
    line = content.first_line if isinstance(content, SuiteCurve) else content.line
    return line, is_curve, content.quantity if isinstance(content, SuiteCurve) else content.reason


def divide(text: str, block_bytes: int) -> list[bytes]:
    """Return whole lines in blocks, as files are read."""
    blocks, block = [], b""
    for line in text.encode().splitlines(keepends=True):
        block += line
        if len(block) >= block_bytes:
            blocks.append(block)
            block = b""
    return [*blocks, block] if block else blocks


@given(
    st.sampled_from([osu_bw, osu_rates, imb]),
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from(sorted(ODD_PIECES))), max_size=6),
    st.integers(0, 2**32),
    st.sampled_from([60, 3000, 20_000, 1 << 20]),
    st.booleans(),
)
def test_folded_and_unfolded_again_a_log_has_the_contents_that_readers_read(
    table: object, parts: list[tuple[int, str]], seed: int, block_bytes: int, rotates: bool
) -> None:
    chance, text = Random(seed), ""  # noqa: S311
    make = table if callable(table) else osu_bw
    for count, odd in [(20, "nothing"), *parts, (9, "nothing")]:
        for _ in range(count):
            text += make(chance.uniform(800, 1000))
            text += osu_bw(chance.uniform(70, 90), SIZES[:5]) if rotates else ""
        text += ODD_PIECES[odd]
    blocks = divide(text, block_bytes)
    folded = [*read_folded(blocks, "a.out", FOLD_FROM)]
    assert sorted(unfold(folded), key=place) == sorted(read(blocks, "a.out"), key=place)


@pytest.mark.parametrize("make", [osu_bw, osu_rates, imb])
def test_the_first_tables_and_the_last_stay_alone_and_templates_read_the_rest(make: object) -> None:
    assert callable(make)
    chance = Random(1)  # noqa: S311
    text = "".join(make(chance.uniform(800, 1000)) for _ in range(400))
    folded = [*read_folded([text.encode()], "a.out", FOLD_FROM)]
    families = [content for content in folded if isinstance(content, TableFamily)]
    lines = {content.first_line for content in folded if isinstance(content, SuiteCurve)}
    assert sum(family.tables for family in families) == 400 - FOLD_FROM - 1
    assert len(lines) == FOLD_FROM + 1
    # One record is a template's; the other has the tables in front of it and behind.
    assert max(family.tables for family in families) > 250
    assert families[0].curves[0].source == "a.out"


def test_tables_with_the_same_message_at_the_same_place_are_one_family() -> None:
    chance, start = Random(4), "[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n"  # noqa: S311
    text = "".join(start + osu_bw(chance.uniform(800, 1000)) for _ in range(100))
    folded = [*read_folded([text.encode()], "a.out", FOLD_FROM)]
    families = [content for content in folded if isinstance(content, TableFamily)]
    assert sum(family.tables for family in families) == 100 - FOLD_FROM - 1
    unfolded = [curve for curve in unfold(folded) if isinstance(curve, SuiteCurve)]
    for curve in unfolded:
        (message,) = curve.evidence.messages
        assert (message.kind, message.line) == ("tcp", curve.first_line - 1)


def test_blank_lines_are_no_heads_of_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, reads, read_rows = Random(5), [0], Template._read  # noqa: S311

    def count(self: Template, block: bytes, place: int, count: int) -> NDArray[np.float64]:
        reads[0] += 1
        return read_rows(self, block, place, count)

    monkeypatch.setattr(Template, "_read", count)
    text = "".join("\n" + osu_bw(chance.uniform(800, 1000)) for _ in range(100)) + "\n" * 20_000
    folded = [*read_folded([text.encode()], "a.out", FOLD_FROM)]
    families = [content for content in folded if isinstance(content, TableFamily)]
    assert sum(family.tables for family in families) == 100 - FOLD_FROM - 1
    assert 0 < reads[0] < 50


@pytest.mark.parametrize("odd", ["cut off", "zero", "too slow", "too fast", "other sizes", "error"])
def test_an_odd_table_stays_alone_with_its_findings(odd: str) -> None:
    chance = Random(2)  # noqa: S311
    text = "".join(osu_bw(chance.uniform(800, 1000)) for _ in range(60))
    text += ODD_PIECES[odd] + "".join(osu_bw(chance.uniform(800, 1000)) for _ in range(60))
    folded = [*read_folded([text.encode()], "a.out", FOLD_FROM)]
    curves = [content for content in folded if isinstance(content, SuiteCurve)]
    findings = Counter(
        word
        for curve in curves
        for word, is_true in {
            "cut off": bool(curve.cut_off),
            "zero": any(failure.trouble == "not a number" for failure in curve.failures),
            "too slow": any(point.estimate.value < 1e-300 for point in curve.points),
            "too fast": any(point.estimate.value > 1e18 for point in curve.points),
            "other sizes": len(curve.points) == len(SIZES) - 1,
            "error": bool(curve.evidence.messages),
        }.items()
        if is_true
    )
    assert findings[odd] == 1
    folded_count = sum(part.tables for part in folded if isinstance(part, TableFamily))
    assert folded_count + len({curve.first_line for curve in curves}) == 120 + (odd != "error")
