"""Simulated clusters: the engine in SimGrid's SMPI, on a platform with faults to be found.

cluster = simulator.simulation("fat-tree:64", ["rate node-7 0.25"], seed=3, noise=0.02)
simulator.prepared(cluster, engine, cluster.platform.nodes, folder)  → the LaunchCommand to start
simulator.simulated_fabric(cluster.platform)                         → Fabric
"""
