"""Broken answers in the test suite; a great many with ``python -m tests.fuzz.surveys``."""

from tests.fuzz import surveys


def test_broken_answers_are_read() -> None:
    assert surveys.faults(seed=7, inputs=150) == {}


def test_an_input_depends_on_its_seed_and_number_alone() -> None:
    inputs = [surveys.input_of(7, number) for number in range(50)]
    assert inputs == [surveys.input_of(7, number) for number in range(50)]
    assert len(set(inputs)) > 45
