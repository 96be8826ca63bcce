"""Engines for the tests that launch them."""

import pytest
from tests.nodes.engines.launched import EACH_MPI, engine_for

from fabricgauge.model.engine import Engine


@pytest.fixture(scope="module", params=EACH_MPI)
def engine(request: pytest.FixtureRequest) -> Engine:
    return engine_for(request.param)


@pytest.fixture(scope="module")
def embedded() -> Engine:
    return engine_for("embedded")
