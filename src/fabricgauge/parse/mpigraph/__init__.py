"""mpiGraph (LLNL): bandwidth between all pairs of ranks, as a summary of each of its tables."""

from fabricgauge.parse.interface import Dialect
from fabricgauge.parse.mpigraph.output import BEGINS, MpiGraphReader

DIALECT = Dialect("mpigraph", BEGINS, MpiGraphReader)
