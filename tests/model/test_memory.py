"""Where buffers lie: what can be asked for, and how it is told."""

import pytest

from fabricgauge.model.errors import UsageError
from fabricgauge.model.memory import EndsMemory, RankMemory, describe_memory, parse_memory


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("host", ""), ("host,host", ""), ("cuda", "cuda"), ("cuda,cuda", "cuda"),
        ("hip, host", "hip,host"), ("host,managed", "host,managed"),
    ],
)  # fmt: skip
def test_host_memory_at_both_ends_is_what_is_usual(said: str, known: str) -> None:
    assert parse_memory(said) == known


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("gpu", "no memory 'gpu'; use host, cuda, hip, managed"),
        ("", "no memory ''"),
        ("cuda,", "no memory 'cuda,'"),
        ("cuda,host,host", "for both ends or as ORIGIN,TARGET"),
        ("cuda,hip", "use one kind of device memory"),
        ("managed,cuda", "use one kind of device memory"),
    ],
)
def test_what_the_ends_cannot_have_is_refused(said: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_memory(said)


def test_the_words_say_which_end_has_which_memory() -> None:
    assert describe_memory("cuda") == "buffers in cuda memory at both ends"
    assert describe_memory("host,hip") == (
        "buffers in host memory at the origin, in hip memory at the target"
    )
    assert str(EndsMemory("cuda", "cuda")) == describe_memory("cuda")
    assert str(RankMemory(0, "host")) == "rank 0: host memory"
    assert str(RankMemory(1, "cuda", "H100", 3)) == "rank 1: H100 (device 3)"
