"""What is looked for in broken logs would be found."""

from collections.abc import Iterable, Iterator
from random import Random

import msgspec
import pytest
from tests.fuzz import judged, logs, oracle
from tests.fuzz.minimise import smallest
from tests.fuzz.mutations import MOST_BYTES

from fabricgauge.logs.readers.suites import Found, read
from fabricgauge.model.suite import SuiteCurve

SEED = 7
TABLE = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n1 2.00\n4194304 3.00\n"


def test_an_input_depends_on_its_seed_and_number_alone() -> None:
    inputs = [logs.input_of(SEED, number) for number in range(300)]
    assert inputs == [logs.input_of(SEED, number) for number in range(300)]
    assert len(set(inputs)) > 270  # broken to nothing, some are alike
    assert sum(len(one) > MOST_BYTES for one in inputs) < 5


def wrong_figure(curve: SuiteCurve) -> SuiteCurve:
    point = curve.points[0]
    estimate = msgspec.structs.replace(point.estimate, value=float("inf"))
    return msgspec.structs.replace(
        curve, points=(msgspec.structs.replace(point, estimate=estimate),)
    )


def wrong_line(curve: SuiteCurve) -> SuiteCurve:
    point = msgspec.structs.replace(curve.points[0], line=99)
    return msgspec.structs.replace(curve, points=(point,))


def no_text(curve: SuiteCurve) -> SuiteCurve:
    return msgspec.structs.replace(curve, title="\ud800")


def raising(curve: SuiteCurve) -> SuiteCurve:
    raise KeyError(curve.suite)


@pytest.mark.parametrize(("spoil", "told"), [
    (wrong_figure, "a figure of (inf"), (wrong_line, "a row at line 99"),
    (no_text, "surrogates not allowed"), (raising, "KeyError"),
])  # fmt: skip
def test_what_a_reader_does_wrong_is_complained_of(
    monkeypatch: pytest.MonkeyPatch, spoil: object, told: str
) -> None:
    def spoilt(lines: Iterable[bytes], source: str) -> Iterator[Found]:
        for one in read(lines, source):
            yield spoil(one) if callable(spoil) else one

    assert oracle.complaints(TABLE) == []
    monkeypatch.setattr(oracle, "read", spoilt)
    assert told in " ".join(oracle.complaints(TABLE))


def test_a_line_that_nobody_tells_of_is_complained_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "read", lambda lines, source: iter(()))
    assert oracle.complaints(b"nobody's\n") == ["1 to 1 lines of nobody's are told of as 0"]


def test_a_rule_that_breaks_is_complained_of(monkeypatch: pytest.MonkeyPatch) -> None:
    found, random = oracle.reading(TABLE), Random(1)  # noqa: S311
    assert list(judged.complaints(found, random)) == []
    monkeypatch.setattr("fabricgauge.judge.rules.floor.judge", raising)
    assert any("rule floor" in one for one in judged.complaints(found, random))


def test_folding_that_changes_what_is_read_is_complained_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert oracle.folding_complaints(TABLE) == []
    monkeypatch.setattr("fabricgauge.logs.readers.repetitions._join_tables", lambda tables: None)
    monkeypatch.setattr(oracle, "unfold", lambda contents: filter(None, contents))
    assert oracle.folding_complaints(TABLE) == ["folded and unfolded again its contents are others"]


def test_the_smallest_input_that_shows_a_fault_is_found() -> None:
    content = b"one\ntwo x\nthree\nfour y\nfive\n" * 3
    assert smallest(content, lambda one: b"x" in one and b"y" in one) == b"xy"
