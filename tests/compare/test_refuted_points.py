"""A comparison does not count a figure that a second measurement of its own run refuted."""

import msgspec
import pytest
from tests.judge.stats.test_rechecked_points import with_recheck

from fabricgauge.compare.comparing import compare
from fabricgauge.judge.stats.curves import suite_curves
from fabricgauge.model.comparison import Operand
from fabricgauge.model.run import Run


def outcome(a: Run, b: Run, *, settled: bool) -> str:
    sides = [suite_curves(run, settled=settled) for run in (a, b)]
    found = compare(Operand("a", "run", "a"), sides[0], Operand("b", "run", "b"), sides[1], 0.05)
    return found.outcome


@pytest.mark.parametrize(("settled", "expected"), [(True, "no regression"), (False, "regression")])
def test_a_figure_that_was_an_accident_is_no_regression(settled: bool, expected: str) -> None:
    """B took four times as long once, and as long as A when measured again."""
    b, _ = with_recheck(0.25)
    again = b.launches[-1].measurements[0]
    a_launches = (
        msgspec.structs.replace(
            launch,
            measurements=tuple(
                again if case.case == again.case else case for case in launch.measurements
            ),
        )
        for launch in b.launches[:-1]
    )
    a = msgspec.structs.replace(b, launches=tuple(a_launches))
    assert outcome(a, b, settled=settled) == expected
    assert outcome(a, a, settled=settled) == "no regression"
