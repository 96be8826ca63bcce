"""``fabricgauge check``: the main job."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.nodes import OWN_LAB, reached
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.app.check import Outcome, Site
    from fabricgauge.app.measure import Bench
    from fabricgauge.app.progress import Progress
    from fabricgauge.cli.nodes import Reached
    from fabricgauge.model.reach import Reach
    from fabricgauge.plan.plan import Wanted
    from fabricgauge.settings import Settings
    from fabricgauge.store.run_directory import RunDirectory


@click.command()
@click.option("-w", "--nodelist", metavar="NODES", help="Nodes, e.g. c[1-2] or @group.")
@click.option("-x", "--exclude", metavar="NODES", help="Nodes to leave out.")
@click.option(
    "--lab",
    is_flag=False,
    flag_value=OWN_LAB,
    metavar="[NAME]",
    help="Measure a virtual cluster on this machine: NAME, or one made for this check.",
)
@click.option("--launcher", type=click.Choice(["ssh", "local"]), help="How nodes are reached.")
@click.option(
    "--ssh-config",
    type=click.Path(dir_okay=False, exists=True),
    metavar="FILE",
    help="Configuration for ssh instead of your own.",
)
@click.option(
    "--network",
    multiple=True,
    metavar="NAME",
    help="Network to measure, by name or subnet; default: each that joins the nodes.",
)
@click.option("--unpinned", is_flag=True, help="Leave MPI its own choice of network.")
@click.option("--place", metavar="NODES", help="Nodes of ranks 0 and 1 in that order, e.g. c2,c1.")
@click.option(
    "--profile",
    type=click.Choice(["quick", "standard", "full"]),
    default="quick",
    show_default=True,
    help="How much to measure: 1, 3 or 5 launches.",
)
@click.option("--patterns", metavar="LIST", help="Patterns, comma-separated; default: all.")
@click.option("--sizes", metavar="LIST", help="Message sizes, e.g. 0,8,64K,4MiB.")
@click.option("--launches", type=click.IntRange(1, 1000), help="Launches for each network.")
@click.option(
    "--half-width",
    type=click.FloatRange(0.0001, 0.5),
    help="Stop a case at this relative half-width of its interval.",
)
@click.option(
    "--case-budget",
    type=click.FloatRange(0.01, 3600),
    metavar="S",
    help="Seconds for one case.",
)
@click.option("--check-data", is_flag=True, help="Verify every byte received.")
@click.option("--mpi", metavar="NAME|MPICXX", help="mpich, openmpi, or the path of an mpicxx.")
@click.option("--resume", metavar="RUN", help="Finish a run that was broken off.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where runs are kept; default: $XDG_DATA_HOME/fabricgauge/runs.",
)
@click.option("--format", default="terminal", show_default=True, help="What to print.")
@click.option("--dry-run", is_flag=True, help="Discover and plan, print the commands, stop.")
@click.option("-q", "--quiet", is_flag=True, help="Print the report only, no progress.")
@click.pass_context
def check(ctx: click.Context, /, **options: Any) -> None:
    """Measure the network between two nodes, prove the path, judge, report.

    Discovers the nodes, measures latency and bandwidth over each network that joins
    them, holds the interfaces' counters against the bytes that were sent, and judges
    each figure against the network's physical ceiling.
    """
    from fabricgauge import settings
    from fabricgauge.cli.show import require_format

    said = settings.load()
    chosen = _with_files(ctx, options, said)
    require_format(chosen["format"])
    with reached(chosen) as doors:
        status = _check(chosen, said, doors)
    ctx.exit(status)


def _check(options: dict[str, Any], said: "Settings", doors: "Reached") -> int:
    from fabricgauge.app import check as app
    from fabricgauge.app.progress import Progress, Silent
    from fabricgauge.cli.progress import Bar
    from fabricgauge.judge.judging import exit_status

    bar: Progress = Silent() if options["quiet"] else Bar()
    site = _site(options, said, doors, bar)
    directory = _directory(options)
    if options["resume"]:
        bench = app.resume(site, directory, bar)
    else:
        bench = app.prepare(site, _wanted(options, doors[0]), directory, bar)
    if options["dry_run"]:
        _print_plan(bench)
        if not options["resume"]:
            directory.discard()
        return 0
    try:
        outcome = app.finish(bench, site.thresholds, bar)
    finally:
        bar.close()
    _print(outcome, options["format"])
    if not outcome.judged.run.complete:
        _say_how_to_resume(outcome.path, options)
    return 130 if outcome.interrupted else exit_status(outcome.judged.overall)


def _with_files(ctx: click.Context, options: dict[str, Any], said: "Settings") -> dict[str, Any]:
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


def _site(
    options: dict[str, Any], said: "Settings", doors: "Reached", progress: "Progress"
) -> "Site":
    from fabricgauge.app.check import Site
    from fabricgauge.app.engine import engine_for
    from fabricgauge.judge.thresholds import thresholds_from

    reach, declared = doors
    return Site(
        reach=reach,
        engine=engine_for(options["mpi"], progress),
        declared=(*declared, *said.networks),
        networks=tuple(options["network"]),
        unpinned=options["unpinned"],
        thresholds=thresholds_from(said.thresholds, said.thresholds_origin),
        command=tuple(sys.argv),
    )


def _wanted(options: dict[str, Any], reach: "Reach") -> "Wanted":
    import msgspec

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
    unknown = set(patterns) - set(PATTERNS)
    if unknown:
        raise UsageError(f"no pattern {sorted(unknown)[0]!r}; there is {', '.join(PATTERNS)}")
    sizes = options["sizes"]
    return Wanted(
        profile=msgspec.structs.replace(PROFILES[options["profile"]], **changes),
        patterns=patterns,
        sizes=tuple(map(size_bytes, sizes.split(","))) if sizes else DEFAULT_SIZES,
        place=_place(options["place"], reach),
        check_data=options["check_data"],
    )


def _place(said: str | None, reach: "Reach") -> tuple[str, str]:
    nodes = tuple(said.split(",")) if said else reach.nodes[:2]
    for node in nodes:
        if node not in reach.nodes:
            raise UsageError(f"{node!r} is none of the nodes: {', '.join(reach.nodes)}")
    if len(nodes) == 1 and not said:
        nodes = (nodes[0], nodes[0])
    if len(nodes) != 2:
        raise UsageError(f"two ranks need two nodes, not {len(nodes)}; write e.g. --place c1,c2")
    return nodes[0], nodes[1]


def _directory(options: dict[str, Any]) -> "RunDirectory":
    from fabricgauge import settings
    from fabricgauge.store.run_directory import RunDirectory, find

    root = options["output"] or settings.run_root()
    return find(root, options["resume"]) if options["resume"] else RunDirectory.create(root)


def _say_how_to_resume(path: Path, options: dict[str, Any]) -> None:
    """The command that measures the rest, with the same nodes."""
    import shlex

    nodes = {"--lab": options["lab"], "-w": options["nodelist"], "-x": options["exclude"],
             "--launcher": options["launcher"],
             "--ssh-config": options["ssh_config"], "--mpi": options["mpi"]}  # fmt: skip
    words = [w for name, value in nodes.items() if value for w in (name, value) if w != OWN_LAB]
    command = shlex.join(["fabricgauge", "check", *words, "--resume", str(path)])
    click.echo(f"What was measured is kept. Measure the rest with: {command}", err=True)


def _print_plan(bench: "Bench") -> None:
    import shlex

    from fabricgauge.app.measure import planned_command

    for launch in bench.plan.launches:
        command = planned_command(bench, launch)
        click.echo(f"# launch {launch.number}: {launch.network or 'unpinned'}")
        env = [f"{name}={value}" for name, value in sorted(command.env.items())]
        click.echo(shlex.join(["env", *env, *command.argv]))
        for case in launch.cases:
            click.echo(f"#   {case.name} window={case.window} budget={case.budget_s:.2f} s")
    click.echo(f"# at most {bench.plan.budget_s:.0f} s of measuring")


def _print(outcome: "Outcome", format_: str) -> None:
    from fabricgauge.cli.show import show

    show(outcome.judged, outcome.path, format_)
