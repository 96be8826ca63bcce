"""OSU Micro-Benchmarks 5.x-7.x: MPI, OpenSHMEM, UPC, NCCL and RCCL programs of the suite."""

from fabricgauge.logs.readers.interface import Dialect
from fabricgauge.logs.readers.osu.output import OsuReader

#: A title, or what some programs print above it: latency_mt and latency_mp their threads
#: and processes, the neighbourhood collectives their topology (sources of OSU 7.4).
DIALECT = Dialect(
    suite="osu",
    begins={
        "OSU ": r"^\s*#+ ?OSU (?:MPI|OpenSHMEM|UPC|NCCL|RCCL|One Sided MPI)(?:_|\b)",
        "# Number of ": r"^# Number of (?:Sender threads|forked processes in sender): \d",
        "Dimensions size = ": r"^Dimensions size = \d",
        "Time took to create ": r"^Time took to create topology graph:\d",
    },
    reader=OsuReader,
    units=("us", "MB/s", "MB/sec", "Messages/s", "ops/s"),
    unmarked=r"OSU (?:MPI|OpenSHMEM|UPC|NCCL|RCCL|One Sided MPI)(?:_|\b).{1,120} v\d[\w.]*"
    r"|(?:Transmit )?Size\s.*(?:\((?:MB/s|us|%)\)|MB/s|Messages/s).*|Operation\s.*ops/s.*"
    r"|(?:Avg Latency|Overall) ?\(us\).*|Datatype: \S+|Window creation: .*|Synchronization: .*"
    r"|\[ pairs: \d+ \](?: \[ window size: \w+ \])?|Overall = Coll\. Init \+ .*"
    r"|Send Buffer on .* and Receive Buffer on .*|Rank 0 Memory on .* and Rank 1 Memory on .*"
    r"|Number of (?:(?:Sender|Receiver) threads|forked processes in (?:send|receiv)er): \d+"
    r"|Message Rate Profile|Uni-directional Bandwidth \(MB/sec\)",
)
