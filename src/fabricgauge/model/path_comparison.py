"""Two sets of instruction paths side by side."""

import msgspec

from fabricgauge.model.call_path import CallPath, CallPaths


class PathPart(msgspec.Struct, frozen=True):
    """A library, or one of its functions, in both paths; 0 instructions are none at all.

    ``library`` has no version; ``function`` is empty for the whole library.
    """

    library: str
    function: str
    a_instructions: int
    a_lines: int
    b_instructions: int
    b_lines: int

    @property
    def removed(self) -> bool:
        return self.b_instructions == 0

    @property
    def added(self) -> bool:
        return self.a_instructions == 0


class PathChange(msgspec.Struct, frozen=True):
    """The same call in A and in B, both with a usual path; the largest difference comes first."""

    a: CallPath
    b: CallPath
    libraries: tuple[PathPart, ...]
    functions: tuple[PathPart, ...]


class PathComparison(msgspec.Struct, frozen=True):
    """All calls that both have; ``only_a`` and ``only_b`` have no counterpart."""

    a: CallPaths
    b: CallPaths
    changes: tuple[PathChange, ...]
    only_a: tuple[CallPath, ...]
    only_b: tuple[CallPath, ...]
