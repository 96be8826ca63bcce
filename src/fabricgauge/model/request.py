"""What a person asks to be measured, whoever wrote it down, and what of it does not apply."""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from fabricgauge.model.errors import UsageError

#: ``lab`` of a cluster that is made for this run and removed afterwards.
OWN_LAB = "(own)"
#: The only suite that has a test of many connections.
_OF_MANY_CONNECTIONS = "iperf3"


class MeasurementRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field for each option, by its name. A default means that nothing was asked for.

    ``budget`` and ``case_budget`` are seconds, ``sizes`` are bytes, ``half_width`` is relative.
    ``nodes`` is the size of a lab that is made for this run. ``rank_order`` names a node for each
    rank. ``patterns`` are words of ``plan.asked`` or patterns of many ranks. ``resume`` names a
    stored run.
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
    resume: str = ""


#: Where and with which programs a run was measured: a resumption takes these from the run.
WHERE = (
    "nodelist", "exclude", "lab", "launcher", "ssh_config", "rank_order", "sim", "mpi", "tool",
    "tool_path",
)  # fmt: skip
#: These belong to them, but alone they do not say where.
_BESIDE = ("nodes", "ppn", "sim_fault", "sim_seed", "sim_noise")
#: What the plan of a stored run holds already.
_PLANNED = (
    "network", "unpinned", "topology", "profile", "patterns", "sizes", "launches", "half_width",
    "case_budget", "budget", "concurrent", "check_data",
)  # fmt: skip
_ENGINE_ONLY = ("patterns", "sizes", "half_width", "case_budget", "check_data")
_ENGINE_ONLY_BESIDE = ("budget", "concurrent", "topology", "ppn", "sim")

_DEFAULTS = MeasurementRequest()


def applicable(
    request: MeasurementRequest, ranks: int = 0, from_files: Collection[str] = ()
) -> MeasurementRequest:
    """The request, after everything in it was found to have an effect.

    ``ranks`` is how many processes measure, 0 where that is not known. Configuration files serve
    many commands: their fields, ``from_files``, are left out where they do not apply.

    Raises:
        UsageError: an option would have no effect, or contradicts another one.
    """
    for field, reason in _inapplicable(request, ranks):
        if field not in from_files:
            raise UsageError(reason)
        request = without(request, (field,))
    return request


def without(request: MeasurementRequest, fields: Collection[str]) -> MeasurementRequest:
    """The request as if nothing had been said of ``fields``."""
    there = [one for one in MeasurementRequest.__struct_fields__ if one in fields]
    return msgspec.structs.replace(request, **{one: getattr(_DEFAULTS, one) for one in there})


def asks_for(request: MeasurementRequest, field: str) -> bool:
    """Whether the request says something of ``field``."""
    return bool(getattr(request, field) != getattr(_DEFAULTS, field))


def _inapplicable(request: MeasurementRequest, ranks: int) -> Iterator[tuple[str, str]]:
    for field, reason in (
        *_of_resumption(request),
        *_of_suite(request),
        *_of_place(request),
        *_of_simulation(request),
        *_of_two(request, ranks),
    ):
        if asks_for(request, field):
            yield field, reason


def _of_resumption(request: MeasurementRequest) -> Iterator[tuple[str, str]]:
    for field in _PLANNED if request.resume else ():
        yield field, f"--resume takes {option(field)} from the run; leave it out"


def _of_suite(request: MeasurementRequest) -> Iterator[tuple[str, str]]:
    """With ``--tool`` another suite's programs measure one pair of nodes."""
    if request.tool:
        for field in _ENGINE_ONLY:
            yield field, f"{option(field)} is our own engine's; a suite of --tool has its own"
        for field in _ENGINE_ONLY_BESIDE:
            yield field, f"{option(field)} has no effect on a suite of --tool, which runs on a pair"
    elif not request.resume:
        reason = "is for the programs of another suite; name one with --tool"
        yield "tool_path", f"--tool-path {reason}"
        yield "parallel", f"--parallel {reason}"
    if request.tool not in ("", _OF_MANY_CONNECTIONS):
        yield "parallel", f"--parallel has no effect on {request.tool}; only iperf3 heeds it"


def _of_place(request: MeasurementRequest) -> Iterator[tuple[str, str]]:
    if request.lab:
        excluded = "--lab and --launcher exclude each other: a lab has its own launcher"
        yield "launcher", excluded
        yield "ssh_config", "--ssh-config has no effect on a lab, which needs no ssh"
    if request.launcher not in ("", "ssh"):
        yield "ssh_config", f"--ssh-config has no effect on --launcher {request.launcher}"
    if request.lab != OWN_LAB and not request.resume:
        yield "nodes", "-N is the size of a lab that is made for this run; add --lab without a name"


def _of_simulation(request: MeasurementRequest) -> Iterator[tuple[str, str]]:
    if request.sim:
        for field in ("lab", "launcher", "ssh_config"):
            yield field, "--sim excludes --lab and --launcher: nothing real is measured"
        yield "topology", "--sim knows its platform's topology; leave --topology out"
        yield "mpi", "--mpi has no effect on --sim, which has SimGrid's own MPI"
    elif not request.resume:
        reason = "belongs to a simulated cluster; name one with --sim"
        yield "sim_fault", f"--sim-fault plants into a simulated cluster and {reason}"
        yield "sim_seed", f"--sim-seed {reason}"
        yield "sim_noise", f"--sim-noise {reason}"


def _of_two(request: MeasurementRequest, ranks: int) -> Iterator[tuple[str, str]]:
    """Two ranks are one pair: there is nobody to compare it with."""
    if ranks == 2:
        yield "concurrent", "--concurrent has no effect on two ranks: they are one pair"
        yield "topology", "--topology has no effect on two ranks: groups need more nodes"


def option(field: str) -> str:
    """How the command line calls a field."""
    return f"--{field.replace('_', '-')}"


def resumed(said: MeasurementRequest, stored: MeasurementRequest) -> MeasurementRequest:
    """The stored request, with what is said now about the place: all of it, or nothing."""
    again = {"resume": said.resume}
    if asks_for(said, "parallel"):
        again["parallel"] = said.parallel  # type: ignore[assignment]
    if any(asks_for(said, field) for field in WHERE):
        again |= {field: getattr(said, field) for field in (*WHERE, *_BESIDE)}
    return msgspec.structs.replace(stored, **again)


def place_words(request: MeasurementRequest) -> tuple[str, ...]:
    """What the request says of the place and the programs, as words of a command line."""
    said = ((field, getattr(request, field)) for field in WHERE if asks_for(request, field))
    return tuple(
        word
        for field, value in said
        for word in (option(field), ",".join(value) if isinstance(value, tuple) else value)
    )


#: Options of earlier versions by the names that they had.
_FORMERLY = {"place": "rank_order", "streams": "parallel"}


def of_earlier_version(asked: Mapping[str, str], profile: str) -> MeasurementRequest:
    """What run.json of an earlier version says: options of the command line as text.

    ``profile`` is the plan's.
    """
    several: dict[str, str | list[str]] = {}
    for name, text in asked.items():
        field = _FORMERLY.get(name, name)
        between = {"rank_order": ",", "sim_fault": "\n"}.get(field)
        several[field] = text.split(between) if between else text
    return msgspec.convert({**several, "profile": profile}, MeasurementRequest, strict=False)
