"""Fixtures and pieces of output, read as a whole file is."""

from pathlib import Path

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "osu"


def fixture(name: str) -> bytes:
    return (FIXTURES / f"{name}.out").read_bytes()


def curves_and_strange(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    found = list(read(text.splitlines(keepends=True)))
    curves = [each for each in found if isinstance(each, SuiteCurve)]
    return curves, [each for each in found if isinstance(each, UnparsedLine)]


def curves_of(name: str) -> list[SuiteCurve]:
    return curves_and_strange(fixture(name))[0]


def values(curve: SuiteCurve) -> dict[int | None, float]:
    return {point.message_bytes: point.estimate.value for point in curve.points}
