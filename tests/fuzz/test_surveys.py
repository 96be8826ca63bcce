"""An answer that is tried can be tried again."""

from tests.fuzz import surveys


def test_an_input_depends_on_its_seed_and_number_alone() -> None:
    inputs = [surveys.input_of(7, number) for number in range(50)]
    assert inputs == [surveys.input_of(7, number) for number in range(50)]
    assert len(set(inputs)) > 45
