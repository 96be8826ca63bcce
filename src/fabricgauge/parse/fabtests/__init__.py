"""libfabric's fi_pingpong and fabtests: the text table and the YAML-like rows (``-m``).

Facts are from libfabric's sources (``util/pingpong.c``, ``fabtests/common/shared.c``,
v1.6-2.6): MB is 10^6 bytes; sizes are cut to ``k``, ``m``, ``g`` = 2^10, 2^20, 2^30 with one
decimal below ten, counts to 10^3, 10^6; usec/xfer is elapsed time by iterations by transfers
per iteration, which are two in a ping-pong: half a round trip. MB/sec and Mxfers/sec are the
same figure once more, rounded to two places, so that a slow test's 0.00 is no failure.
"""

from fabricgauge.parse.fabtests.text import BEGINS, FabtestsReader
from fabricgauge.parse.interface import Dialect

DIALECT = Dialect("fabtests", BEGINS, FabtestsReader)
