"""Printed units become SI units by a rule that is told."""

import pytest

from fabricgauge.logs.references.interface import PLAIN, RULED, unit


@pytest.mark.parametrize(
    ("printed", "rule", "factor"),
    [
        ("MB/s", "MB = 10^6 bytes (OSU)", 1e6),
        ("MB/s", "MB = 2^20 bytes (IMB 3.x)", 1048576),
        ("MB/sec", "MB = 2^20 bytes (perftest)", 1048576),
        ("MiB/s", "", 1048576),
        ("Gbps", "", 125e6),
        ("usec", "", 1e-6),
        ("Mpps", "", 1e6),
    ],
)
def test_unit_fails_when_the_factor_is_not_that_of_the_rule(
    printed: str, rule: str, factor: float
) -> None:
    read = unit(printed, rule)
    assert read.factor == factor
    assert not rule or read.rule == rule


@pytest.mark.parametrize("printed", RULED)
def test_unit_fails_when_a_megabyte_is_guessed(printed: str) -> None:
    with pytest.raises(ValueError, match="needs a unit_rule that begins"):
        unit(printed, "")
    with pytest.raises(ValueError, match="needs a unit_rule that begins"):
        unit(printed, "MB = 10^60 bytes")


@pytest.mark.parametrize("printed", PLAIN)
def test_unit_fails_when_a_needless_rule_is_taken(printed: str) -> None:
    assert unit(printed, "").rule
    with pytest.raises(ValueError, match="has one meaning"):
        unit(printed, "µs")


def test_unit_fails_when_an_unknown_unit_is_taken() -> None:
    with pytest.raises(ValueError, match="'furlong/s' is not known: s, ms, us, "):
        unit("furlong/s", "")
