"""iperf 3: what ``iperf3 -J`` and ``iperf3`` print, on either side of a test."""

from fabricgauge.parse.interface import Dialect, JsonDialect
from fabricgauge.parse.iperf3.document import read, recognised
from fabricgauge.parse.iperf3.text import BEGINS, TextReader

DIALECT = Dialect("iperf3", BEGINS, TextReader)
JSON_DIALECT = JsonDialect("iperf3", recognised, read)
