"""Which way messages of a GPU's memory take, by UCX's own tables."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.ucx_protocols import gpu_ways
from fabricgauge.model.memory import DIRECT, STAGED

FIXTURES = Path(__file__).parents[3] / "fixtures" / "ucx_protocols"


def ways(name: str) -> list[str]:
    return list(gpu_ways((FIXTURES / name).read_text().splitlines()))


def test_a_published_table_tells_of_a_pipeline_through_host_memory() -> None:
    assert ways("published-1.12--osu-cuda-staged.out") == [
        f"cuda/GPU0 from 811556 B {STAGED} (rendezvous pipeline cuda_copy, fenced write to remote,"
        " cuda) by rc_mlx5/mlx5_0:1"
    ]


def test_published_tables_tell_of_adapters_that_read_gpu_memory() -> None:
    assert ways("published-1.17--perftest-direct.out") == [
        f"rocm/GPU0 from 65 B {DIRECT} (zero-copy) by rc_mlx5/mlx5_1:1/path0",
        f"cuda/GPU0 from 1 B {DIRECT} (zero-copy) by rc_mlx5/mlx5_0:1",
    ]


def test_recorded_tables_of_two_lines_of_head_are_read_as_those_of_another_node() -> None:
    """Recorded within a node, whose tables are left out; UCX 1.22 divides the head."""
    for name, path, how in (
        ("direct", DIRECT, "zero-copy flushed write to remote"),
        ("staged", STAGED, "frag host, cuda_copy, frag host"),
    ):
        text = (FIXTURES / f"recorded-1.22--{name}.out").read_text()
        assert not list(gpu_ways(text.splitlines()))
        lines = list(gpu_ways(text.replace("intra-node", "inter-node").splitlines()))
        assert lines and all(line.startswith("cuda/GPU0 from ") for line in lines)
        assert any(path in line and how in line for line in lines)
        assert {DIRECT in line for line in lines} == {path == DIRECT}


def table(how: str, by: str = "rc_mlx5/mlx5_0:1", place: str = "inter-node cfg#1") -> list[str]:
    """Written here, not recorded: the descriptions are those of UCX's own tests."""
    who = "[1795360695.2] [c1:7:0]   "
    return [
        f"{who}+----+----+",
        f"{who}| ucp_context_0 {place} | tagged message by ucp_tag_send*(multi) from cuda/GPU0 |",
        f"{who}|     0..8246 | copy-in | {by} |",
        f"{who}| 8247..inf | (?) {how} | {by} |",
    ]


@pytest.mark.parametrize(
    ("how", "by", "way"),
    [
        ("rendezvous cuda_copy, fenced write to remote, frag host, cuda_copy, frag host",
         "rc_mlx5/mlx5_0:1", STAGED),
        ("rendezvous cuda_copy, fenced write to remote, frag cuda, cuda_copy, frag cuda",
         "rc_mlx5/mlx5_0:1", DIRECT),
        ("multi-frag eager copy-in copy-out", "tcp/eth0", STAGED),
        ("rendezvous zero-copy read from remote", "rc_mlx5/mlx5_0:1", DIRECT),
        ("rendezvous zero-copy read from remote", "cuda_ipc/cuda", DIRECT),
    ],
)  # fmt: skip
def test_what_copies_to_host_memory_is_staged(how: str, by: str, way: str) -> None:
    assert list(gpu_ways(table(how, by))) == [f"cuda/GPU0 from 8247 B {way} ({how}) by {by}"]


@pytest.mark.parametrize("place", ["self cfg#0", "intra-node cfg#2"])
def test_what_stays_on_a_node_says_nothing_of_the_network(place: str) -> None:
    assert not list(gpu_ways(table("zero-copy", place=place)))


def test_rows_of_ranks_that_write_at_once_keep_their_heads() -> None:
    gpu, host = (
        table("zero-copy"),
        [
            line.replace("c1:7:0", "c2:9:0").replace("cuda/GPU0", "host memory")
            for line in table("cuda_copy, frag host")
        ],
    )
    mixed = [line for both in zip(gpu, host, strict=True) for line in both]
    (way,) = gpu_ways(mixed)
    assert way == f"cuda/GPU0 from 8247 B {DIRECT} (zero-copy) by rc_mlx5/mlx5_0:1"


@given(st.lists(st.text(alphabet="[]|.: cuda/GPU0from123infcfg#()?\t", max_size=120)))
def test_any_text_is_read(lines: list[str]) -> None:
    list(gpu_ways(lines))
