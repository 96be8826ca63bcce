"""The fixtures of labs."""

from tests.lab.conftest import make_lab, namespaces, slurm_lab, slurm_programs

__all__ = ["make_lab", "namespaces", "slurm_lab", "slurm_programs"]
