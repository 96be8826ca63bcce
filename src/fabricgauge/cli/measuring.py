"""Options of every verb that measures: which networks, and how much of what."""

from collections.abc import Callable

import click

Decorated = Callable[..., None]

_NETWORK = (
    click.option(
        "--network",
        multiple=True,
        metavar="NAME",
        help="Network to measure, by name or subnet; default: each that joins the nodes.",
    ),
    click.option("--unpinned", is_flag=True, help="Leave MPI its own choice of network."),
)

_MEASURE = (
    click.option(
        "--profile",
        type=click.Choice(["quick", "standard", "full"]),
        default="quick",
        show_default=True,
        help="How much to measure: 1, 3 or 5 launches.",
    ),
    click.option(
        "--patterns",
        metavar="LIST",
        help="Patterns, e.g. latency,put_latency:fence,threads_latency:4; default: five of them.",
    ),
    click.option("--sizes", metavar="LIST", help="Message sizes, e.g. 0,8,64K,4MiB."),
    click.option("--launches", type=click.IntRange(1, 1000), help="Launches for each network."),
    click.option(
        "--half-width",
        type=click.FloatRange(0.0001, 0.5),
        help="Stop a case at this relative half-width of its interval.",
    ),
    click.option(
        "--case-budget",
        type=click.FloatRange(0.01, 3600),
        metavar="S",
        help="Seconds for one case.",
    ),
    click.option("--check-data", is_flag=True, help="Verify every byte received."),
    click.option("--mpi", metavar="NAME|MPICXX", help="mpich, openmpi, or the path of an mpicxx."),
)


def network_options(command: Decorated) -> Decorated:
    """Add ``--network`` and ``--unpinned``."""
    return added(command, _NETWORK)


def measure_options(command: Decorated) -> Decorated:
    """Add what says how much is measured, and with which MPI."""
    return added(command, _MEASURE)


def added(command: Decorated, options: tuple[Callable[[Decorated], Decorated], ...]) -> Decorated:
    """The command with these options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command
