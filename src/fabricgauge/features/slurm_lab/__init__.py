"""Slurm in a lab: munged, slurmctld on the head and slurmd on each node, all real."""
