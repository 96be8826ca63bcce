"""A check as a Slurm job: write, submit, wait, collect, judge. Only ``slurm/`` knows Slurm."""
