"""``fabricgauge engine``: the measuring program, built against each MPI of the site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from fabricgauge.model.engine import Engine, Mpi


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def engine() -> None:
    """The measuring program, built against each MPI of the site."""


@engine.command()
@click.option(
    "--mpicxx",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="C++ compiler wrapper of the MPI to build against.  [default: the embedded MPI's]",
)
@click.option(
    "--compiler",
    default="",
    metavar="CXX",
    help="C++ compiler instead of the wrapper's own, e.g. clang++.",
)
@click.option("--force", is_flag=True, help="Build even if nothing has changed.")
def build(mpicxx: Path | None, compiler: str, force: bool) -> None:
    """Build the engine, or say where the build is that serves already."""
    from fabricgauge.engines.build import build as build_engine
    from fabricgauge.engines.find import describe_mpi, embedded_mpi

    mpi = describe_mpi(mpicxx) if mpicxx else embedded_mpi()
    built = build_engine(mpi, force=force, compiler=compiler)
    click.echo(built.path)


@engine.command(name="list")
def list_() -> None:
    """Show the MPIs that were found and the engines that were built."""
    from fabricgauge.engines.cache import all_kept
    from fabricgauge.engines.find import find_mpis

    _show(find_mpis(), tuple(all_kept()))


def _table(title: str, *heads: str) -> Table:
    """Columns whose words are folded, never cut: paths are there to be copied."""
    from rich.table import Table

    table = Table(title=title, box=None)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def _show(mpis: tuple[Mpi, ...], engines: tuple[Engine, ...]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    found = _table("MPI libraries", "MPI", "version", "mpicxx", "launcher")
    for mpi in mpis:
        name = f"{mpi.kind} (embedded)" if mpi.embedded else mpi.kind
        cells = (name, mpi.version, str(mpi.mpicxx), str(mpi.mpiexec))
        found.add_row(*map(escape, cells))
    console.print(found)
    if not engines:
        console.print("No engine was built yet: fabricgauge engine build")
        return
    built = _table("Engines, newest first", "identity", "MPI", "compiler")
    for one in engines:
        row = (one.identity, f"{one.mpi.kind} {one.mpi.version}", one.compiler)
        built.add_row(*map(escape, row))
    console.print(built)
    path = engines[0].path
    pattern = path.parent.with_name("IDENTITY") / path.name
    console.print(f"Each is {escape(str(pattern))}", highlight=False, soft_wrap=True)
