"""No fault whose cause is known gets another one; the docs show today's results."""

import pytest
from tests.judge.cause_cases import CASES, PAGE, Case, page


@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one.origin}: {one.fault}")
def test_no_cause_is_wrong(case: Case) -> None:
    assert case.result() != "wrong", case.answer()


def test_most_causes_are_named() -> None:
    results = [one.result() for one in CASES]
    assert len(CASES) >= 60
    assert results.count("named") >= 60
    public = [result for one, result in zip(CASES, results, strict=True) if one.origin == "public"]
    assert len(public) >= 20
    assert public.count("named") + public.count("candidates") >= 18
    assert public.count("named") >= 9


def test_the_page_holds_todays_results() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "run scripts/write-cause-truth"


@pytest.mark.parametrize("case", [one for one in CASES if one.origin in ("log", "public")])
def test_no_import_is_told_to_exchange_a_cable(case: Case) -> None:
    """Only a log that says itself that a link went down may have a bad cable."""
    cause = case.answer().cause
    assert "cable" not in cause or cause.startswith("a link went down during the measurement")
