"""Reads recorded outputs through the same door as the program does."""

from pathlib import Path
from typing import Any

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[2] / "fixtures"


def raw(suite: str, name: str) -> bytes:
    return (FIXTURES / suite / f"{name}.out").read_bytes()


def found(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def curves_of(suite: str, name: str) -> list[SuiteCurve]:
    """The curves of a file in which every line is understood."""
    curves, unparsed = found(raw(suite, name))
    assert unparsed == []
    return curves


def values(curve: SuiteCurve) -> list[tuple[int | None, Any]]:
    """Sizes and figures; those may be compared with approximate ones."""
    return [(point.message_bytes, point.estimate.value) for point in curve.points]
