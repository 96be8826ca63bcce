"""A real Slurm inside a lab: munged and slurmctld on the head, a slurmd on each node."""
