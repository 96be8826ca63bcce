"""Where the buffers of a pair's two ends lie: in host memory, or on a GPU."""

from typing import Literal

import msgspec

MemoryKind = Literal["host", "cuda", "hip", "managed"]


class EndsMemory(msgspec.Struct, frozen=True):
    """The kind of memory of each end, as a launch was told."""

    origin: MemoryKind
    target: MemoryKind


class RankMemory(msgspec.Struct, frozen=True):
    """What one rank's buffers of a case lay in.

    ``device`` is the name by the driver and ``number`` the driver's number of it on that node; both
    are left out in host memory.
    """

    rank: int
    kind: MemoryKind
    device: str = ""
    number: int | None = None

    def __str__(self) -> str:
        return f"{self.kind} memory" + (f" of {self.device} {self.number}" if self.device else "")
