"""GPCNeT: ``network_test`` and ``network_load_test`` with their boxes, plain and verbose."""

from fabricgauge.parse.gpcnet.output import BEGINS, GpcnetReader
from fabricgauge.parse.interface import Dialect

DIALECT = Dialect("gpcnet", BEGINS, GpcnetReader)
