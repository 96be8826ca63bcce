"""Know what each program of the suite measures, by the title that it prints.

Titles are those of the sources of OSU 3.1 to 7.4 (``BENCHMARK`` in each program), in lower case,
without ``OSU``, ``One Sided`` (up to 4.2), accelerator, ``Test`` and version. Some programs share a
title: ``osu_bw_fan_in`` and ``_fan_out`` print that of ``osu_bw`` and are known by their header
alone, ``osu_neighbor_alltoallw`` prints that of ``osu_alltoallw`` and is known by the line above it
on the creation of a topology; OpenSHMEM's get and get_nb look the same.
"""

import re
from functools import lru_cache
from typing import Any

import msgspec

from fabricgauge.model.pattern import Pattern

MIB = 2**20
#: Default of ``-m`` (osu_util.c of 7.4: MAX_MESSAGE_SIZE and MAX_MSG_SIZE_COLL).
PAIR_LAST_BYTES = 4 * MIB
COLLECTIVE_LAST_BYTES = MIB


class OsuBenchmark(msgspec.Struct, frozen=True, eq=False):
    """A program: its name, the meaning of a figure, the last message size of a default run.

    ``pattern`` holds for the column of times or of bandwidths, by its kind. ``last_bytes`` is None
    where a run has one size, or none.
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
    r"\s*#+ ?(?P<text>OSU (?:One Sided )?(?P<name>.{1,120}?)(?: Test)?"
    r"(?: v(?P<version>\d[\w.]*)| \(Version (?P<old_version>\d[\w.]*)\))?)\s*"
)
_DEVICE = re.compile(r"-(CUDA MANAGED|CUDA|OPENACC|ROCM|MANAGED)\b")


@lru_cache(maxsize=64)
def title_of(text: str, on_a_graph: bool = False) -> Title | None:
    """Return the title in a line. A program that is not in the table is known by its title."""
    match = _TITLE.fullmatch(text) if "OSU " in text else None
    if match is None:
        return None
    device = _DEVICE.search(match["name"])
    name = _DEVICE.sub("", match["name"], count=1)
    key = " ".join(name.split()).lower()
    if on_a_graph and key == "mpi all-to-allw personalized exchange latency":
        key = "mpi neighborhood all-to-allw latency"
    benchmark = _BY_TITLE.get(key.replace("rccl", "nccl"))
    return Title(
        match["text"], match["version"] or match["old_version"] or "", device[1] if device else "",
        benchmark or OsuBenchmark(name, name, last_bytes=None),
    )  # fmt: skip


def benchmark_of(program: str) -> OsuBenchmark | None:
    """Return a program by its name, ``osu_bw``; None if it is not known."""
    return next((benchmark for benchmark in _BY_TITLE.values() if benchmark.name == program), None)


#: osu_bw_fan_in and osu_bw_fan_out of 7.4 head their MB/s with ``Avg Latency(us)``, because
#: ``print_only_header`` does not check for the subtype CONG_BW.
FAN = OsuBenchmark(
    "osu_bw_fan_in or osu_bw_fan_out",
    "streams from many nodes to one, or from one to many, summed",
)

_HALF = "half round trip"
_STREAM = "one-way stream"
_BOTH = "streams in both directions, summed"
_BOTH_PUTS = "streams of puts in both directions, summed"
_LOCKED_PUTS = "one-way stream of puts, under a lock"
_LOCKED_ACCUMULATE = "one accumulate, under a lock"
_LOCKED_GETS = "one-way stream of gets, under a lock"
_ALL_PAIRS = "one-way streams of all pairs, summed"
_LATENCY, _BANDWIDTH, _PUT = ({"pattern": name} for name in ("latency", "bandwidth", "put_latency"))
_BIDIRECTIONAL: dict[str, Any] = {"pattern": "bidirectional_bandwidth", "directions": 2}
_ONE_SIZE, _TO_A_MIB = {"last_bytes": None}, {"last_bytes": MIB}

#: Title, program, the meaning of one figure, and further fields.
_PAIRS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("mpi latency", "osu_latency", _HALF, _LATENCY),
    ("mpi bandwidth", "osu_bw", _STREAM, _BANDWIDTH),
    ("mpi bi-directional bandwidth", "osu_bibw", _BOTH, _BIDIRECTIONAL),
    ("mpi multiple bandwidth / message rate", "osu_mbw_mr", _ALL_PAIRS, _BANDWIDTH),
    ("mpi multi latency", "osu_multi_lat", f"{_HALF}, mean over pairs at the same time", _LATENCY),
    ("mpi multi-threaded latency", "osu_latency_mt", f"{_HALF} between threads", _LATENCY),
    ("mpi multi-process latency", "osu_latency_mp", f"{_HALF} between forked processes", _LATENCY),
    ("mpi latency persistent", "osu_latency_persistent", _HALF, _LATENCY),
    ("mpi bandwidth persistent", "osu_bw_persistent", _STREAM, _BANDWIDTH),
    ("mpi bi-directional bandwidth persistent", "osu_bibw_persistent", _BOTH, _BIDIRECTIONAL),
    ("nccl latency", "osu_xccl_latency", _HALF, _LATENCY),
    ("nccl bandwidth", "osu_xccl_bw", _STREAM, _BANDWIDTH),
    ("nccl bi-directional bandwidth", "osu_xccl_bibw", _BOTH, _BIDIRECTIONAL),
    ("mpi_put latency", "osu_put_latency", "one put with its synchronization", _PUT),
    ("mpi_put bandwidth", "osu_put_bw", "one-way stream of puts", {"pattern": "put_bandwidth"}),
    ("mpi_put bi-directional bandwidth", "osu_put_bibw", _BOTH_PUTS, {"directions": 2}),
    ("mpi_get latency", "osu_get_latency", "one get with its synchronization", {}),
    ("mpi_get bandwidth", "osu_get_bw", "one-way stream of gets", {}),
    ("mpi_accumulate latency", "osu_acc_latency", "one accumulate", {}),
    ("mpi_get_accumulate latency", "osu_get_acc_latency", "one get-accumulate", {}),
    ("mpi_compare_and_swap latency", "osu_cas_latency", "one compare-and-swap", _ONE_SIZE),
    ("mpi_fetch_and_op latency", "osu_fop_latency", "one fetch-and-op", _ONE_SIZE),
    ("mpi_put passive latency", "osu_passive_put_latency", "one put, under a lock", _PUT),
    ("mpi_put passive bandwidth", "osu_passive_put_bw", _LOCKED_PUTS, {"pattern": "put_bandwidth"}),
    ("mpi_get passive latency", "osu_passive_get_latency", "one get, under a lock", {}),
    ("mpi_get passive bandwidth", "osu_passive_get_bw", _LOCKED_GETS, {}),
    (
        "mpi_accumulate passive latency",
        "osu_passive_acc_latency",
        "one accumulate, under a lock",
        {},
    ),
    ("mpi init", "osu_init", "MPI_Init", _ONE_SIZE),
    ("mpi hello world", "osu_hello", "start and end of all ranks", _ONE_SIZE),
    ("openshmem put", "osu_oshm_put", "one put", _PUT | _TO_A_MIB),
    ("openshmem put_nbi", "osu_oshm_put_nb", "one put", _PUT | _TO_A_MIB),
    ("openshmem put_nb", "osu_oshm_put_nb", "one put", _PUT | _TO_A_MIB),
    ("openshmem get_nb", "osu_oshm_get_nb", "one get", _TO_A_MIB),
    ("openshmem get", "osu_oshm_get", "one get", _TO_A_MIB),
    ("openshmem put message rate", "osu_oshm_put_mr", "puts of all pairs, summed", {}),
    ("openshmem put_nb message rate", "osu_oshm_put_mr_nb", "puts of all pairs, summed", {}),
    ("openshmem get_nb message rate", "osu_oshm_get_mr_nb", "gets of all pairs, summed", {}),
    ("openshmem atomic operation rate", "osu_oshm_atomics", "atomic operations", _ONE_SIZE),
    ("upc memput", "osu_upc_memput", "one put", _PUT),
    ("upc memget", "osu_upc_memget", "one get", {}),
    ("upc++ async copy (put)", "osu_upcxx_async_copy_put", "one put", _PUT),
    ("upc++ async copy (get)", "osu_upcxx_async_copy_get", "one get", {}),
)

#: Operations whose title is the program's ending; MPI's spelling begins with a capital.
_ALIKE = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier",
    "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scatter", "scatterv",
)  # fmt: skip
#: Title, ending of the program's name, and the operation in MPI's spelling.
_OPERATIONS: tuple[tuple[str, str, str], ...] = (
    *((name, name, name.capitalize()) for name in _ALIKE),
    *(
        (f"all-to-all{suffix}{exchange}", f"alltoall{suffix}", f"Alltoall{suffix}")
        for exchange in ("", " personalized exchange")
        for suffix in ("", "v", "w")
    ),
    ("broadcast", "bcast", "Bcast"),
    *((name, name, name) for name in ("collect", "fcollect", "exchange")),
    ("gatherall", "gather_all", "gather_all"),
)

#: The form of a family's titles, program names and operations.
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
_BY_TITLE: dict[str, OsuBenchmark] = {
    title.format(operation): OsuBenchmark(
        name.format(ending), meaning.format(spelling), None, 1,
        COLLECTIVE_LAST_BYTES if family in _ENDING_ALIKE and operation != "barrier" else None,
    )
    for family, (title, name, meaning) in enumerate(_FAMILIES)
    for operation, ending, spelling in _OPERATIONS
} | {
    title: OsuBenchmark(name, meaning, **options) for title, name, meaning, options in _PAIRS
}  # fmt: skip
