"""Broken files and answers in the test suite; a great many with ``python -m tests.fuzz.files``."""

import pytest
from tests.fuzz import files


@pytest.mark.parametrize("name", files.PARSERS)
def test_what_is_broken_is_read_or_refused(name: str) -> None:
    assert files.faults(name, seed=7, inputs=300) == {}
