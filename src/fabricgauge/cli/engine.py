"""``fabricgauge engine``: the measuring program, built against each MPI of the site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricgauge.cli.nearest import VerbGroup
from fabricgauge.cli.overview import HELP_OPTIONS

if TYPE_CHECKING:
    from rich.table import Table


@click.group(cls=VerbGroup, context_settings=HELP_OPTIONS)
def engine() -> None:
    """The measuring program, built against each MPI of the site."""


@engine.command()
@click.option(
    "--mpicxx", type=click.Path(path_type=Path), metavar="PATH",
    help="C++ compiler wrapper of the MPI to build against. Default: the embedded MPI's.",
)  # fmt: skip
@click.option(
    "--compiler", default="", metavar="CXX",
    help="C++ compiler, e.g. clang++. Default: the wrapper's.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Build again even if an engine for this MPI exists.")
def build(mpicxx: Path | None, compiler: str, force: bool) -> None:
    """Build the engine, or find the one already built, and print its path."""
    from fabricgauge.nodes.engines.build import build as build_engine
    from fabricgauge.nodes.engines.find import describe_mpi, embedded_mpi

    mpi = describe_mpi(mpicxx) if mpicxx else embedded_mpi()
    engine = build_engine(mpi, force=force, compiler=compiler)
    click.echo(engine.path)


def _table(title: str, *heads: str) -> Table:
    """Return a table that folds long cells and never cuts them, so that paths can be copied."""
    from rich.table import Table

    table = Table(title=title, box=None)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


@engine.command(name="list")
def list_() -> None:
    """Show the MPIs on this machine and the engines built for them."""
    from rich.console import Console
    from rich.markup import escape

    from fabricgauge.nodes.engines.build import cached_engines
    from fabricgauge.nodes.engines.find import find_mpis
    from fabricgauge.nodes.engines.ready_made import ready_libraries

    console, mpis, engines = Console(), find_mpis(), tuple(cached_engines())
    mpi_table = _table("MPI libraries", "MPI", "version", "mpicxx", "launcher")
    for mpi in mpis:
        name = f"{mpi.kind} (embedded)" if mpi.embedded else mpi.kind
        cells = (name, mpi.version, str(mpi.mpicxx), str(mpi.mpiexec))
        mpi_table.add_row(*map(escape, cells))
    console.print(mpi_table)
    if libraries := ready_libraries():
        console.print(f"Ready-made engines, which need no compiler: for {', '.join(libraries)}")
    if not engines:
        console.print("No engine is built here. Build one: fabricgauge engine build")
        return
    engine_table = _table("Engines, newest first", "identity", "MPI", "compiler")
    for engine in engines:
        row = (engine.identity, f"{engine.mpi.kind} {engine.mpi.version}", engine.compiler)
        engine_table.add_row(*map(escape, row))
    console.print(engine_table)
    path = engines[0].path
    pattern = path.parent.with_name("IDENTITY") / path.name
    console.print(f"Path of each: {escape(str(pattern))}", highlight=False, soft_wrap=True)
