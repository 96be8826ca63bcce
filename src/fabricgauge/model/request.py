"""The requested measurement, from any source, and the options that do not apply to it."""

from collections.abc import Collection, Iterator

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.pattern import (
    BUFFERED_PATTERNS,
    COLLECTIVE_PATTERNS,
    DEVICE_PATTERNS,
    TRANSPORT_PATTERNS,
    Buffers,
)

#: The ``lab`` of a cluster that is made for this run and removed afterwards.
OWN_LAB = "(own)"
#: The only suite with a test of several connections.
_PARALLEL_SUITE = "iperf3"
#: Suites whose programs start without MPI, and programs that measure inside each node.
WITHOUT_MPI = ("perftest", "iperf3", "netpipe")
INSIDE_NODES = ("nvbandwidth", "rocm-bandwidth-test")


class MeasurementRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field for each option, by its name. A default means that the option was not set.

    ``budget`` and ``case_budget`` are seconds, ``sizes`` are bytes, ``half_width`` is relative.
    ``nodes`` is the size of a lab that is made for this run. ``rank_order`` names a node for each
    rank. ``patterns`` are words of ``plan.cases`` or patterns of many ranks. ``transport`` is
    empty for MPI, else words of ``run.transports``. ``memory`` is empty for the host's, else a word
    of ``model.memory``. ``buffers`` are those of messages, at each end. ``resume`` names a stored
    run.
    """

    nodelist: str = ""
    exclude: str = ""
    lab: str = ""
    nodes: int = 0
    launcher: str = ""
    ssh_config: str = ""
    rank_order: tuple[str, ...] = ()
    ppn: int = 1
    sim: str = ""
    sim_fault: tuple[str, ...] = ()
    sim_seed: int = 1
    sim_noise: float = 0.0
    mpi: str = ""
    tool: str = ""
    tool_path: str = ""
    parallel: int = 0
    network: tuple[str, ...] = ()
    unpinned: bool = False
    topology: str = ""
    profile: str = "quick"
    patterns: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    launches: int = 0
    half_width: float = 0.0
    case_budget: float = 0.0
    budget: float = 0.0
    concurrent: int = 0
    check_data: bool = False
    transport: str = ""
    memory: str = ""
    buffers: Buffers = "fewest"
    device: int | None = None
    keep_programs: bool = False
    resume: str = ""


#: The place and the programs of a run. A resumption does not take these from the stored run.
WHERE = (
    "nodelist", "exclude", "lab", "launcher", "ssh_config", "rank_order", "sim", "mpi", "tool",
    "tool_path",
)  # fmt: skip
#: Fields that name nodes, and fields that name the measuring programs.
_PLACES, _PROGRAMS = ("nodelist", "lab", "launcher", "sim"), ("mpi", "tool")
#: Numbers of the place. A resumption takes them from the stored run.
_PLACE_NUMBERS = ("nodes", "ppn", "sim_fault", "sim_seed", "sim_noise")
#: Fields that the plan of a stored run already contains.
PLANNED = (
    "network", "unpinned", "topology", "profile", "patterns", "sizes", "launches", "half_width",
    "case_budget", "budget", "concurrent", "check_data", "transport", "memory", "device", "buffers",
)  # fmt: skip
#: Fields that only our own engine uses.
ENGINE_ONLY = (
    "patterns", "sizes", "half_width", "case_budget", "check_data", "transport", "memory", "device",
    "buffers", "keep_programs",
)  # fmt: skip
_LAUNCH_FIELDS = ("budget", "sim")
#: Fields without effect inside a node.
_BETWEEN_NODES = (
    "rank_order", "network", "unpinned", "topology", "mpi", "launches", "profile", "resume",
)  # fmt: skip

_DEFAULTS = MeasurementRequest()


def keep_applicable(
    request: MeasurementRequest,
    ranks: int = 0,
    from_files: Collection[str] = (),
    launcher: str = "",
) -> MeasurementRequest:
    """Return the request without fields of configuration files that have no effect.

    ``ranks`` is the number of measuring processes, 0 if unknown; ``launcher`` is the one that
    reaches the nodes, if known. ``from_files`` are the fields from configuration files, which serve
    many commands: such a field is reset to its default if it does not apply.

    Raises:
        UsageError: an option of the command line has no effect or contradicts another one.
    """
    for holds, fields, reason in _conditions(request, ranks, launcher or request.launcher):
        for field in fields:
            if holds and asks_for(request, field):
                if field not in from_files:
                    raise UsageError(reason.replace("{}", option(field)))
                request = reset_fields(request, (field,))
    return request


def reset_fields(request: MeasurementRequest, fields: Collection[str]) -> MeasurementRequest:
    names = MeasurementRequest.__struct_fields__
    defaults = {name: getattr(_DEFAULTS, name) for name in names if name in fields}
    return msgspec.structs.replace(request, **defaults)


def asks_for(request: MeasurementRequest, field: str) -> bool:
    """Check that the request sets ``field`` to another value than its default."""
    return bool(getattr(request, field) != getattr(_DEFAULTS, field))


def _conditions(
    request: MeasurementRequest, ranks: int, launcher: str
) -> Iterator[tuple[bool, Collection[str], str]]:
    """Yield conditions under which fields have no effect, with the fields and the reason.

    The reason has {} in place of the option's name.
    """
    tool, lab = request.tool.partition(":")[0], bool(request.lab)
    stored = bool(request.resume)
    yield stored, (*PLANNED, *_PLACE_NUMBERS), "--resume takes {} from the run; leave it out"
    inside = f"{{}} has no effect on {tool}, which measures inside each node"
    yield tool in INSIDE_NODES, _BETWEEN_NODES, inside
    yield (
        bool(tool),
        ENGINE_ONLY,
        "{} has no effect on a suite of --tool; only fabricgauge's engine uses it",
    )
    reason = "{} has no effect on a suite of --tool: a simulated cluster starts no program"
    yield bool(tool), ("sim",), reason
    no_effect = "{} has no effect on a suite of --tool, which sets this itself"
    yield bool(tool), _LAUNCH_FIELDS, no_effect
    # Tests of a suite that are named may be of many ranks.
    yield bool(tool) and tool == request.tool, ("ppn",), no_effect
    yield bool(tool) and tool not in SUITES, ("concurrent",), no_effect
    reason = "{} is for the programs of another suite; name one with --tool"
    yield not tool, ("tool_path",), reason
    yield not (tool or stored), ("parallel",), reason
    reason = f"{{}} has no effect on {tool}; only iperf3 uses it"
    yield tool not in ("", _PARALLEL_SUITE), ("parallel",), reason
    yield tool in WITHOUT_MPI, ("mpi",), f"{{}} has no effect on {tool}, which starts without MPI"
    yield request.unpinned, ("network",), "--unpinned lets MPI choose the network; leave {} out"
    excluded = "--lab and --launcher exclude each other: a lab has its own launcher"
    yield lab, ("launcher",), excluded
    yield lab, ("ssh_config",), "{} has no effect on a lab, which needs no ssh"
    reason = f"{{}} has no effect on --launcher {launcher}"
    yield launcher not in ("", "ssh"), ("ssh_config",), reason
    reason = "{} is the size of a new lab; add --lab without a name"
    yield request.lab != OWN_LAB, ("nodes",), reason
    yield from _simulation_conditions(bool(request.sim))
    yield from _transport_conditions(request, ranks)
    yield from _memory_conditions(request, ranks)
    yield from _buffers_conditions(request)
    # Two ranks are one pair: there is no other pair to compare it with.
    yield ranks == 2, ("concurrent",), "{} has no effect on two ranks: they are one pair"
    yield ranks == 2, ("topology",), "{} has no effect on two ranks: groups need more nodes"


def _simulation_conditions(sim: bool) -> Iterator[tuple[bool, Collection[str], str]]:
    reason = "--sim excludes --lab and --launcher: nothing real is measured"
    yield sim, ("lab", "launcher", "ssh_config"), reason
    yield sim, ("topology",), "--sim takes the topology from its platform; leave {} out"
    reason = "{} has no effect on --sim: nothing is carried to simulated nodes"
    yield sim, ("keep_programs",), reason
    yield sim, ("mpi",), "{} has no effect on --sim, which has SimGrid's own MPI"
    reason = "{} belongs to a simulated cluster; name one with --sim"
    yield not sim, ("sim_fault", "sim_seed", "sim_noise"), reason
    yield sim, ("transport",), "{} has no effect on --sim, which has SimGrid's own MPI"
    yield sim, ("memory", "device"), "{} has no effect on --sim: simulated nodes have no GPU"
    yield sim, ("buffers",), "{} has no effect on --sim: simulated messages need no memory"


def _transport_conditions(
    request: MeasurementRequest, ranks: int
) -> Iterator[tuple[bool, Collection[str], str]]:
    carrier = request.transport.partition(":")[0]
    reason = f"{{}} is for MPI; --transport {carrier} always uses the chosen network"
    yield bool(carrier), ("unpinned",), reason
    reason = f"{{}} {carrier} measures one pair: name two nodes with -w, and one rank on each"
    yield ranks > 2, ("transport",), reason
    supported = TRANSPORT_PATTERNS.get(carrier, frozenset())
    unsupported = [word for word in request.patterns if not _is_among(supported, word)]
    supported_words = ", ".join(sorted(supported))
    reason = f"{{}}: {carrier} lacks {', '.join(unsupported)}; it supports {supported_words}"
    yield bool(carrier and unsupported), ("patterns",), reason


def _memory_conditions(
    request: MeasurementRequest, ranks: int
) -> Iterator[tuple[bool, Collection[str], str]]:
    carrier, memory = request.transport.partition(":")[0], request.memory
    reason = f"{{}} {memory} is for MPI; --transport {carrier} sends from host memory"
    yield bool(carrier), ("memory",), reason
    yield not memory, ("device",), "{} is the GPU of --memory cuda, hip or managed; name one"
    names = [word.partition(":")[0] for word in request.patterns]
    unsupported = [name for name in names if name not in DEVICE_PATTERNS]
    supported = ", ".join(sorted(DEVICE_PATTERNS))
    reason = f"{{}}: --memory {memory} lacks {', '.join(unsupported)}; it supports {supported}"
    yield bool(memory and unsupported), ("patterns",), reason
    collectives = [name for name in names if name in COLLECTIVE_PATTERNS]
    reason = (
        f"{{}} {memory} measures one pair: name two nodes with -w, and one rank on each; more ranks"
        " can only measure collectives, named by --patterns"
    )
    yield ranks > 2 and not (names and names == collectives), ("memory",), reason
    reason = f"{{}} {memory}: {', '.join(collectives)} has no origin and target; name one kind"
    yield bool(collectives) and "," in memory, ("memory",), reason


def _buffers_conditions(
    request: MeasurementRequest,
) -> Iterator[tuple[bool, Collection[str], str]]:
    carrier, buffers = request.transport.partition(":")[0], request.buffers
    reason = f"{{}} {buffers} is for MPI; --transport {carrier} has a buffer for each receive"
    yield bool(carrier), ("buffers",), reason
    names = [word.partition(":")[0] for word in request.patterns]
    without = bool(names) and not BUFFERED_PATTERNS & set(names)
    reason = f"{{}} has no effect on {', '.join(names)}; it is for messages between two ranks"
    yield without, ("buffers",), reason
    reason = "{} needs a buffer for each message: leave it out, or take --buffers multiple"
    yield buffers == "single", ("check_data",), reason


def _is_among(patterns: Collection[str], word: str) -> bool:
    """Check that a word of ``plan.cases`` names one of ``patterns`` with the usual epoch."""
    name, _, epoch = word.partition(":")
    return name in patterns and epoch in ("", "flush")


def option(field: str) -> str:
    return "--lab-nodes" if field == "nodes" else f"--{field.replace('_', '-')}"


def merge_resumed(resuming: MeasurementRequest, stored: MeasurementRequest) -> MeasurementRequest:
    """Return the stored request with the place and the programs of the resuming one.

    Raises:
        UsageError: a number of connections for a suite that does not use it.
    """
    fields = (*WHERE, "resume", *(["parallel"] if asks_for(resuming, "parallel") else []))
    replaced = {field: getattr(resuming, field) for field in fields}
    merged = msgspec.structs.replace(stored, **replaced)
    keep_applicable(MeasurementRequest(tool=merged.tool, parallel=resuming.parallel))
    return merged


def missing_place_words(
    resuming: MeasurementRequest, stored: MeasurementRequest, from_files: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the stored place and programs as words of a command line, if any are missing.

    Another place replaces the stored one if the command line names it; ``from_files`` are fields
    of configuration files. The programs must be named in any case.
    """
    has_place = any(asks_for(resuming, field) for field in _PLACES if field not in from_files)
    required = _PROGRAMS if has_place else WHERE
    is_complete = all(asks_for(resuming, field) for field in required if asks_for(stored, field))
    return () if is_complete else describe_place(stored)


def describe_place(request: MeasurementRequest) -> tuple[str, ...]:
    """Return the place and the programs of a request as words of a command line."""
    options = ((field, getattr(request, field)) for field in WHERE if asks_for(request, field))
    return tuple(
        word
        for field, value in options
        for word in (option(field), ",".join(value) if isinstance(value, tuple) else value)
        if word != OWN_LAB  # --lab without a name
    )
