"""The simulated engine, built once."""

import pytest
from tests.nodes.engines.launched import engine_for

from fabricgauge.model.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    return engine_for("simulated")
