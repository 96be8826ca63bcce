import pytest

from fabricgauge.logs.readers.osu.titles import title_of

#: Titles as versions 3.0 to 7.5 print them, and the programs that do.
NAMES = {
    "# OSU MPI Latency Test v5.7.1": "osu_latency",
    "# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5": "osu_bibw",
    "# OSU MPI-ROCM Bandwidth Test v5.9": "osu_bw",
    "# OSU MPI_Put-CUDA Bandwidth Test v6.1": "osu_put_bw",
    "# OSU MPI_Get latency Test v7.4": "osu_get_latency",
    "# OSU MPI_Fetch_and_op latency Test v5.8": "osu_fop_latency",
    "# OSU MPI Non-Blocking Broadcast Latency Test v7.4": "osu_ibcast",
    "# OSU MPI-CUDA MANAGED Non-blocking Allreduce Latency Test v7.4": "osu_iallreduce",
    "# OSU MPI Non-blocking Reduce_scatter_block Latency Test v7.4": "osu_ireduce_scatter_block",
    "# OSU MPI All-to-All Personalized Exchange Persistent Latency Test v7.4":
        "osu_alltoall_persistent",
    "# OSU MPI Neighborhood Alltoall Latency Test v7.4": "osu_neighbor_alltoall",
    "# OSU MPI Non-blocking Neighborhood Alltoallw Latency Test v7.4": "osu_ineighbor_alltoallw",
    "# OSU MPI Multi-threaded Latency Test v5.6": "osu_latency_mt",
    "# OSU NCCL-CUDA Allreduce Latency Test v7.5": "osu_xccl_allreduce",
    "# OSU RCCL-ROCM Bandwidth Test v7.4": "osu_xccl_bw",
    "# OSU OpenSHMEM Put Test v7.4": "osu_oshm_put",
    "# OSU UPC GatherAll Latency Test v7.4": "osu_upc_all_gather_all",
    "# OSU UPC++ AlltoAll Latency Test v7.4": "osu_upcxx_alltoall",
    "# OSU MPI Barrier Latency Test": "osu_barrier",
    "# OSU One Sided MPI_Put latency Test v4.2": "osu_put_latency",
    "# OSU One Sided MPI_Put Bi-directional Bandwidth Test v3.1.1": "osu_put_bibw",
    "# OSU One Sided MPI_Get Passive Bandwidth Test v3.7": "osu_passive_get_bw",
    "# OSU One Sided MPI_Accumulate Passive latency Test v4.1": "osu_passive_acc_latency",
    "# OSU MPI Bandwidth Test (Version 2.2)": "osu_bw",
}  # fmt: skip


@pytest.mark.parametrize("line", NAMES)
def test_a_title_names_its_program(line: str) -> None:
    title = title_of(line)
    assert title is not None
    assert title.benchmark.name == NAMES[line]


def test_version_and_device_are_taken_from_the_title() -> None:
    title = title_of("# OSU MPI-CUDA Latency Test v5.7.1  ")
    assert title is not None
    assert (title.version, title.device, title.text) == (
        "5.7.1", "CUDA", "OSU MPI-CUDA Latency Test v5.7.1",
    )  # fmt: skip


def test_a_program_that_is_not_known_goes_by_its_title_without_a_pattern() -> None:
    title = title_of("# OSU MPI Quantum Latency Test v9.1")
    assert title is not None
    assert (title.benchmark.name, title.benchmark.pattern) == ("MPI Quantum Latency", None)


def test_a_line_that_is_no_title_is_none() -> None:
    assert title_of("# Size          Latency (us)") is None
