"""ucx_perftest: boxed tables of UCX 1.2 and later, ``Final:`` lines, ``-f`` and CSV (``-v``).

Facts are from UCX's sources (``src/tools/perf/perftest*.c``, ``lib/libperf.c``, v1.0-1.20):

- MB/s is 2^20 bytes/s; latency is half a round trip for ping-pongs, else per operation.
- ``average`` is over the time since the line before, ``overall`` over all; hence the
  figures of a curve are the overall ones. A percentile (or ``typical``, the median) is of
  the last samples only.
- The server prints the test's name and the message size, the client prints the figures.
"""

from fabricgauge.parse.interface import Dialect
from fabricgauge.parse.ucx.text import BEGINS, UcxReader

DIALECT = Dialect("ucx_perftest", BEGINS, UcxReader)
