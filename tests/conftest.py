"""Settings for all tests."""

import os

from hypothesis import HealthCheck, settings

# Machines that run tests are busy: a slow example is not a wrong one.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("busy"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "busy"))
