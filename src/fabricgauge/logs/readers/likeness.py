"""Find the line of an unread log that looks most like a suite's, and the expected form.

A program's name or title is the strongest sign, then a column's name, a unit, a row of figures.
"""

import re
from collections.abc import Iterable

from fabricgauge.logs.readers.lines import text_of
from fabricgauge.logs.readers.table import SHOWN_CHARACTERS
from fabricgauge.model.suite import UnparsedLine

_HEADING = "a heading above it that names the suite"
#: The sign, and the expected form; the first sign that matches counts.
_SIGNS: tuple[tuple[str, str], ...] = (
    (r"(?i)\bclusterkit\b|^\s*Average (?:latency|bandwidth): ",
     "a suite whose units are known; ClusterKit's documents say neither what its MB is nor whether"
     " its latency is half a round trip"),
    (r"\bosu_[a-z]\w+|(?i:\bosu\b.*\b(?:test|latency|bandwidth))",
     "OSU's title as the program prints it, such as “# OSU MPI Bandwidth Test v7.4”"),
    (r"\bIMB-[A-Z]\w+|(?i:intel.{0,5} mpi benchmark)",
     "IMB's output from “# Benchmarking PingPong” on"),
    (r"\b(?:ib_(?:write|read|send|atomic)|raw_ethernet)_(?:bw|lat)\b",
     "perftest's output from its title on, such as “RDMA_Write BW Test”"),
    (r"\bibv_\w+_pingpong\b", "the lines “… bytes in … seconds” and “… iters in … seconds”"),
    (r"\b(?:all_reduce|all_gather|reduce_scatter|alltoall|sendrecv)_perf\b|(?i:\b[nr]ccl-tests\b)",
     "the table of nccl-tests with its heading (size, count, type, …, algbw, busbw)"),
    (r"(?i)\biperf ?[23]?\b", "iperf's output from “Connecting to host” on, or its JSON"),
    (r"(?i)\bnetperf\b", "netperf's title (“… TEST from … to …”) above its figures"),
    (r"(?i)\b(?:sockperf|qperf|netpipe|np(?:tcp|mpi)|mpigraph|(?:mpi_)?nxnlatbw|gpcnet|nvbandwidth|ucx_perftest|"
     r"ucc_perftest|rocm-bandwidth-test|hpcc|fi_(?:pingpong|msg_bw|rma_bw|rdm_\w+)|superbench|"
     r"reframe)\b",
     "the output of this program as it prints it"),
    (r"#bytes\b|#repetitions|\bt_(?:min|max|avg|typical)\[usec\]|\bBW (?:peak|average)\b"
     r"|Mbytes/sec",
     "this headline of IMB or perftest whole, with figures below it"),
    (r"\b(?:algbw|busbw)\b",
     "the heading of nccl-tests whole (size, count, type, …, algbw, busbw)"),
    (r"\b(?:Latency|Bandwidth) ?\((?:us|MB/s)\)", "OSU's title above this heading"),
    (r"\d ?(?:[KMGT]i?(?:b|B)(?:it|yte)?s?/s(?:ec)?|[KMGT]bps|usecs?|µs|us)\b", _HEADING),
    (r"^\D{0,40}\b\d{1,15}\s+\d+\.\d+(?:\s+\d+(?:\.\d+)?)*\s*$", _HEADING),
)  # fmt: skip
_COMPILED = tuple((re.compile(sign), expected) for sign, expected in _SIGNS)
_LONGEST = 2000


def likest_line(blocks: Iterable[bytes], source: str = "") -> UnparsedLine | None:
    """Return the line of a file that looks most like a suite's; None if none does."""
    best: tuple[int, int, str] | None = None
    number = 0
    for block in blocks:
        for text in text_of(block).removesuffix("\n").split("\n"):
            number += 1
            rank_limit = len(_COMPILED) if best is None else best[0]
            for rank, (sign, _) in enumerate(_COMPILED[:rank_limit]):
                if sign.search(text[:_LONGEST]):
                    best = rank, number, text
                    break
    if best is None:
        return None
    rank, number, text = best
    return UnparsedLine(number, text.strip()[:SHOWN_CHARACTERS], _COMPILED[rank][1], 1, source)
