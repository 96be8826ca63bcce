"""The simulator's part of the main job."""

from fabricgauge.features.simulate.engine import simulated_engine
from fabricgauge.features.simulate.platform import simulated_fabric
from fabricgauge.features.simulate.simulate import prepared
from fabricgauge.features.simulate.simulation import simulation

__all__ = ["prepared", "simulated_engine", "simulated_fabric", "simulation"]
