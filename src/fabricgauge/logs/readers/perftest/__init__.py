"""perftest's ``ib_*`` and ``raw_ethernet_*`` programs: text and both JSON generations.

Facts are from perftest's sources, tags V4.1-0.2 to 26.04.17 (``perftest_parameters.[ch]``):

- MB/sec (up to 24.04) and MiB/sec (since) are both 2^20 bytes/s; Gb/sec is 10^9 bit/s.
- Send and write latencies are half a round trip, read and atomic ones a whole one.
- ``t_typical`` is the median, ``t_avg`` the mean of all samples but the two longest, and
  ``t_max`` is the second longest; ``t_stdev`` sums up squares cut to whole numbers.
- A peak of 0.00 means that none was looked for (``-D``, ``--noPeak``, many servers).
- With ``-C`` figures are CPU cycles while the heading still has usec.
"""

from fabricgauge.logs.readers.interface import Dialect, JsonDialect
from fabricgauge.logs.readers.perftest.json_form import read, recognised
from fabricgauge.logs.readers.perftest.text import BEGINS, PerftestReader

DIALECT = Dialect("perftest", BEGINS, PerftestReader)

JSON_DIALECT = JsonDialect("perftest", recognised, read)
