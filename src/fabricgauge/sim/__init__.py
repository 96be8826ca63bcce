"""Simulated clusters: the engine in SimGrid's SMPI, on a platform with faults to be found."""
