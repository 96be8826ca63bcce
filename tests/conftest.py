"""Settings for all tests."""

import os
import signal
import threading

from hypothesis import HealthCheck, settings
from tests.rdma_guests import iwarp_lab, remove_guests, roce_lab

__all__ = ["iwarp_lab", "roce_lab"]

# Machines that run tests are busy: a slow example is not a wrong one.
# Examples are the same each time: what a change breaks is told from what chance finds, and
# HYPOTHESIS_PROFILE=thorough looks for that. `make test` and `make dev` take `quick`.
settings.register_profile(
    "busy", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", parent=settings.get_profile("busy"), max_examples=20)
settings.register_profile(
    "thorough", parent=settings.get_profile("busy"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "busy"))

# What a script starts in the background ignores SIGINT, and so would every program under test.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    remove_guests()
