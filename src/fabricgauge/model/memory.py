"""The memory of the buffers at a pair's two ends: host memory, or a GPU's."""

from typing import Literal, get_args

import msgspec

from fabricgauge.model.errors import UsageError

MemoryKind = Literal["host", "cuda", "hip", "managed"]


KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)


def parse_memory(text: str) -> str:
    """Return the memory of ``--memory``: ``KIND`` or ``ORIGIN,TARGET``; empty for host memory.

    Raises:
        UsageError: there is no such kind, or the ends have two kinds of device memory.
    """
    words = tuple(word.strip() for word in text.split(","))
    if len(words) > 2 or not set(words) <= set(KINDS):
        raise UsageError(
            f"no memory {text!r}; use {', '.join(KINDS)}, for both ends or as ORIGIN,TARGET"
        )
    kinds = dict.fromkeys(words)
    if len([kind for kind in kinds if kind != "host"]) > 1:
        raise UsageError(f"{text!r}: use one kind of device memory, with or without host memory")
    return "" if set(kinds) == {"host"} else words[0] if len(kinds) == 1 else ",".join(words)


def describe_memory(memory: str) -> str:
    """Describe the buffers' memory; ``memory`` is a result of ``parse_memory``, not empty."""
    origin, _, target = memory.partition(",")
    if target in ("", origin):
        return f"buffers in {origin} memory at both ends"
    return f"buffers in {origin} memory at the origin, in {target} memory at the target"


class CopyRates(msgspec.Struct, frozen=True):
    """Bytes/s of copies between a node's host and its GPU at one size, in the best launch."""

    to_device: float
    to_host: float


class Copy(msgspec.Struct, frozen=True):
    """A copy that a message through host memory needs, and its rate."""

    node: str
    to_host: bool
    bytes_per_s: float

    def __str__(self) -> str:
        direction = "from GPU to host" if self.to_host else "from host to GPU"
        return f"the copy {direction} on {self.node}"


#: MPI's ways to carry messages of buffers on a GPU, in the words of a run's facts.
STAGED, DIRECT = "staged through host memory", "straight from GPU memory"
