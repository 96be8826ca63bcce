"""The suites that can be run: one row each."""

from fabricgauge.run.tools import imb, iperf3, nccl_tests, netpipe, osu, perftest
from fabricgauge.run.tools.interface import Effort, Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        osu.TOOL, imb.TOOL, perftest.TOOL, iperf3.TOOL, nccl_tests.TOOL, netpipe.TOOL,
    )
}  # fmt: skip

#: What the profiles of `check` allow a suite; it takes far longer for the same certainty.
EFFORTS: dict[str, Effort] = {
    "quick": Effort(stream_s=2, iterations=10, streams=4, largest_bytes=4 << 20),
    "standard": Effort(stream_s=5, iterations=30, streams=4, largest_bytes=4 << 20),
    "full": Effort(stream_s=10, iterations=100, streams=4, largest_bytes=4 << 20),
}
