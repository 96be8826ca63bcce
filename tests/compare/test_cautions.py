"""What makes a comparison doubtful is said beside it."""

import msgspec
from tests.compare.simulated import operand
from tests.compare.test_comparing import means

from fabricgauge.compare.comparing import compare
from fabricgauge.judge.stats.curves import SUITE
from fabricgauge.model.pattern import BUFFER_WORDS


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
