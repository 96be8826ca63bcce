"""The memory of buffers: the possible values of --memory, and their description."""

import pytest

from fabricgauge.model.errors import UsageError
from fabricgauge.model.measurement import EndsMemory, RankMemory
from fabricgauge.model.memory import describe_memory, parse_memory


@pytest.mark.parametrize(
    ("option", "memory"),
    [
        ("host", ""), ("host,host", ""), ("cuda", "cuda"), ("cuda,cuda", "cuda"),
        ("hip, host", "hip,host"), ("host,managed", "host,managed"),
    ],
)  # fmt: skip
def test_host_memory_at_both_ends_is_the_default(option: str, memory: str) -> None:
    assert parse_memory(option) == memory


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("gpu", "no memory 'gpu'; use host, cuda, hip, managed"),
        ("", "no memory ''"),
        ("cuda,", "no memory 'cuda,'"),
        ("cuda,host,host", "for both ends or as ORIGIN,TARGET"),
        ("cuda,hip", "use one kind of device memory"),
        ("managed,cuda", "use one kind of device memory"),
    ],
)
def test_impossible_memory_is_refused(option: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_memory(option)


def test_the_description_names_the_memory_of_each_end() -> None:
    assert describe_memory("cuda") == "buffers in cuda memory at both ends"
    assert describe_memory("host,hip") == (
        "buffers in host memory at the origin, in hip memory at the target"
    )
    assert str(EndsMemory("cuda", "cuda")) == describe_memory("cuda")
    assert str(RankMemory(0, "host")) == "rank 0: host memory"
    assert str(RankMemory(1, "cuda", "H100", 3)) == "rank 1: H100 (device 3)"
