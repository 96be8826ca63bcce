"""Intel MPI Benchmarks 3.x to 2021: the parts MPI-1, P2P, EXT, RMA, NBC, MT and IO."""

from fabricgauge.parse.imb.reader import ImbReader
from fabricgauge.parse.interface import Dialect

#: The ruler above the title, the title, or, in tables copied into documents, what stands
#: above or in the columns' headline. The last is all that IMB-MT says to a wrong command.
DIALECT = Dialect(
    suite="imb",
    begins={
        "#----": r"^\s*#----+\s*$",
        " MPI Benchmark": r"^\s*#\s*(?:Intel ?(?:\(R\)|®)|PALLAS) MPI Benchmark",
        "# Benchmarking ": r"^\s*# Benchmarking (?:Multi-)?[A-Za-z]\w*\s*(?:\([\d x]*\)\s*)?$",
        "#repetitions": r"^\s*(?:Group\s+)?(?:#bytes\s+)?#repetitions"
        r"\s+\S*(?:\[usec\]|Mbytes/sec)",
        "Invalid benchmark name ": r"^Invalid benchmark name \S+\s*$",
    },
    reader=ImbReader,
)
