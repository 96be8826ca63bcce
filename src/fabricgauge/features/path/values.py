"""The instruction path of MPI calls: of one call, of many calls, and the difference of two."""

import msgspec

VERSION = "1.0"

#: The program that makes the calls. Libraries linked into it count under its name.
CALLS = "fabricgauge-path-calls"

#: The operation of a path that another program recorded without the name of its call, and its way.
REGION, UNKNOWN = "traced region", "unknown"


class Uses(msgspec.Struct, frozen=True):
    """Numbers of distinct cache lines of 64 bytes, or of pages, by their use.

    ``load`` were only read as data, ``code_load`` read and executed, and so on.
    """

    load: int
    store: int
    load_store: int
    code: int
    code_load: int
    code_store: int
    code_load_store: int

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in self.__struct_fields__)


class ObjectSum(msgspec.Struct, frozen=True):
    """The instructions in one library or program; ``lines`` are all cache lines they touched."""

    object: str
    instructions: int
    lines: int


class FunctionSum(msgspec.Struct, frozen=True):
    """The same for one function. A function without a name has its start as name: ``+0x1b40``."""

    object: str
    function: str
    instructions: int
    lines: int


class TracedCall(msgspec.Struct, frozen=True, tag_field="record", tag="traced_call"):
    """One call, from its first instruction to its return.

    ``number`` counts a launch's traced calls; 0 is cold. ``segments`` are indices into
    ``functions`` with a number of instructions each, in order. ``polled`` instructions repeat the
    previous ones in ``poll_rounds`` rounds; no other figure includes them. ``new_lines`` are lines
    that the previous traced call did not touch. ``cut`` is true if the call was longer than its
    record. ``branches`` are conditional, ``signals`` were delivered during the call.
    """

    operation: str
    message_bytes: int
    number: int
    instructions: int
    polled: int
    poll_rounds: int
    cut: bool
    signals: int
    calls: int
    branches: int
    locked: int
    lines: Uses
    new_lines: int
    pages: Uses
    system_calls: dict[str, int]
    objects: tuple[ObjectSum, ...]
    functions: tuple[FunctionSum, ...]
    segments: tuple[tuple[int, int], ...]

    @property
    def has_lines(self) -> bool:
        """False if the recording program counted no cache lines: each call touches some."""
        return self.lines.total > 0

    @property
    def has_flow(self) -> bool:
        """False if calls, branches and locks were not counted: each MPI call branches."""
        return self.branches > 0


class CallPath(msgspec.Struct, frozen=True):
    """One operation at one size, over one connection between the ranks.

    ``way`` is ``node`` (the ranks share one), ``loopback`` or a network's name. ``calls`` are pairs
    of a number of instructions and the count of warm calls with it, ascending. ``usual`` is a warm
    call with the most frequent number, None if none was traced. ``problem`` is the reason why no
    call, or fewer calls than requested, were traced.
    """

    operation: str
    message_bytes: int
    ranks: int
    way: str
    calls: tuple[tuple[int, int], ...] = ()
    usual: TracedCall | None = None
    cold: TracedCall | None = None
    problem: str = ""

    @property
    def traced(self) -> int:
        return sum(count for _, count in self.calls)

    @property
    def call(self) -> TracedCall:
        """The usual call.

        Raises:
            ValueError: no call was traced, so there is nothing to compare.
        """
        if self.usual is None:
            raise ValueError("no call of this path was traced")
        return self.usual

    @property
    def is_region(self) -> bool:
        """True if another program recorded it, without the name of the call."""
        return self.operation == REGION

    @property
    def is_static(self) -> bool:
        """True if the call begins in the program itself, not by a jump to a library."""
        if self.usual is None or not self.usual.segments or self.is_region:
            return False  # a region may begin before the call
        first = self.usual.functions[self.usual.segments[0][0]]
        return first.object == CALLS and not first.function.endswith("@plt")


class CallPaths(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-call-paths"):
    """All paths of one run, with its MPI and environment."""

    version: str
    identity: str
    started_utc: str
    mpi: str
    nodes: tuple[str, ...]
    environment: dict[str, str]
    paths: tuple[CallPath, ...]
    virtual: bool = False


class PathPart(msgspec.Struct, frozen=True):
    """A library, or one of its functions, in both paths; 0 instructions if it is absent.

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
    """The calls that both runs have; ``only_a`` and ``only_b`` have no counterpart."""

    a: CallPaths
    b: CallPaths
    changes: tuple[PathChange, ...]
    only_a: tuple[CallPath, ...]
    only_b: tuple[CallPath, ...]
