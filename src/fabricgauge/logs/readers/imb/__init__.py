"""Intel MPI Benchmarks 3.x to 2021: the parts MPI-1, P2P, EXT, RMA, NBC, MT and IO."""

from fabricgauge.logs.readers.imb.reader import ImbReader
from fabricgauge.logs.readers.interface import Dialect

#: The ruler above the title, the title, or, in tables copied into documents, the lines above or the
#: columns' headline. After a wrong command IMB-MT prints only the last.
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
    unmarked=r"(?:Intel ?(?:\(R\)|®)|PALLAS) MPI Benchmarks?.*,.*part.*"
    r"|Benchmarking (?:Multi-)?[A-Z]\w*(?: \([\d x]*\))?|#processes = \d+.*"
    r"|\( ?\d+ (?:additional process(?:es)? waiting in MPI_Barrier|groups of \d+ processes .*) ?\)"
    r"|(?:Date|Machine|System|Release|Version|MPI Version|MPI Thread Environment)\s+: .*"
    r"|(?:Calling sequence was|List of Benchmarks to run):.*|MODE: (?:NON-)?AGGREGATE"
    r"|M(?:in|ax)imum message length in bytes: .*|All processes entering MPI_Finalize"
    r"|MPI_(?:Datatype|Datatype for reductions|Op)\s+: .*",
)
