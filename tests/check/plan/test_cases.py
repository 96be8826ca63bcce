from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.cases import MIN_WINDOW, SAMPLES_PER_CASE, WINDOW, plan_cases
from fabricgauge.check.plan.profiles import DEFAULT_SIZES, MIB, PATTERNS

GBE_BYTES_PER_S = 117.69e6

sizes = st.lists(st.integers(0, 64 * MIB), min_size=1, max_size=30, unique=True).map(tuple)
rates = st.floats(1e6, 1e11)
budgets = st.floats(0.01, 100)


@given(sizes, budgets, rates)
def test_every_size_of_every_pattern_is_planned_once_per_direction(
    sizes: tuple[int, ...], budget_s: float, rate: float
) -> None:
    planned = plan_cases(PATTERNS, sizes, budget_s, rate)
    names = [case.name for case in planned]
    assert len(names) == len(set(names))
    for pattern in PATTERNS:
        wanted = {s for s in sizes if s > 0 or pattern == "latency"}
        forward = {c.message_bytes for c in planned if c.pattern == pattern and c.origin == 0}
        assert forward == wanted


@given(sizes, budgets, rates)
def test_a_budget_holds_enough_windows_even_on_a_slow_network(
    sizes: tuple[int, ...], budget_s: float, rate: float
) -> None:
    for case in plan_cases(PATTERNS, sizes, budget_s, rate):
        window_s = case.window * case.message_bytes / rate
        assert case.budget_s >= budget_s
        assert case.budget_s >= SAMPLES_PER_CASE * window_s * (1 - 1e-9)


@given(sizes, budgets, rates)
def test_windows_stay_between_latency_and_the_suites_default(
    sizes: tuple[int, ...], budget_s: float, rate: float
) -> None:
    for case in plan_cases(PATTERNS, sizes, budget_s, rate):
        if "latency" in case.pattern:
            assert case.window == 1
        else:
            assert MIN_WINDOW <= case.window <= WINDOW


def test_small_messages_keep_the_window_of_the_suites() -> None:
    planned = plan_cases(("bandwidth",), (8, 65536), 0.3, GBE_BYTES_PER_S)
    assert planned[0].window == WINDOW


def test_a_whole_sweep_of_1_gbe_fits_into_about_a_minute() -> None:
    planned = plan_cases(PATTERNS, DEFAULT_SIZES, 0.3, GBE_BYTES_PER_S)
    assert sum(case.budget_s for case in planned) < 75


def test_both_directions_are_planned_where_asymmetry_is_judged() -> None:
    planned = plan_cases(("bandwidth",), DEFAULT_SIZES, 0.3, GBE_BYTES_PER_S)
    assert any(case.origin == 1 and case.message_bytes == 4 * MIB for case in planned)
