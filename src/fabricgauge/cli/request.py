"""From options, files and a stored run to what is to be measured."""

import sys
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.app.target import Target
    from fabricgauge.cli.nodes import Reached
    from fabricgauge.model.host_access import HostAccess
    from fabricgauge.plan.fabric_plan import FabricWanted
    from fabricgauge.plan.plan import Wanted
    from fabricgauge.settings import Settings
    from fabricgauge.store.run_directory import RunDirectory

#: Options that say where a run was measured; ``--resume`` takes them from the run.
REMEMBERED = (
    "lab", "nodelist", "exclude", "launcher", "ssh_config", "mpi", "place", "tool", "tool_path",
    "sim",
)  # fmt: skip

#: What belongs to these, and is said by every command line.
REMEMBERED_BESIDE = ("nodes", "ppn", "sim_fault", "sim_seed", "sim_noise")


#: Options that only our own engine knows.
ENGINE_ONLY = ("patterns", "sizes", "half_width", "case_budget", "check_data")


def require_of_engine(ctx: click.Context, options: dict[str, Any]) -> None:
    """Refuse what another suite's programs would not heed.

    Raises:
        UsageError: such an option was given together with ``--tool``.
    """
    default = click.core.ParameterSource.DEFAULT
    said = [one for one in ENGINE_ONLY if ctx.get_parameter_source(one) is not default]
    if options["tool"] and said:
        option = said[0].replace("_", "-")
        raise UsageError(f"--{option} is our own engine's; a suite of --tool has its own")


def with_run(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """The same options, those of ``REMEMBERED`` from the run that is to be resumed.

    What the command line says itself wins, all of it together.

    Raises:
        UsageError: Slurm's jobs make that run.
    """
    if not options["resume"]:
        return options
    from fabricgauge.store.run_files import About, jobs

    run = directory(options)
    if jobs(run):
        raise UsageError(
            f"{run.identity} was submitted to Slurm: measure what it has left with fabricgauge"
            f" submit --resume {run.path}"
        )
    if any(options[key] for key in REMEMBERED):
        return options
    about = run.read("run.json", About)
    known = {one.name: one for one in ctx.command.params}
    said = {
        key: known[key].type_cast_value(ctx, text.split("\n") if known[key].multiple else text)
        for key, text in about.asked.items()
    }
    return {**options, **said}


def with_files(ctx: click.Context, options: dict[str, Any], said: "Settings") -> dict[str, Any]:
    """Options with the files' values where neither command line nor environment spoke."""
    chosen = dict(options)
    for key, value in said.check.items():
        name = key.replace("-", "_")
        if name not in options:
            raise UsageError(f"[check] in a configuration file names {key!r}: no such option")
        if ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT:
            chosen[name] = _cast(ctx, key, name, value)
    return chosen


def _cast(ctx: click.Context, key: str, name: str, value: object) -> Any:
    """A file's value by the same rules as the command line's; a list is a comma's."""
    option = next(one for one in ctx.command.params if one.name == name)
    words = value if isinstance(value, list) else [value]
    given = words if option.multiple else ",".join(map(str, words))
    try:
        return option.type_cast_value(ctx, given)
    except click.UsageError as error:
        raise UsageError(f"[check] {key} = {value!r} in a file: {error.message}") from error


def target(
    options: dict[str, Any], said: "Settings", hosts: "Reached", place: tuple[str, ...]
) -> "Target":
    """Where to measure: only the nodes of ``place`` are looked at."""
    import msgspec

    from fabricgauge.app.target import Target
    from fabricgauge.cli.fabric import simulation_of, stated_topology
    from fabricgauge.judge.thresholds import thresholds_from

    access, declared = hosts
    simulation = simulation_of(options)
    remembered = (*REMEMBERED, *REMEMBERED_BESIDE)
    apart = len(set(place)) == len(place)
    chosen = tuple(host for host in access.hosts if host.node in place or not apart)
    return Target(
        access=msgspec.structs.replace(access, hosts=chosen),
        engine=None,
        declared=(*declared, *said.networks),
        networks=tuple(options["network"]),
        unpinned=options["unpinned"],
        thresholds=thresholds_from(said.thresholds, said.thresholds_origin),
        command=tuple(sys.argv),
        asked={key: _text(options[key]) for key in remembered if options[key] not in (None, ())},
        topology=simulation.platform.topology if simulation else stated_topology(options),
        simulation=simulation,
    )


def _text(value: object) -> str:
    return "\n".join(map(str, value)) if isinstance(value, tuple) else str(value)


def wanted(options: dict[str, Any], access: "HostAccess") -> "Wanted | FabricWanted":
    """What to measure: one pair of ranks, or many."""
    from fabricgauge.cli.fabric import fabric_wanted, is_fabric

    return fabric_wanted(options, access) if is_fabric(options, access) else _pair(options, access)


def nodes_of(wanted: "Wanted | FabricWanted") -> tuple[str, ...]:
    """By rank; a node with several ranks stands several times."""
    from fabricgauge.plan.fabric_plan import FabricWanted

    return wanted.nodes if isinstance(wanted, FabricWanted) else wanted.place


def _pair(options: dict[str, Any], access: "HostAccess") -> "Wanted":
    import msgspec

    from fabricgauge.plan.asked import asked
    from fabricgauge.plan.plan import Wanted
    from fabricgauge.plan.profiles import DEFAULT_SIZES, PATTERNS, PROFILES
    from fabricgauge.settings import size_bytes

    said = {
        "launches": options["launches"],
        "case_budget_s": options["case_budget"],
        "relative_half_width": options["half_width"],
    }
    changes = {key: value for key, value in said.items() if value is not None}
    patterns = tuple((options["patterns"] or ",".join(PATTERNS)).split(","))
    for word in patterns:
        asked(word)  # what it cannot be is said before anything is measured
    sizes = options["sizes"]
    return Wanted(
        profile=msgspec.structs.replace(PROFILES[options["profile"]], **changes),
        patterns=patterns,
        sizes=tuple(map(size_bytes, sizes.split(","))) if sizes else DEFAULT_SIZES,
        place=_place(options["place"], access),
        check_data=options["check_data"],
    )


def _place(said: str | None, access: "HostAccess") -> tuple[str, str]:
    """The nodes of ranks 0 and 1: those named, or the only two there are."""
    nodes = tuple(said.split(",")) if said else access.nodes
    for node in nodes:
        if node not in access.nodes:
            raise UsageError(f"{node!r} is none of the nodes: {', '.join(access.nodes)}")
    if len(nodes) == 1 and not said:
        nodes *= 2
    if len(nodes) != 2:
        raise UsageError(
            f"a check measures two nodes, not {len(nodes)}; name them with -w or --place, e.g."
            f" --place {','.join(access.nodes[:2])}"
        )
    return nodes[0], nodes[1]


def directory(options: dict[str, Any]) -> "RunDirectory":
    from fabricgauge import settings
    from fabricgauge.store.run_directory import RunDirectory, find

    root = options["output"] or settings.run_root()
    return find(root, options["resume"]) if options["resume"] else RunDirectory.create(root)
