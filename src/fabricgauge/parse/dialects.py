"""The suites whose output can be read: one row each."""

from fabricgauge.parse import (
    fabtests,
    gpcnet,
    imb,
    iperf2,
    iperf3,
    mpigraph,
    mrate_table,
    nccl,
    netpipe,
    nvbandwidth,
    osu,
    perftest,
    ucx,
)
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
    iperf3.DIALECT,
    iperf2.DIALECT,
    netpipe.DIALECT,
    mpigraph.DIALECT,
    gpcnet.DIALECT,
)

JSON_DIALECTS: tuple[JsonDialect, ...] = (
    perftest.JSON_DIALECT,
    nccl.JSON_DIALECT,
    nvbandwidth.JSON_DIALECT,
    iperf3.JSON_DIALECT,
)
