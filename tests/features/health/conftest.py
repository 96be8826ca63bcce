"""The fixtures of labs with Slurm; no test here needs the engine."""

import pytest
from tests.lab.conftest import make_lab, namespaces, slurm_programs

__all__ = ["make_lab", "namespaces", "slurm_programs"]


@pytest.fixture(autouse=True)
def built() -> None:
    """Build no engine, though the tests have a lab."""
