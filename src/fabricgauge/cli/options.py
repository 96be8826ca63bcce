"""Options that several verbs have, and how they become one typed request."""

import importlib
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import OWN_LAB, MeasurementRequest
from fabricgauge.model.request import option as option_of
from fabricgauge.model.verdict import Strictness
from fabricgauge.run.launchers import LAUNCHERS

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Decorated = Callable[..., None]
Decorator = Callable[[Decorated], Decorated]


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """A word of the command line that a function makes a value of, or says why it cannot."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def seconds(text: str) -> float:
    """``90``, ``90s``, ``10m``, ``2h`` in seconds."""
    match = _TIME.fullmatch(text.strip())
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{text!r} is not a time; write e.g. 90s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2] or "s"]


def lazily(module: str, function: str) -> Callable[[str], Any]:
    """A function of a module that is loaded when an option needs it."""
    return lambda text: getattr(importlib.import_module(f"fabricgauge.{module}"), function)(text)


def listed(each: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """What ``each`` makes of the words between commas."""
    return lambda text: tuple(map(each, text.split(","))) if text else ()


class Renamed(click.Option):
    """An option that had another name once: that is still understood, and shown nowhere."""

    def __init__(self, words: list[str], formerly: str, **rest: Any) -> None:
        super().__init__([*words, formerly], **rest)
        self._formerly = formerly

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        shown, self.opts = self.opts, [one for one in self.opts if one != self._formerly]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = shown

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        found = super().resolve_envvar_value(ctx)
        if found is not None or not ctx.auto_envvar_prefix:
            return found
        name = self._formerly.removeprefix("--").replace("-", "_").upper()
        old = click.Option([self._formerly], envvar=f"{ctx.auto_envvar_prefix}_{name}")
        return old.resolve_envvar_value(ctx)


def formats(kind: str) -> dict[str, Callable[..., str]]:
    """What writes reports of that kind, a module of ``report.content``, by the format's name."""
    from fabricgauge.report.formats import formats_of

    return formats_of(importlib.import_module(f"fabricgauge.report.content.{kind}").KIND)


def known_format(kind: str, name: str) -> str:
    """The format, if reports of that kind have it.

    Raises:
        UsageError: they have not; the message lists those that they have.
    """
    if name != "terminal" and name not in (known := formats(kind)):
        raise UsageError(f"no report format {name!r}; there is {', '.join(known)}")
    return name


class Formats(click.Option):
    """One of the formats of a kind of report; they are loaded where help or a value needs them."""

    def __init__(self, words: list[str], kind: str, **rest: Any) -> None:
        super().__init__(words, callback=lambda _, __, name: known_format(kind, name), **rest)
        self._kind = kind

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = f"What to print: {', '.join(formats(self._kind))}."
        return super().get_help_record(ctx)


def together(*options: Decorator) -> Decorator:
    """Several options as one, in this order."""

    def add(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def request_of(asked: Mapping[str, Any]) -> MeasurementRequest:
    """The request that ``asked`` says, options by their names; None is nothing said."""
    said = {key: value for key, value in asked.items() if value is not None}
    known = {one: said[one] for one in MeasurementRequest.__struct_fields__ if one in said}
    return msgspec.convert(known, MeasurementRequest, dec_hook=lambda _, value: str(value))


def from_files(ctx: click.Context) -> Collection[str]:
    """The names of options that only a configuration file says."""
    there = click.core.ParameterSource.DEFAULT_MAP
    return [name for name in ctx.params if ctx.get_parameter_source(name) is there]


#: Why other options are refused beside ``--from``.
OF_BUNDLE = "--from reads what was gathered before; leave {} out"


def require_heeded(ctx: click.Context, heeded: Collection[str], reason: str) -> None:
    """Refuse options without effect from command line or environment; files serve many commands.

    Raises:
        UsageError: another option than those ``heeded`` was given; {} is its name in the reason.
    """
    silent = click.core.ParameterSource.DEFAULT, click.core.ParameterSource.DEFAULT_MAP
    for name in ctx.params:
        if name not in heeded and ctx.get_parameter_source(name) not in silent:
            raise UsageError(reason.replace("{}", option_of(name)))


class Printing(msgspec.Struct, frozen=True):
    """How a verb prints its report, and what its exit status counts as a failure."""

    format: str = "terminal"
    fail_on: tuple[Strictness, ...] = ()
    to: Path | None = None


def lab_option(text: str, unnamed: str = OWN_LAB) -> Decorator:
    """``--lab``; without a name it is ``unnamed``, as a rule a lab made for this command."""
    return click.option("--lab", is_flag=False, flag_value=unnamed, metavar="[NAME]", help=text)


def format_option(kind: str = "run") -> Decorator:
    """``--format`` of a verb that prints that kind of report, a module of ``report.content``."""
    return click.option(
        "--format", cls=Formats, kind=kind, default="terminal", show_default=True, metavar="NAME"
    )


def output_option(
    text: str = "Where runs are kept; default: $XDG_DATA_HOME/fabricgauge/runs.",
) -> Decorator:
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("-o", "--output", type=kind, metavar="DIR", help=text)


def quiet_option(text: str = "Print the report only, no progress.") -> Decorator:
    return click.option("-q", "--quiet", is_flag=True, help=text)


to_option = click.option(
    "--to", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write to FILE instead of the terminal.",
)  # fmt: skip
against_option = click.option(
    "--against", metavar="NAME", help="A reference whose curves stand beside yours."
)
fail_on_option = click.option(
    "--fail-on", multiple=True, type=click.Choice(get_args(Strictness)),
    help="Exit with 1 also on a warning, or when nothing was decided; may be repeated.",
)  # fmt: skip
bundle_option = click.option(
    "--from", "bundle", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Read a bundle of discover -o instead; no node is asked.",
)  # fmt: skip
nodelist_option = click.option(
    "-w", "--nodelist", metavar="NODES", help="Nodes, e.g. c[1-2], @group or ^FILE."
)
exclude_option = click.option("-x", "--exclude", metavar="NODES", help="Nodes to leave out.")
launcher_option = click.option(
    "--launcher", type=click.Choice(LAUNCHERS), help="How nodes are reached."
)
ssh_config_option = click.option(
    "--ssh-config", type=click.Path(dir_okay=False, exists=True), metavar="FILE",
    help="Configuration for ssh instead of your own.",
)  # fmt: skip
transport_option = click.option(
    "--transport", type=Parsed("transport", lazily("run.transports", "known_transport")),
    metavar="mpi|sockets|ofi|verbs[:KEY=VALUE,…]",
    help="What carries messages: MPI, TCP sockets, libfabric (ofi:provider=tcp) or verbs by RDMA"
    " ports (verbs:gid-index=3,inline=0).",
)  # fmt: skip
#: Where the buffers lie.
memory_options = together(
    click.option(
        "--memory", type=Parsed("memory", lazily("model.memory", "known_memory")),
        metavar="KIND|ORIGIN,TARGET",
        help="Where MPI's buffers lie: host, cuda, hip or managed, or cuda,host for origin and"
        " target.",
    ),
    click.option(
        "--device", type=click.IntRange(0, 1023), metavar="N",
        help="The GPU of --memory on every node; default: each rank of a node has the next.",
    ),
)  # fmt: skip
rank_order_option = click.option(
    "--rank-order", cls=Renamed, formerly="--place", type=Parsed("nodes", listed(str)),
    metavar="NODES", help="The node of each rank, in order, e.g. c2,c1.",
)  # fmt: skip
lab_nodes_option = click.option(
    "-N", "--nodes", type=click.IntRange(1, 128),
    help="How many nodes a lab made for this has.  [default: 2]",
)  # fmt: skip
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True,
    help="Seed of the order of launches.",
)  # fmt: skip
ppn_option = click.option(
    "--ppn", type=click.IntRange(1, 1024), default=1, show_default=True, help="Ranks on each node."
)

#: Which networks are measured.
network_options = together(
    click.option(
        "--network", multiple=True, metavar="NAME",
        help="Network to measure, by name or subnet; default: each that joins the nodes.",
    ),
    click.option("--unpinned", is_flag=True, help="Leave MPI its own choice of network."),
)  # fmt: skip

sizes_option = click.option(
    "--sizes", type=Parsed("list", listed(lazily("settings", "size_bytes"))),
    metavar="LIST", help="Message sizes, e.g. 0,8,64K,4MiB.",
)  # fmt: skip
mpi_option = click.option(
    "--mpi", metavar="NAME|MPICXX", help="mpich, openmpi, or the path of an mpicxx."
)

#: How much is measured, and with which MPI.
measure_options = together(
    click.option(
        "--profile", type=click.Choice(["quick", "standard", "full"]), default="quick",
        show_default=True, help="How much to measure: 1, 3 or 5 launches.",
    ),
    click.option(
        "--patterns", type=Parsed("list", listed(lazily("plan.asked", "known_word"))),
        metavar="LIST",
        help="Patterns, e.g. latency,put_latency:fence,threads_latency:4; default: five of them.",
    ),
    sizes_option,
    click.option("--launches", type=click.IntRange(1, 1000), help="Launches for each network."),
    click.option(
        "--half-width", type=click.FloatRange(0.0001, 0.5),
        help="Stop a case at this relative half-width of its interval.",
    ),
    click.option(
        "--case-budget", type=click.FloatRange(0.01, 3600), metavar="S",
        help="Seconds for one case.",
    ),
    click.option("--check-data", is_flag=True, help="Verify every byte received."),
    mpi_option,
)  # fmt: skip

#: Ranks on each node, time, and what concerns many nodes.
fabric_options = together(
    ppn_option,
    click.option(
        "--budget", type=Parsed("time", seconds), metavar="TIME",
        help="Time for all of it, e.g. 90s, 10m, 2h: fewer samples, then fewer pairs.",
    ),
    click.option(
        "--concurrent", type=click.IntRange(0, 1 << 20), default=0, metavar="PAIRS",
        help="Pairs that measure at the same time; default: all, in a lab one.",
    ),
    click.option(
        "--topology", type=click.Path(dir_okay=False, exists=True), metavar="FILE",
        help="Groups of nodes: topology.conf, ibnetdiscover's output, or lines GROUP: NODES.",
    ),
)  # fmt: skip
