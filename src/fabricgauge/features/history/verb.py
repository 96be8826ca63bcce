"""``fabricgauge history``: runs over time, baselines, drift, a static site, the weekly sweep."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import msgspec

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed, combine_options, lazy_function, list_parser
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import deliver, print_report
from fabricgauge.features.history.index import open_index
from fabricgauge.features.history.series import Selection, read_history, read_shares
from fabricgauge.features.history.values import History
from fabricgauge.features.history.words import day
from fabricgauge.model.errors import UsageError
from fabricgauge.model.verdict import exit_status
from fabricgauge.model.words.sentences import counted
from fabricgauge.nodes.launch.launchers.nodes import expand
from fabricgauge.report.visible import visible
from fabricgauge.store import settings
from fabricgauge.store.files.writing import make_folder, reporting
from fabricgauge.store.run_directory import find, now_utc


def parse_day(text: str) -> float:
    """Return ``2026-11-23``, ``2026-11-23T15:21`` or ``30d`` (days ago) in seconds since 1970."""
    if text.endswith("d") and text[:-1].isdigit():
        return (datetime.now(timezone.utc) - timedelta(days=int(text[:-1]))).timestamp()
    try:
        return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no day; write e.g. 2026-11-23, or 30d for 30 days ago"
                         ) from error  # fmt: skip


def parse_setting(text: str) -> tuple[str, str]:
    """Return ``kernel=6.1*`` as a name and a value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{text!r} is no NAME=VALUE; write e.g. kernel='6.1*' or MPI='mpich 5*'")
    return name.strip(), value.strip()


_index_option = click.option(
    "--index", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Index to use. Default: one in $XDG_CACHE_HOME/fabricgauge/history. It can be deleted at"
    " any time.",
)  # fmt: skip
_network_option = click.option(
    "--network", default="", metavar="NAME", help="Network. Default: all."
)
_pattern_option = click.option(
    "--pattern", default="", metavar="PATTERN", help="Pattern. Default: all."
)


def _lab_option(default: str) -> cli_options.Decorator:
    words = f"Runs of this lab. Default: {default}."
    return click.option("--lab", "place", metavar="NAME", help=words)


#: Which runs, apart from their lab.
_run_options_without_lab = combine_options(
    cli_options.nodelist_option("all"),
    _network_option,
    click.option(
        "--from", "from_s", type=Parsed("day", parse_day), default=0.0, metavar="DAY",
        help="First day, e.g. 2026-11-23, or 30d for 30 days ago.",
    ),
    click.option(
        "--until", "to_s", type=Parsed("day", parse_day), default=float("inf"), metavar="DAY",
        help="Last moment.",
    ),
    click.option(
        "--with", "with_settings", multiple=True, type=Parsed("setting", parse_setting),
        metavar="NAME=VALUE",
        help="Only runs with this setting, e.g. 'MPI=mpich 5*' or 'kernel=6.1*'. May be repeated.",
    ),
    cli_options.output_option(),
    _index_option,
)  # fmt: skip
_run_options = combine_options(_run_options_without_lab, _lab_option("all runs"))
#: Which of their series.
_series_options = combine_options(
    _run_options,
    _pattern_option,
    click.option(
        "--sizes", type=Parsed("list", list_parser(lazy_function("store.settings", "size_bytes"))),
        default=(), metavar="LIST",
        help="Message sizes. Default: 8 B for a latency, 1 MiB for a stream, or the nearest.",
    ),
)  # fmt: skip


def _printing_options(kind: str) -> cli_options.Decorator:
    return combine_options(cli_options.format_option(kind), cli_options.to_option)


_least_option = click.option(
    "--least", type=Parsed("share", lambda text: parse_share(text)), default="2%",
    show_default=True, metavar="SHARE", help="Smallest change of interest.",
)  # fmt: skip


def parse_share(text: str) -> float:
    """Return ``3%`` or ``0.03`` as 0.03."""
    number, percent = text.removesuffix("%").strip(), text.endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError as error:
        raise UsageError(f"{text!r} is no share; write e.g. 3% or 0.03") from error
    if not 0 <= share < 1:
        raise UsageError(f"{text!r} is not between 0 and 100 %")
    return share


@click.group(context_settings=HELP_OPTIONS)
def history() -> None:
    """Show runs over time: series, drift, change points; pin baselines; write a site; sweep.

    Reads the run directories below --output. An index makes this quick; it is built when needed.
    """


@history.command("list")
@_run_options
@_printing_options("history_list")
@click.option("--rebuild", is_flag=True, help="Delete the index and build it again.")
def list_runs(rebuild: bool, format: str, to: Path | None, **options: Any) -> None:
    """List the runs, newest first."""
    with _opened(options, figures=False, rebuild=rebuild) as stored:
        print_report("history_list", stored, format, to)


@history.command("show")
@_series_options
@_least_option
@_printing_options("history_series")
def show_series(least: float, format: str, to: Path | None, **options: Any) -> None:
    """Show series as tables: each run's figure, interval, and the changes of level."""
    _show(options, least, format, to, plotted=False)


@history.command("plot")
@_series_options
@_least_option
@_printing_options("history_series")
def plot_series(least: float, format: str, to: Path | None, **options: Any) -> None:
    """Draw series over time with their changes of level and what changed then."""
    _show(options, least, format, to, plotted=True)


def _show(
    options: dict[str, Any], least: float, format: str, to: Path | None, *, plotted: bool
) -> None:
    from fabricgauge.features.history.series_content import view_series

    with _opened(options) as stored:
        print_report("history_series", view_series(stored, plotted, least), format, to)


@history.command("drift")
@_series_options
@_least_option
@click.option(
    "--false-alarms", type=click.FloatRange(1e-6, 1000), default=1.0, show_default=True,
    metavar="N", help="False alarms to accept in 365 runs, over all series together.",
)  # fmt: skip
@_printing_options("history_drift")
@click.pass_context
def show_drift(
    ctx: click.Context, /, least: float, false_alarms: float, format: str, to: Path | None,
    **options: Any,
) -> None:  # fmt: skip
    """Compare the last runs of each series with its baseline, or with its first 40 runs.

    Exit status: 0 no drift, 1 at least one alarm, 3 undecided: most series have too few runs, or
    the latest runs lack figures of a series.
    """
    from fabricgauge.features.history.baseline import choose_baselines
    from fabricgauge.features.history.drift import Policy, find_drift
    from fabricgauge.features.history.drift_content import DriftView, explain_alarms

    with _opened(options) as stored:
        policy = Policy(false_alarms, least)
        watched = find_drift(stored.groups, policy, choose_baselines(stored), stored.runs)
        causes = explain_alarms(stored, watched.alarms)
        view = DriftView(stored, watched, false_alarms, causes)
        print_report("history_drift", view, format, to)
    ctx.exit(exit_status(watched.outcome))


@history.group("baseline")
def baseline_group() -> None:
    """Pin runs as the reference of drift, or list and remove baselines."""


_scope_options = combine_options(
    cli_options.nodelist_option("all"), _network_option, _pattern_option,
    cli_options.output_option(),
)  # fmt: skip


@baseline_group.command("set")
@click.argument("runs", nargs=-1)
@_scope_options
@click.option("--last", type=click.IntRange(1), metavar="N", help="Pin the last N runs.")
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who read it later.")
@_index_option
def set_baseline(runs: tuple[str, ...], last: int | None, reason: str, **options: Any) -> None:
    """Pin RUNS, or the last N runs, as the reference.

    Without either, begin a new past: the next runs become the reference, e.g. after a new firmware.
    """
    from fabricgauge.features.history import baseline

    root = _root(options)
    names = [find(root, run).identity for run in runs]
    if last:
        with _opened({**options, "nodelist": None}, figures=False) as stored:
            names += [run.name for run in stored.runs if not run.trouble][-last:]
    scope = _scope(options)
    pinned = baseline.Baseline(now_utc(), tuple(dict.fromkeys(names)), *scope, reason)
    path = baseline.set_baseline(root, pinned)
    count = len(pinned.runs)
    click.echo(f"{counted(count, 'run')} {'is' if count == 1 else 'are'} the reference: {path}"
               if names else f"earlier runs are no reference any more: {path}")  # fmt: skip


@baseline_group.command("clear")
@_scope_options
def clear_baseline(**options: Any) -> None:
    """Remove the baselines of exactly this scope; a series' first runs are its reference then."""
    from fabricgauge.features.history import baseline

    removed = baseline.clear_baselines(_root(options), *_scope(options))
    click.echo(f"baselines removed: {removed}")


@baseline_group.command("list")
@cli_options.output_option()
def list_baselines(**options: Any) -> None:
    """List the baselines, newest first; the first that fits a series holds."""
    from fabricgauge.features.history.baseline import read_baselines

    for path, pinned in read_baselines(_root(options)):
        scope = [*pinned.nodes, pinned.network, pinned.pattern]
        words = ", ".join(filter(None, scope)) or "all series"
        click.echo(visible(f"{pinned.set_utc}  {len(pinned.runs):4} runs  {words}  {pinned.reason}"
                           f"  ({path.name})"))  # fmt: skip


@history.command("learn")
@_run_options_without_lab
@_lab_option("runs on real nodes")
@click.option(
    "--chance", type=click.FloatRange(1e-5, 0.1), default=0.005, show_default=True, metavar="SHARE",
    help="Share of sound figures that may miss a learned threshold.",
)  # fmt: skip
@cli_options.to_option
def learn_thresholds(chance: float, to: Path | None, **options: Any) -> None:
    """Print thresholds that this site's passed runs meet, as a table for a configuration file.

    Runs of labs, simulations and imported logs do not count, unless --lab names a lab.

    They replace built-in thresholds only where you put them: in config.toml, or in the file that
    $FABRICGAUGE_SITE_FILE names. Verdicts then quote their origin.
    """
    from fabricgauge.features.history.learning import fewest_figures, learn, write_toml

    root, selection = _root(options), _selection(options, place="")
    with open_index(root, options["index"]) as connection:
        stored = read_history(connection, root, selection, figures=False)
        passed = tuple(run for run in stored.runs if run.outcome == "PASS")
        stored = msgspec.structs.replace(stored, runs=passed)  # figures of others may all be low
        shares = tuple(read_shares(connection, stored, selection.network))
    learned, short = learn(shares, chance)
    for name, count in short.items():
        click.echo(f"{name}: {count} figures of sound runs; {fewest_figures(chance)} are needed for"
                   f" a chance of {chance:g}", err=True)  # fmt: skip
    if not stored.runs:
        where = selection.place or "real nodes"
        click.echo(f"{root} has no passed run of {where}; --lab NAME selects a lab's", err=True)
    elif not shares:
        click.echo(f"no verdict of {len(stored.runs)} passed runs has a figure and a threshold",
                   err=True)  # fmt: skip
    if not learned:
        raise click.exceptions.Exit(3)
    days = f"{day(stored.runs[0].started_s)[:10]} to {day(stored.runs[-1].started_s)[:10]}"
    origin = f"learned from {len(stored.runs)} runs of {days}; {chance:g} of sound figures miss it"
    deliver(write_toml(learned, origin), to)


@history.command("site")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_series_options
@_least_option
def write_site(folder: Path, least: float, **options: Any) -> None:
    """Write pages that open from a file: overview, heat map, a page for each node.

    FOLDER is made, or must hold an earlier site. Each point leads to the report of its run.
    """
    from fabricgauge.features.history.baseline import choose_baselines
    from fabricgauge.features.history.drift import Policy
    from fabricgauge.features.history.site import write_pages

    with _opened(options) as stored:
        pages = write_pages(stored, folder, Policy(least=least), choose_baselines(stored))
    click.echo(f"{pages} pages: {folder / 'index.html'}")


@history.command("sweep")
@cli_options.nodelist_option("all of the partition")
@cli_options.exclude_option
@click.option("-p", "--partition", default="", metavar="NAME", help="Slurm partition to sweep.")
@click.option(
    "--launcher", type=click.Choice(["slurm", "ssh"]), default="slurm", show_default=True,
    help="How to find idle nodes: Slurm's own states, or the load of the nodes of -w by ssh.",
)  # fmt: skip
@click.option(
    "--node-minutes", type=click.FloatRange(1), default=120.0, show_default=True, metavar="N",
    help="Budget of this sweep: nodes times minutes.",
)  # fmt: skip
@click.option(
    "--pair-minutes", type=click.FloatRange(0.5, 60), default=2.0, show_default=True, metavar="N",
    help="Time limit of one pair's job.",
)  # fmt: skip
@click.option(
    "--every", type=click.FloatRange(0.01), default=7.0, show_default=True, metavar="DAYS",
    help="How often you run the sweep: it states in how many weeks all nodes are measured.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the pairs and the commands; start nothing.")
@click.option(
    "--sbatch", multiple=True, metavar="OPTION",
    help="Another option of sbatch, e.g. --sbatch=--qos=scavenger. May be repeated.",
)  # fmt: skip
@cli_options.output_option()
@_index_option
@click.pass_context
def sweep_idle_nodes(ctx: click.Context, /, **options: Any) -> None:
    """Measure pairs of idle nodes within a budget; new pairs and long unmeasured nodes first.

    Starts no job while another one waits for nodes, and cancels its own job as soon as one does.
    """
    from fabricgauge.features.history.sweep import SweepRequest, run_sweep

    root = _root(options)
    with reporting("create", root):
        make_folder(root)
    request = SweepRequest(
        nodelist=options["nodelist"] or "", exclude=options["exclude"] or "",
        partition=options["partition"], launcher=options["launcher"],
        node_minutes=options["node_minutes"], pair_minutes=options["pair_minutes"],
        every_days=options["every"], dry_run=options["dry_run"], sbatch=options["sbatch"],
    )  # fmt: skip
    with _opened({"output": root, "index": options["index"]}, figures=False) as stored:
        ctx.exit(run_sweep(request, root, stored, lambda text: click.echo(text, err=True)))


def _root(options: dict[str, Any]) -> Path:
    root: Path = options["output"] or settings.run_root()
    return root


def _scope(options: dict[str, Any]) -> tuple[tuple[str, ...], str, str]:
    return _nodes(options.get("nodelist")), options["network"], options["pattern"]


def _nodes(text: str | None) -> tuple[str, ...]:
    return tuple(expand(text)) if text else ()


def _selection(options: dict[str, Any], place: str | None = None) -> Selection:
    """Return what the options select; without ``--lab`` the runs of ``place``, or all."""
    lab = options.get("place")
    return Selection(
        nodes=frozenset(_nodes(options.get("nodelist"))), network=options.get("network", ""),
        pattern=options.get("pattern", ""), place=f"lab {lab}" if lab else place,
        sizes=options.get("sizes", ()), from_s=options.get("from_s", 0.0),
        to_s=options.get("to_s", float("inf")), settings=options.get("with_settings", ()),
    )  # fmt: skip


@contextmanager
def _opened(
    options: dict[str, Any], *, figures: bool = True, rebuild: bool = False
) -> Iterator[History]:
    root = _root(options)
    with open_index(root, options["index"], rebuild=rebuild, report=_report) as connection:
        yield read_history(connection, root, _selection(options), figures=figures)


#: Runs after which the progress of building an index is told.
_REPORT_EVERY = 500


def _report(done: int, total: int) -> None:
    if done % _REPORT_EVERY == 0:
        click.echo(f"index: {done:,} of {total:,} runs read", err=True)
