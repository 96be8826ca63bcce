"""The simulated engine, built once."""

import pytest

from fabricgauge.engines.simgrid import find_simgrid, simulated_engine
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import ToolMissing


@pytest.fixture(scope="session")
def engine() -> Engine:
    try:
        find_simgrid()
    except ToolMissing as missing:
        pytest.skip(str(missing))
    return simulated_engine()
