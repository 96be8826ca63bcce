"""What the rest of the program asks of simulated clusters.

The engine is that of ``engines.simgrid``.

cluster = simulation("fat-tree:64", ["rate node-7 0.25"], seed=3, noise=0.02)
prepared(cluster, engine, cluster.platform.nodes, folder)    → the Command to start
simulate(cluster, engine, cases_text)                        → its lines, to the end
simulated_fabric(cluster.platform)                           → Fabric
cluster.platform.topology                                    → Topology
"""

from fabricgauge.sim.faults import Fault, parse_fault
from fabricgauge.sim.platform import TECHNOLOGY, Platform, simulated_fabric
from fabricgauge.sim.shipped import SHAPES
from fabricgauge.sim.simulate import Simulated, prepared, simulate, trouble
from fabricgauge.sim.simulation import Simulation, checked, simulation

__all__ = [
    "SHAPES", "TECHNOLOGY", "Fault", "Platform", "Simulated", "Simulation", "checked",
    "parse_fault", "prepared", "simulate", "simulated_fabric", "simulation", "trouble",
]  # fmt: skip
