"""Where the buffers of a pair's two ends lie: in host memory, or on a GPU."""

from typing import Literal, get_args

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.together import Rank

MemoryKind = Literal["host", "cuda", "hip", "managed"]


KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)


def parse_memory(text: str) -> str:
    """The memory as ``--memory`` names it, ``KIND`` or ``ORIGIN,TARGET``; empty for the host's.

    Raises:
        UsageError: there is no such kind, or the ends have two kinds of device memory.
    """
    words = tuple(word.strip() for word in text.split(","))
    if len(words) > 2 or not set(words) <= set(KINDS):
        raise UsageError(
            f"no memory {text!r}; there is {', '.join(KINDS)}, for both ends or as ORIGIN,TARGET"
        )
    kinds = dict.fromkeys(words)
    if len([one for one in kinds if one != "host"]) > 1:
        raise UsageError(f"{text!r}: both ends have the same kind of device memory, or one host's")
    return "" if set(kinds) == {"host"} else words[0] if len(kinds) == 1 else ",".join(words)


def describe_memory(memory: str) -> str:
    """Where the buffers lie, of a word of ``parse_memory`` that is not empty."""
    origin, _, target = memory.partition(",")
    if target in ("", origin):
        return f"buffers in {origin} memory at both ends"
    return f"buffers in {origin} memory at the origin, in {target} memory at the target"


class EndsMemory(msgspec.Struct, frozen=True):
    """The kind of memory of each end, as a launch was told."""

    origin: MemoryKind
    target: MemoryKind

    def __str__(self) -> str:
        return describe_memory(f"{self.origin},{self.target}")


class RankMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one rank's buffers of a case lay in.

    ``device`` is the name by the driver and ``number`` the driver's number of it on that node; both
    are left out in host memory.
    """

    rank: Rank
    kind: MemoryKind
    device: str = ""
    number: int | None = None

    def __str__(self) -> str:
        device = f"{self.device} (device {self.number})" if self.device else "host memory"
        return f"rank {self.rank}: {device}"


class CopyTimes(msgspec.Struct, frozen=True):
    """Median seconds of a copy of ``bytes`` between a rank's host and its GPU, each way."""

    bytes: int
    to_device_s: float
    to_host_s: float


class CopyRates(msgspec.Struct, frozen=True):
    """Bytes/s of copies between a node's host and its GPU at one size, in the best launch."""

    to_device: float
    to_host: float


class Copy(msgspec.Struct, frozen=True):
    """A copy that a message through host memory needs, and what it carries in bytes/s."""

    node: str
    to_host: bool
    bytes_per_s: float

    def __str__(self) -> str:
        way = "from GPU to host" if self.to_host else "from host to GPU"
        return f"the copy {way} on {self.node}"


#: How MPI carried messages of buffers on a GPU, as a run's facts say it.
STAGED, DIRECT = "staged through host memory", "straight from GPU memory"
