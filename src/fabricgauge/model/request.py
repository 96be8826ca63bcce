"""What is asked to be measured, wherever it was stated, and what of it does not apply."""

from collections.abc import Collection, Iterator

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, DEVICE_PATTERNS, TRANSPORT_PATTERNS

#: ``lab`` of a cluster that is made for this run and removed afterwards.
OWN_LAB = "(own)"
#: The only suite that has a test of many connections.
_OF_MANY_CONNECTIONS = "iperf3"
#: Suites whose programs no MPI starts, and programs that measure inside each node.
WITHOUT_MPI = ("perftest", "iperf3", "netpipe")
INSIDE_NODES = ("nvbandwidth", "rocm-bandwidth-test")


class MeasurementRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field for each option, by its name. A default means that nothing was asked for.

    ``budget`` and ``case_budget`` are seconds, ``sizes`` are bytes, ``half_width`` is relative.
    ``nodes`` is the size of a lab that is made for this run. ``rank_order`` names a node for each
    rank. ``patterns`` are words of ``plan.asked`` or patterns of many ranks. ``transport`` is
    empty for MPI, else words of ``run.transports``. ``memory`` is empty for the host's, else a word
    of ``model.memory``. ``resume`` names a stored run.
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
    device: int | None = None
    resume: str = ""


#: Where and with which programs a run is measured: no resumption takes these from the run.
WHERE = (
    "nodelist", "exclude", "lab", "launcher", "ssh_config", "rank_order", "sim", "mpi", "tool",
    "tool_path",
)  # fmt: skip
#: Those that name nodes, and those that name what measures there.
_PLACES, _PROGRAMS = ("nodelist", "lab", "launcher", "sim"), ("mpi", "tool")
#: Numbers that belong to the place; a resumption takes them from the run.
_BESIDE = ("nodes", "ppn", "sim_fault", "sim_seed", "sim_noise")
#: What the plan of a stored run holds already.
PLANNED = (
    "network", "unpinned", "topology", "profile", "patterns", "sizes", "launches", "half_width",
    "case_budget", "budget", "concurrent", "check_data", "transport", "memory", "device",
)  # fmt: skip
_ENGINE_ONLY = (
    "patterns", "sizes", "half_width", "case_budget", "check_data", "transport", "memory", "device",
)  # fmt: skip
_ENGINE_ONLY_BESIDE = ("budget", "ppn", "sim")
#: What has no effect inside a node.
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
    """The request, after everything in it was found to have an effect.

    ``ranks`` is how many processes measure, 0 where that is not known; ``launcher`` is the one that
    reaches the nodes, where it is known. Configuration files serve
    many commands: their fields, ``from_files``, are left out where they do not apply.

    Raises:
        UsageError: an option would have no effect, or contradicts another one.
    """
    for holds, fields, reason in _conditions(request, ranks, launcher or request.launcher):
        for field in fields:
            if holds and asks_for(request, field):
                if field not in from_files:
                    raise UsageError(reason.replace("{}", option(field)))
                request = reset_fields(request, (field,))
    return request


def reset_fields(request: MeasurementRequest, fields: Collection[str]) -> MeasurementRequest:
    """The request with ``fields`` at their defaults."""
    there = [one for one in MeasurementRequest.__struct_fields__ if one in fields]
    return msgspec.structs.replace(request, **{one: getattr(_DEFAULTS, one) for one in there})


def asks_for(request: MeasurementRequest, field: str) -> bool:
    """Whether the request sets ``field`` to another value than its default."""
    return bool(getattr(request, field) != getattr(_DEFAULTS, field))


def _conditions(
    request: MeasurementRequest, ranks: int, launcher: str
) -> Iterator[tuple[bool, Collection[str], str]]:
    """When fields have no effect; {} stands for the option's name in the reason."""
    tool, lab = request.tool.partition(":")[0], bool(request.lab)
    stored = bool(request.resume)
    yield stored, (*PLANNED, *_BESIDE), "--resume takes {} from the run; leave it out"
    inside = f"{{}} has no effect on {tool}, which measures inside each node"
    yield tool in INSIDE_NODES, _BETWEEN_NODES, inside
    yield bool(tool), _ENGINE_ONLY, "{} is our own engine's; a suite of --tool has its own"
    no_effect = "{} has no effect on a suite of --tool, whose starts are its own"
    yield bool(tool), _ENGINE_ONLY_BESIDE, no_effect
    yield bool(tool) and tool not in SUITES, ("concurrent",), no_effect
    reason = "{} is for the programs of another suite; name one with --tool"
    yield not tool, ("tool_path",), reason
    yield not (tool or stored), ("parallel",), reason
    reason = f"{{}} has no effect on {tool}; only iperf3 heeds it"
    yield tool not in ("", _OF_MANY_CONNECTIONS), ("parallel",), reason
    yield tool in WITHOUT_MPI, ("mpi",), f"{{}} has no effect on {tool}, which no MPI starts"
    yield request.unpinned, ("network",), "--unpinned leaves MPI its own choice; leave {} out"
    excluded = "--lab and --launcher exclude each other: a lab has its own launcher"
    yield lab, ("launcher",), excluded
    yield lab, ("ssh_config",), "{} has no effect on a lab, which needs no ssh"
    reason = f"{{}} has no effect on --launcher {launcher}"
    yield launcher not in ("", "ssh"), ("ssh_config",), reason
    reason = "{} is the size of a new lab; add --lab without a name"
    yield request.lab != OWN_LAB, ("nodes",), reason
    yield from _of_simulation(bool(request.sim))
    yield from _of_transport(request, ranks)
    yield from _of_memory(request, ranks)
    # Two ranks are one pair: there is nobody to compare it with.
    yield ranks == 2, ("concurrent",), "{} has no effect on two ranks: they are one pair"
    yield ranks == 2, ("topology",), "{} has no effect on two ranks: groups need more nodes"


def _of_simulation(sim: bool) -> Iterator[tuple[bool, Collection[str], str]]:
    reason = "--sim excludes --lab and --launcher: nothing real is measured"
    yield sim, ("lab", "launcher", "ssh_config"), reason
    yield sim, ("topology",), "--sim knows its platform's topology; leave {} out"
    yield sim, ("mpi",), "{} has no effect on --sim, which has SimGrid's own MPI"
    reason = "{} belongs to a simulated cluster; name one with --sim"
    yield not sim, ("sim_fault", "sim_seed", "sim_noise"), reason
    yield sim, ("transport",), "{} has no effect on --sim, which has SimGrid's own MPI"
    yield sim, ("memory", "device"), "{} has no effect on --sim: simulated nodes have no GPU"


def _of_transport(
    request: MeasurementRequest, ranks: int
) -> Iterator[tuple[bool, Collection[str], str]]:
    carrier = request.transport.partition(":")[0]
    reason = f"{{}} leaves MPI its choice; --transport {carrier} uses the network that is meant"
    yield bool(carrier), ("unpinned",), reason
    reason = f"{{}} {carrier} measures one pair: name two nodes with -w, and one rank on each"
    yield ranks > 2, ("transport",), reason
    can = TRANSPORT_PATTERNS.get(carrier, frozenset())
    beyond = [word for word in request.patterns if not _is_among(can, word)]
    reason = f"{{}}: {carrier} have no {', '.join(beyond)}; they have {', '.join(sorted(can))}"
    yield bool(carrier and beyond), ("patterns",), reason


def _of_memory(
    request: MeasurementRequest, ranks: int
) -> Iterator[tuple[bool, Collection[str], str]]:
    carrier, memory = request.transport.partition(":")[0], request.memory
    reason = f"{{}} {memory} is for MPI; --transport {carrier} sends from host memory"
    yield bool(carrier), ("memory",), reason
    yield not memory, ("device",), "{} is the GPU of --memory cuda, hip or managed; name one"
    names = [word.partition(":")[0] for word in request.patterns]
    beyond = [name for name in names if name not in DEVICE_PATTERNS]
    can = ", ".join(sorted(DEVICE_PATTERNS))
    reason = f"{{}}: --memory {memory} has no {', '.join(beyond)}; it has {can}"
    yield bool(memory and beyond), ("patterns",), reason
    together = [name for name in names if name in COLLECTIVE_PATTERNS]
    reason = (
        f"{{}} {memory} measures one pair: name two nodes with -w, and one rank on each; more ranks"
        " have collectives alone, named by --patterns"
    )
    yield ranks > 2 and not (names and names == together), ("memory",), reason
    reason = f"{{}} {memory}: {', '.join(together)} has no origin and target; name one kind"
    yield bool(together) and "," in memory, ("memory",), reason


def _is_among(patterns: Collection[str], word: str) -> bool:
    """Whether what a word of ``plan.asked`` names is one of them, without an epoch of its own."""
    name, _, rest = word.partition(":")
    return name in patterns and rest in ("", "flush")


def option(field: str) -> str:
    """Return the name of a field on the command line."""
    return "--lab-nodes" if field == "nodes" else f"--{field.replace('_', '-')}"


def merge_resumed(said: MeasurementRequest, stored: MeasurementRequest) -> MeasurementRequest:
    """Return the stored request with the place and the programs of the one that resumes it.

    Raises:
        UsageError: connections of a suite that does not heed their number.
    """
    fields = (*WHERE, "resume", *(["parallel"] if asks_for(said, "parallel") else []))
    made = msgspec.structs.replace(stored, **{field: getattr(said, field) for field in fields})
    keep_applicable(MeasurementRequest(tool=made.tool, parallel=said.parallel))
    return made


def missing_place_words(
    said: MeasurementRequest, stored: MeasurementRequest, from_files: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the stored place and programs as words of a command line, if ``said`` lacks any.

    Another place replaces the stored one if the command line names it; ``from_files`` are fields
    of configuration files. The programs must be named in any case.
    """
    moved = any(asks_for(said, field) for field in _PLACES if field not in from_files)
    required = _PROGRAMS if moved else WHERE
    is_complete = all(asks_for(said, one) for one in required if asks_for(stored, one))
    return () if is_complete else describe_place(stored)


def describe_place(request: MeasurementRequest) -> tuple[str, ...]:
    """What the request says of the place and the programs, as words of a command line."""
    said = ((field, getattr(request, field)) for field in WHERE if asks_for(request, field))
    return tuple(
        word
        for field, value in said
        for word in (option(field), ",".join(value) if isinstance(value, tuple) else value)
        if word != OWN_LAB  # --lab without a name
    )
