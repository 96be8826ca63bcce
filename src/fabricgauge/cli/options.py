"""Options that several verbs share, and how they become one typed request."""

import functools
import importlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from fabricgauge.cli.show import OutputPath, formats, keep_verbose, report_file, require_format
from fabricgauge.model.answer import FORMS
from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import BUFFERS
from fabricgauge.model.request import OWN_LAB, MeasurementRequest
from fabricgauge.model.verdict import Strictness
from fabricgauge.nodes.launch.launchers import LAUNCHERS
from fabricgauge.store import settings

if TYPE_CHECKING:
    from fabricgauge.check.target import StatedRequest
    from fabricgauge.model.progress import Progress

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Decorated = Callable[..., None]
Decorator = Callable[[Decorated], Decorated]


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """The type of an option whose text ``parse`` converts; its UsageError becomes click's."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def parse_seconds(text: str) -> float:
    """Return ``90``, ``90s``, ``10m`` or ``2h`` in seconds."""
    match = _TIME.fullmatch(text.strip())
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{text!r} is not a time; write e.g. 90s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2] or "s"]


def parse_long_time(text: str) -> float:
    """Return ``3d`` in seconds, or any time that ``parse_seconds`` reads."""
    if text.endswith("d") and text[:-1].isdigit() and int(text[:-1]) > 0:
        return int(text[:-1]) * 86400.0
    return parse_seconds(text)


def lazy_function(module: str, function: str) -> Callable[[str], Any]:
    """Return a function whose module is loaded when it is first called."""
    return lambda text: getattr(importlib.import_module(f"fabricgauge.{module}"), function)(text)


def list_parser(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a function that applies ``parse`` to each word of a list with commas."""
    return lambda text: tuple(map(parse, text.split(","))) if text else ()


class Renamed(click.Option):
    """An option with former names, which still work but appear in no help text.

    The same holds for environment variables: the one of a former name is still read.
    """

    def __init__(self, words: list[str], former: tuple[str, ...], **settings: Any) -> None:
        super().__init__([*words, *former], **settings)
        self._former = former

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        words, self.opts = self.opts, self._shown_words()
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = words

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return " / ".join(f"'{word}'" for word in self._shown_words())

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        if not ctx.auto_envvar_prefix:
            return None
        words = (word for word in self.opts if word.startswith("--"))
        names = (word.removeprefix("--").replace("-", "_").upper() for word in words)
        values = (os.environ.get(f"{ctx.auto_envvar_prefix}_{name}") for name in names)
        return next(filter(None, values), None)

    def _shown_words(self) -> list[str]:
        return [word for word in self.opts if word not in self._former]


class Formats(click.Option):
    """An option with the formats of a kind of report; help or a value loads their modules."""

    def __init__(self, words: list[str], kind: str, **settings: Any) -> None:
        super().__init__(words, callback=lambda _, __, name: require_format(kind, name), **settings)
        self.kind = kind

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = f"Format: {', '.join(formats(self.kind))}."
        return super().get_help_record(ctx)


def combine_options(*options: Decorator) -> Decorator:
    """Return one decorator that adds several options in this order."""

    def add(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def build_request(options: Mapping[str, Any]) -> MeasurementRequest:
    """Return the request that the options state, by their names; None stands for no statement."""
    fields = {
        field: options[field]
        for field in MeasurementRequest.__struct_fields__
        if options.get(field) is not None
    }
    return msgspec.convert(fields, MeasurementRequest, dec_hook=lambda _, value: str(value))


def names_from_files(ctx: click.Context) -> Collection[str]:
    """Return the names of options that only a configuration file sets."""
    file_source = click.core.ParameterSource.DEFAULT_MAP
    return [name for name in ctx.params if ctx.get_parameter_source(name) is file_source]


def state_request(
    ctx: click.Context, request: MeasurementRequest, progress: "Progress"
) -> "StatedRequest":
    """Return a request with the settings of configuration files beside the options."""
    from fabricgauge.check.target import StatedRequest

    return StatedRequest(request, settings.load(), progress, names_from_files(ctx))


#: The reason to refuse other options next to ``--from``.
BUNDLE_CONFLICT = "--from reads what was gathered before; leave {} out"


def refuse_without_effect(ctx: click.Context, effective: Collection[str], reason: str) -> None:
    """Refuse options without effect from command line or environment; files serve many commands.

    Raises:
        UsageError: an option not in ``effective`` was given; its name replaces {} in the reason.
    """
    unset = click.core.ParameterSource.DEFAULT, click.core.ParameterSource.DEFAULT_MAP
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name not in effective and ctx.get_parameter_source(name) not in (*unset, None):
            words = (word for word in parameter.opts if word.startswith("--"))
            shown_name = parameter.human_readable_name.strip("[].")
            raise UsageError(reason.replace("{}", next(words, shown_name)))


def refuse_unwritten_report(ctx: click.Context) -> None:
    """Refuse ``--format`` if ``--for`` prints one line instead, and no file gets that format.

    Raises:
        UsageError: the report would be printed nowhere.
    """
    stated = click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT
    is_stated = ctx.get_parameter_source("format") in stated
    if ctx.params["form"] != "plain" and is_stated and ctx.params.get("to") is None:
        raise UsageError("--for prints one line; leave --format out, and use -o FILE for a report")


def require_program(command: Sequence[str]) -> None:
    """Check that a user's command begins with a program, not with an option of another verb.

    Raises:
        UsageError: it begins with a dash.
    """
    if command[0].startswith("-"):
        raise UsageError(f"no option {command[0]!r}; the program and its arguments come last")


def lab_option(
    text: str = "Nodes of a lab, a virtual cluster: NAME, or a new one for this command.",
    unnamed: str = OWN_LAB,
) -> Decorator:
    """Return ``--lab``; without a name it means ``unnamed``, by default a new lab."""
    return click.option("--lab", is_flag=False, flag_value=unnamed, metavar="[NAME]", help=text)


def format_option(kind: str = "run") -> Decorator:
    """Return ``--format`` for reports of that kind, a module of ``report.content``."""
    return click.option(
        "--format", cls=Formats, kind=kind, default="terminal", show_default=True, metavar="NAME"
    )


def _require_file_format(
    ctx: click.Context, _: click.Parameter, output: Path | None
) -> Path | None:
    """Refuse a file whose format the verb's reports lack, before anything is done."""
    file = report_file(ctx)
    for option in ctx.command.params:
        if file and isinstance(option, Formats):
            require_format(option.kind, file.format)
    return output


def output_option(
    text: str = "Directory of all runs. Default: $XDG_DATA_HOME/fabricgauge/runs.",
) -> Decorator:
    """Return ``-o``, a directory as ``text`` describes it, or a file that gets the report."""
    return click.option(
        "-o", "--output", type=OutputPath(), metavar="DIR|FILE", callback=_require_file_format,
        help=f"{text} Or a file for the report: FILE.html, .md, .json, .csv, .xml.",
    )  # fmt: skip


output_file_option = click.option(
    "-o", "--output", type=OutputPath(only_file=True), metavar="FILE", expose_value=False,
    callback=_require_file_format,
    help="File for the report, besides the terminal: FILE.html, .md, .json.",
)  # fmt: skip
verbose_option = click.option(
    "-v", "--verbose", is_flag=True, expose_value=False, callback=keep_verbose,
    help="Print all that the HTML page holds, not only the first screen.",
)  # fmt: skip


def quiet_option(text: str = "Print only the report, no progress.") -> Decorator:
    return click.option("-q", "--quiet", is_flag=True, help=text)


def nodelist_option(
    default: str = "all of the lab or the Slurm job, else this machine",
) -> Decorator:
    text = f"Nodes, e.g. c[1-2], @group, or ^FILE, which lists them. Default: {default}."
    return click.option("-w", "--nodelist", metavar="NODES", help=text)


def nodes_argument(command: Decorated) -> Decorated:
    """Add ``NODES…``, which mean the same as ``-w``.

    Raises:
        UsageError: nodes are named both ways.
    """

    @functools.wraps(command)
    def with_nodes(*arguments: Any, hosts: tuple[str, ...], **options: Any) -> None:
        if hosts and options["nodelist"]:
            raise UsageError(f"name the nodes once: {' '.join(hosts)} or -w {options['nodelist']}")
        nodelist = ",".join(host.strip(",") for host in hosts) or options["nodelist"]
        command(*arguments, **{**options, "nodelist": nodelist})

    return click.argument("hosts", nargs=-1, metavar="[NODES]...")(with_nodes)


to_option = click.option(
    "--to", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the report to FILE instead of the terminal.",
)  # fmt: skip
against_option = click.option(
    "--against", metavar="NAME",
    help="Published result to show next to yours, e.g. guide-1gbe-imb-pingpong.",
)  # fmt: skip
fail_on_option = click.option(
    "--fail-on", multiple=True, type=click.Choice(get_args(Strictness)),
    help="Exit with 1 also on a warning (warn), or if nothing was decided (inconclusive). May be"
    " repeated.",
)  # fmt: skip
for_option = click.option(
    "--for", "form", type=click.Choice(FORMS), default="plain", show_default=True,
    help="Who asks: slurm, nagios and npd (node-problem-detector) get one line and the exit status"
    " that they expect; only a certain fault is an alarm.",
)  # fmt: skip
bundle_option = click.option(
    "--from", "bundle", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Read a bundle that discover -o wrote. No node is contacted.",
)  # fmt: skip
exclude_option = click.option("-x", "--exclude", metavar="NODES", help="Nodes to leave out.")
launcher_option = click.option(
    "--launcher", type=click.Choice(LAUNCHERS),
    help="How to reach the nodes. Default: slurm inside a Slurm job, else ssh with -w, else local.",
)  # fmt: skip
#: Which nodes, and how they are reached.
node_options = combine_options(nodelist_option(), exclude_option, lab_option(), launcher_option)
ssh_config_option = click.option(
    "--ssh-config", type=click.Path(dir_okay=False, exists=True), metavar="FILE",
    help="Configuration file for ssh. Default: your own.",
)  # fmt: skip
transport_option = click.option(
    "--transport",
    type=Parsed("transport", lazy_function("nodes.launch.transports", "known_transport")),
    metavar="mpi|sockets|ofi|verbs[:KEY=VALUE,…]",
    help="What carries the messages: MPI, TCP sockets, libfabric (e.g. ofi:provider=tcp) or RDMA"
    " verbs (e.g. verbs:gid-index=3,inline=0). Default: mpi.",
)  # fmt: skip
#: Which memory holds the buffers, and how many there are.
memory_options = combine_options(
    click.option(
        "--memory", type=Parsed("memory", lazy_function("model.memory", "parse_memory")),
        metavar="KIND|ORIGIN,TARGET",
        help="Memory of MPI's buffers: host, cuda, hip or managed; e.g. cuda,host if origin and"
        " target differ. Default: host.",
    ),
    click.option(
        "--device", type=click.IntRange(0, 1023), metavar="N",
        help="GPU that --memory uses on each node. Default: rank i of a node uses GPU i.",
    ),
    click.option(
        "--buffers", type=click.Choice(BUFFERS), default="fewest", show_default=True,
        help="Buffers of messages at each end: as few as MPI allows, or as osu_bw -b has them: a"
        " single one to send from and one to receive into, or multiple, two for each message of a"
        " window.",
    ),
)  # fmt: skip
rank_order_option = click.option(
    "--rank-order", cls=Renamed, former=("--place",), type=Parsed("nodes", list_parser(str)),
    metavar="NODES", help="Node of each rank, in rank order, e.g. c2,c1. Default: node order.",
)  # fmt: skip
#: ``-N`` and ``--nodes`` are former names, since they mean the size of a Slurm job in ``submit``.
lab_nodes_option = click.option(
    "nodes", "--lab-nodes", cls=Renamed, former=("-N", "--nodes"), type=click.IntRange(1, 128),
    metavar="N", help="Number of nodes of the lab that --lab without a name makes.  [default: 2]",
)  # fmt: skip
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N",
    help="Seed of the random order of launches.",
)  # fmt: skip
ppn_option = click.option(
    "--ppn", type=click.IntRange(1, 1024), default=1, show_default=True, metavar="N",
    help="Ranks on each node.",
)  # fmt: skip

#: Another suite, and how it is started.
tool_options = combine_options(
    click.option(
        "--tool", metavar="SUITE",
        help="Measure with another suite: osu, imb, perftest, iperf3, nccl-tests, rccl-tests,"
        " netpipe, or within each node nvbandwidth, rocm-bandwidth-test; with tests by name:"
        " imb:Sendrecv,Exchange, osu:osu_multi_lat, imb:all; perftest with keys of --transport"
        " verbs: perftest:queue-pair=ud. Default MPI of a suite: the one it is linked with.",
    ),
    click.option(
        "--tool-path", type=click.Path(file_okay=False, exists=True), metavar="DIR",
        help="Directory of the suite's programs. Default: PATH, modules, usual places.",
    ),
    click.option(
        "--parallel", cls=Renamed, former=("--streams",), type=click.IntRange(1, 128),
        metavar="N",
        help="Connections of iperf3 in its test with parallel connections.  [default: 4]",
    ),
)  # fmt: skip

#: Which networks are measured.
network_options = combine_options(
    click.option(
        "--network", multiple=True, metavar="NAME",
        help="Network to measure, by name or subnet. May be repeated. Default: each network that"
        " joins the nodes.",
    ),
    click.option("--unpinned", is_flag=True, help="Let MPI choose the network."),
)  # fmt: skip


def sizes_option(default: str) -> Decorator:
    text = f"Message sizes in bytes, e.g. 0,8,64K,4MiB; K is 1024. Default: {default}."
    kind = Parsed("list", list_parser(lazy_function("store.settings", "size_bytes")))
    return click.option("--sizes", type=kind, metavar="LIST", help=text)


mpi_option = click.option(
    "--mpi", metavar="NAME|MPICXX",
    help="MPI to use: mpich, openmpi, or the path of an mpicxx. Default: the embedded MPI.",
)  # fmt: skip


keep_programs_option = click.option(
    "--keep-programs", is_flag=True,
    help="Leave the programs that were carried to nodes there, for the next run.",
)  # fmt: skip


def measure_options(launches: str = "1, 3 or 5, by --profile") -> Decorator:
    """Return how much is measured, and with which MPI; ``launches`` is the default in words."""
    return combine_options(
        click.option(
            "--profile", type=click.Choice(["quick", "standard", "full"]), default="quick",
            show_default=True,
            help="How much to measure: quick makes 1 launch for each network, standard 3, full 5.",
        ),
        click.option(
            "--patterns", metavar="LIST",
            type=Parsed("list", list_parser(lazy_function("check.plan.cases", "check_word"))),
            help="Patterns, e.g. latency,put_latency:fence,threads_latency:4. Default for two"
            " ranks: latency, bandwidth, bidirectional_bandwidth, put_latency, put_bandwidth.",
        ),
        sizes_option("0 to 4 MiB for two ranks, by --profile for more"),
        click.option(
            "--launches", type=click.IntRange(1, 1000), metavar="N",
            help=f"Launches for each network. Default: {launches}.",
        ),
        click.option(
            "--half-width", type=click.FloatRange(0.0001, 0.5), metavar="SHARE",
            help="Stop a case when the half-width of its confidence interval is this share of the"
            " median. Default: 0.01, with --profile full 0.005.",
        ),
        click.option(
            "--case-budget", type=click.FloatRange(0.01, 3600), metavar="S",
            help="Time limit of one case in seconds. Default for two ranks: 0.3, 0.5 or 2, by"
            " --profile.",
        ),
        click.option("--check-data", is_flag=True, help="Verify every received byte."),
        mpi_option,
    )  # fmt: skip


#: Ranks on each node, time, and options for many nodes.
fabric_options = combine_options(
    ppn_option,
    click.option(
        "--budget", type=Parsed("time", parse_seconds), metavar="TIME",
        help="Time limit of the whole run, e.g. 90s, 10m, 2h. Less time means fewer samples, then"
        " fewer pairs.",
    ),
    click.option(
        "--concurrent", type=click.IntRange(0, 1 << 20), default=0, metavar="PAIRS",
        help="Number of pairs that measure at the same time. Default: all, in a lab 1.",
    ),
    click.option(
        "--topology", type=click.Path(dir_okay=False, exists=True), metavar="FILE",
        help="File with groups of nodes: topology.conf, output of ibnetdiscover, or lines"
        " GROUP: NODES.",
    ),
)  # fmt: skip
