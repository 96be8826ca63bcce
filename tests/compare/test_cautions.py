"""What makes a comparison doubtful is said beside it."""

import msgspec
import pytest
from tests.compare.simulated import curve, operand
from tests.compare.test_comparing import means

from fabricgauge.compare.comparing import compare
from fabricgauge.judge.stats.curves import SUITE
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import BUFFER_WORDS
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.report.content.comparison import headline


def cautions(quickest_s: float) -> str:
    a, b = means({8: 12e-6, 1024: 14e-6}), means({8: quickest_s, 1024: 14e-6})
    done = compare(operand("a"), [a], operand("b"), [b], 0.05)
    return " ".join(one for pair in done.pairs for one in pair.notes)


def test_a_latency_that_no_network_has_is_told_of() -> None:
    assert "memory that both ranks share" in cautions(0.24e-6)


def test_a_believable_latency_is_not_doubted() -> None:
    assert "memory" not in cautions(0.93e-6)


def test_buffers_that_lay_elsewhere_are_told_of() -> None:
    a = means({8: 12e-6, 1024: 14e-6})
    b = msgspec.structs.replace(a, settings={**a.settings, "memory": "cuda,host"})
    for one, other, told in ((a, b, True), (b, b, False)):
        done = compare(operand("a"), [one], operand("b"), [other], 0.05)
        notes = " ".join(note for pair in done.pairs for note in pair.notes)
        assert ("A's buffers were in host memory, B's in cuda,host memory" in notes) == told


def test_unlike_buffers_are_named_and_like_ones_are_not() -> None:
    usual = means({8: 12e-6, 1024: 14e-6})
    ours = msgspec.structs.replace(usual, suite=SUITE)
    single, multiple = (
        msgspec.structs.replace(usual, settings={**usual.settings, "buffers": buffers})
        for buffers in ("single", "multiple")
    )
    pairs = (
        (ours, single, True), (single, multiple, True), (single, single, False),
        (ours, ours, False), (usual, single, False),
    )  # fmt: skip
    for a, b, are_named in pairs:
        done = compare(operand("a"), [a], operand("b"), [b], 0.05)
        notes = [note for pair in done.pairs for note in pair.notes if "buffer" in note]
        assert len(notes) == are_named
        assert all(BUFFER_WORDS["single"] in note for note in notes)


def short(factor: float, worse: int, sizes: int = 7) -> tuple[SuiteCurve, ...]:
    """A stream at few sizes of one launch each; at the last ``worse`` ones it is slower."""

    def time(place: int) -> Estimate:
        value = (64 << place) / 1e8 * (factor if place >= sizes - worse else 1.0)
        return Estimate(value, 0.999 * value, 1.001 * value, 0.95, 1, 1000)

    return (curve("bandwidth", [(64 << place, time(place)) for place in range(sizes)]),)


@pytest.mark.parametrize(
    ("factor", "worse", "outcome", "words"),
    [
        (1 / 0.9, 4, "undecided", "B is 10.0 % slower"),
        (1 / 0.9, 2, "no regression", "B is as fast as A"),
        (1 / 0.96, 4, "no regression", "B is 4.0 % slower"),
        (0.9, 4, "no regression", "B is 11.1 % faster"),
        (2.5, 7, "regression", "B is 2.5 times slower"),
    ],
)
def test_most_sizes_worse_than_allowed_are_no_regression_only_if_they_are_sure_to_be(
    factor: float, worse: int, outcome: str, words: str
) -> None:
    found = compare(operand("a"), short(1.0, 0), operand("b"), short(factor, worse), 0.05)
    assert found.outcome == outcome
    assert words in headline(found)
