"""The suites whose output can be read: one row each."""

from fabricgauge.parse import fabtests, imb, mrate_table, nccl, nvbandwidth, osu, perftest, ucx
from fabricgauge.parse.interface import Dialect, JsonDialect

DIALECTS: tuple[Dialect, ...] = (
    perftest.DIALECT,
    ucx.DIALECT,
    fabtests.DIALECT,
    osu.DIALECT,
    nccl.DIALECT,
    nvbandwidth.DIALECT,
    imb.DIALECT,
    mrate_table.DIALECT,
)

JSON_DIALECTS: tuple[JsonDialect, ...] = (
    perftest.JSON_DIALECT,
    nccl.JSON_DIALECT,
    nvbandwidth.JSON_DIALECT,
)
