"""The measuring program: finding MPI installations, building against them, keeping the builds."""

from fabricgauge.engines.build import build, default_engine, list_engines
from fabricgauge.engines.find import describe_mpi, find_mpis

__all__ = ["build", "default_engine", "describe_mpi", "find_mpis", "list_engines"]
