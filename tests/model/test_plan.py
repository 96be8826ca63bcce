"""The longest times of planned cases and launches."""

import re
from pathlib import Path

import pytest

from fabricgauge.model.pattern import Pattern
from fabricgauge.model.plan import (
    LONGEST_EXTENSION_S,
    LONGEST_WAITED_OUT_BYTES,
    Case,
    PlannedLaunch,
)

HEADERS = Path(__file__).parents[2] / "engine" / "include" / "fabricgauge"


@pytest.mark.parametrize(
    ("pattern", "message_bytes", "budget_s", "extension_s"),
    [
        ("latency", 8, 0.3, 1.2),
        ("latency", 8192, 2.0, 3.0),
        ("bandwidth", 8193, 0.3, 0.0),
        ("allreduce", 8, 0.3, 1.2),
        ("allreduce", 65536, 0.3, 0.0),
        ("multi_latency", 8, 0.3, 1.2),
        ("all_pairs_latency", 8, 0.3, 0.0),
    ],
)
def test_short_messages_go_beyond_the_budget_except_in_a_round_robin(
    pattern: Pattern, message_bytes: int, budget_s: float, extension_s: float
) -> None:
    case = Case("a", pattern, message_bytes, 1, 0, 1, budget_s)
    launch = PlannedLaunch(1, None, None, ("c1", "c2"), (case, case))
    assert case.extension_s == pytest.approx(extension_s)
    assert launch.extension_s == pytest.approx(2 * extension_s)


def test_the_engine_has_the_same_limits() -> None:
    text = "".join((HEADERS / name).read_text() for name in ("stopping.hpp", "batching.hpp"))
    limits = dict(re.findall(r"(longest_extension_s|longest_of_fewest_bytes) = ([\d.]+);", text))
    assert float(limits["longest_extension_s"]) == LONGEST_EXTENSION_S
    assert int(limits["longest_of_fewest_bytes"]) == LONGEST_WAITED_OUT_BYTES
