"""iperf 2 (2.0.x and 2.1.x): its text and its CSV (``-y C``), on either side of a test."""

from fabricgauge.parse.interface import Dialect
from fabricgauge.parse.iperf2.text import BEGINS, Iperf2Reader

DIALECT = Dialect("iperf2", BEGINS, Iperf2Reader)
