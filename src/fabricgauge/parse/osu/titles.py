"""What each program of the suite measures, by the title that it prints.

Titles are those of the sources of OSU 5.3 to 7.4 (``BENCHMARK`` in each program), in lower
case, without ``OSU``, accelerator, ``Test`` and version. Some programs share a title:
``osu_bw_fan_in`` and ``_fan_out`` print that of ``osu_bw`` and are known by their header
alone, ``osu_neighbor_alltoallw`` prints that of ``osu_alltoallw`` and is known by the
topology of which it tells before; OpenSHMEM's get and get_nb cannot be told apart.
"""

import re
from functools import lru_cache

import msgspec

from fabricgauge.model.measurement import Pattern

MIB = 2**20
#: Default of ``-m`` (osu_util.c of 7.4: MAX_MESSAGE_SIZE and MAX_MSG_SIZE_COLL).
PAIR_LAST_BYTES = 4 * MIB
COLLECTIVE_LAST_BYTES = MIB


class OsuBenchmark(msgspec.Struct, frozen=True, eq=False):
    """A program: its name, what one figure is, and the last message size of a default run.

    ``pattern`` holds for the column of times or of bandwidths, whichever the pattern is of.
    ``last_bytes`` is None where a run has one size, or none.
    """

    name: str
    what: str
    pattern: Pattern | None = None
    directions: int = 1
    last_bytes: int | None = PAIR_LAST_BYTES


class Title(msgspec.Struct, frozen=True):
    """A title taken apart; ``text`` is the line as it was, without ``#``."""

    text: str
    version: str
    device: str
    benchmark: OsuBenchmark


_TITLE = re.compile(
    r"\s*#+ ?(?P<text>OSU (?P<name>.{1,120}?)(?: Test)?(?: v(?P<version>\d[\w.]*))?)\s*"
)
_DEVICE = re.compile(r"-(CUDA MANAGED|CUDA|OPENACC|ROCM|MANAGED)\b")


@lru_cache(maxsize=64)
def title_of(text: str, on_a_graph: bool = False) -> Title | None:
    """The title in a line. A program that is not in the table is known by its title."""
    match = _TITLE.fullmatch(text) if "OSU " in text else None
    if match is None:
        return None
    device = _DEVICE.search(match["name"])
    name = _DEVICE.sub("", match["name"], count=1)
    benchmark = _benchmark(" ".join(name.split()).lower(), on_a_graph)
    return Title(
        match["text"], match["version"] or "", device[1] if device else "",
        benchmark or OsuBenchmark(name, name, last_bytes=None),
    )  # fmt: skip


def _benchmark(key: str, on_a_graph: bool) -> OsuBenchmark | None:
    if on_a_graph and key == "mpi all-to-allw personalized exchange latency":
        return _BY_TITLE["mpi neighborhood all-to-allw latency"]
    return _BY_TITLE.get(key.replace("rccl", "nccl"))


#: osu_bw_fan_in and osu_bw_fan_out of 7.4 head their MB/s with ``Avg Latency(us)``: the
#: subtype CONG_BW is not asked for in ``print_only_header``.
FAN = OsuBenchmark(
    "osu_bw_fan_in or osu_bw_fan_out",
    "streams from many nodes to one, or from one to many, summed",
)

_HALF = "half round trip"
_STREAM = "one-way stream"
_BOTH = "streams in both directions, summed"
_PUT = "one put with its synchronization"
_GET = "one get with its synchronization"

_PAIRS: dict[str, OsuBenchmark] = {
    "mpi latency": OsuBenchmark("osu_latency", _HALF, "latency"),
    "mpi bandwidth": OsuBenchmark("osu_bw", _STREAM, "bandwidth"),
    "mpi bi-directional bandwidth": OsuBenchmark("osu_bibw", _BOTH, "bidirectional_bandwidth", 2),
    "mpi multiple bandwidth / message rate": OsuBenchmark(
        "osu_mbw_mr", "one-way streams of all pairs, summed", "bandwidth"
    ),
    "mpi multi latency": OsuBenchmark(
        "osu_multi_lat", "half round trip, mean over pairs at the same time", "latency"
    ),
    "mpi multi-threaded latency": OsuBenchmark(
        "osu_latency_mt", "half round trip between threads", "latency"
    ),
    "mpi multi-process latency": OsuBenchmark(
        "osu_latency_mp", "half round trip between forked processes", "latency"
    ),
    "mpi latency persistent": OsuBenchmark("osu_latency_persistent", _HALF, "latency"),
    "mpi bandwidth persistent": OsuBenchmark("osu_bw_persistent", _STREAM, "bandwidth"),
    "mpi bi-directional bandwidth persistent": OsuBenchmark(
        "osu_bibw_persistent", _BOTH, "bidirectional_bandwidth", 2
    ),
    "nccl latency": OsuBenchmark("osu_xccl_latency", _HALF, "latency"),
    "nccl bandwidth": OsuBenchmark("osu_xccl_bw", _STREAM, "bandwidth"),
    "nccl bi-directional bandwidth": OsuBenchmark(
        "osu_xccl_bibw", _BOTH, "bidirectional_bandwidth", 2
    ),
    "mpi_put latency": OsuBenchmark("osu_put_latency", _PUT, "put_latency"),
    "mpi_put bandwidth": OsuBenchmark("osu_put_bw", "one-way stream of puts", "put_bandwidth"),
    "mpi_put bi-directional bandwidth": OsuBenchmark(
        "osu_put_bibw", "streams of puts in both directions, summed", None, 2
    ),
    "mpi_get latency": OsuBenchmark("osu_get_latency", _GET),
    "mpi_get bandwidth": OsuBenchmark("osu_get_bw", "one-way stream of gets"),
    "mpi_accumulate latency": OsuBenchmark("osu_acc_latency", "one accumulate"),
    "mpi_get_accumulate latency": OsuBenchmark("osu_get_acc_latency", "one get-accumulate"),
    "mpi_compare_and_swap latency": OsuBenchmark(
        "osu_cas_latency", "one compare-and-swap", last_bytes=None
    ),
    "mpi_fetch_and_op latency": OsuBenchmark(
        "osu_fop_latency", "one fetch-and-op", last_bytes=None
    ),
    "mpi init": OsuBenchmark("osu_init", "MPI_Init", last_bytes=None),
    "mpi hello world": OsuBenchmark("osu_hello", "start and end of all ranks", last_bytes=None),
    "openshmem put": OsuBenchmark("osu_oshm_put", "one put", "put_latency", last_bytes=MIB),
    "openshmem put_nbi": OsuBenchmark("osu_oshm_put_nb", "one put", "put_latency", last_bytes=MIB),
    "openshmem put_nb": OsuBenchmark("osu_oshm_put_nb", "one put", "put_latency", last_bytes=MIB),
    "openshmem get_nb": OsuBenchmark("osu_oshm_get_nb", "one get", last_bytes=MIB),
    "openshmem get": OsuBenchmark("osu_oshm_get", "one get", last_bytes=MIB),
    "openshmem put message rate": OsuBenchmark("osu_oshm_put_mr", "puts of all pairs, summed"),
    "openshmem put_nb message rate": OsuBenchmark(
        "osu_oshm_put_mr_nb", "puts of all pairs, summed"
    ),
    "openshmem get_nb message rate": OsuBenchmark(
        "osu_oshm_get_mr_nb", "gets of all pairs, summed"
    ),
    "openshmem atomic operation rate": OsuBenchmark(
        "osu_oshm_atomics", "atomic operations", last_bytes=None
    ),
    "upc memput": OsuBenchmark("osu_upc_memput", "one put", "put_latency"),
    "upc memget": OsuBenchmark("osu_upc_memget", "one get"),
    "upc++ async copy (put)": OsuBenchmark("osu_upcxx_async_copy_put", "one put", "put_latency"),
    "upc++ async copy (get)": OsuBenchmark("osu_upcxx_async_copy_get", "one get"),
}

#: Title, ending of the program's name, and the operation in MPI's spelling.
_OPERATIONS: tuple[tuple[str, str, str], ...] = (
    ("allgather", "allgather", "Allgather"),
    ("allgatherv", "allgatherv", "Allgatherv"),
    ("allreduce", "allreduce", "Allreduce"),
    ("all-to-all personalized exchange", "alltoall", "Alltoall"),
    ("all-to-allv personalized exchange", "alltoallv", "Alltoallv"),
    ("all-to-allw personalized exchange", "alltoallw", "Alltoallw"),
    ("all-to-all", "alltoall", "Alltoall"),
    ("all-to-allv", "alltoallv", "Alltoallv"),
    ("all-to-allw", "alltoallw", "Alltoallw"),
    ("alltoall", "alltoall", "Alltoall"),
    ("alltoallv", "alltoallv", "Alltoallv"),
    ("alltoallw", "alltoallw", "Alltoallw"),
    ("barrier", "barrier", "Barrier"),
    ("broadcast", "bcast", "Bcast"),
    ("gather", "gather", "Gather"),
    ("gatherv", "gatherv", "Gatherv"),
    ("reduce", "reduce", "Reduce"),
    ("reduce_scatter", "reduce_scatter", "Reduce_scatter"),
    ("reduce_scatter_block", "reduce_scatter_block", "Reduce_scatter_block"),
    ("scatter", "scatter", "Scatter"),
    ("scatterv", "scatterv", "Scatterv"),
    ("collect", "collect", "collect"),
    ("fcollect", "fcollect", "fcollect"),
    ("exchange", "exchange", "exchange"),
    ("gatherall", "gather_all", "gather_all"),
)

#: How a family writes its titles, names its programs and says what it does.
_FAMILIES: tuple[tuple[str, str, str], ...] = (
    ("mpi {} latency", "osu_{}", "{}"),
    ("mpi non-blocking {} latency", "osu_i{}", "non-blocking {}"),
    ("mpi {} persistent latency", "osu_{}_persistent", "persistent {}"),
    ("mpi neighborhood {} latency", "osu_neighbor_{}", "neighborhood {}"),
    (
        "mpi non-blocking neighborhood {} latency",
        "osu_ineighbor_{}",
        "non-blocking neighborhood {}",
    ),
    ("nccl {} latency", "osu_xccl_{}", "{}"),
    ("openshmem {} latency", "osu_oshm_{}", "OpenSHMEM {}"),
    ("upc {} latency", "osu_upc_all_{}", "UPC {}"),
    ("upc++ {} latency", "osu_upcxx_{}", "UPC++ {}"),
)


#: Families whose default runs end at ``COLLECTIVE_LAST_BYTES``: those over MPI and NCCL.
_ENDING_ALIKE = range(6)


def _collectives() -> dict[str, OsuBenchmark]:
    return {
        title.format(operation): OsuBenchmark(
            name.format(ending), what.format(spelling), None, 1,
            COLLECTIVE_LAST_BYTES if family in _ENDING_ALIKE and operation != "barrier" else None,
        )
        for family, (title, name, what) in enumerate(_FAMILIES)
        for operation, ending, spelling in _OPERATIONS
    }  # fmt: skip


_BY_TITLE: dict[str, OsuBenchmark] = _collectives() | _PAIRS
