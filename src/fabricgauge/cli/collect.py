"""``fabricgauge collect``: what the jobs of a submitted run have left."""

from pathlib import Path
from typing import Any

import click

from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing, together
from fabricgauge.model.errors import UsageError

#: Where runs are kept, and how they are shown.
where_options = together(
    of.output_option(
        "Where runs are kept, seen by the nodes; default: $XDG_DATA_HOME/fabricgauge/runs."
    ),
    of.format_option(),
    of.fail_on_option,
    of.quiet_option(),
)


@click.command()
@click.argument("run", default="latest")
@click.option("--lab", metavar="NAME", help="The lab whose Slurm has the jobs.")
@where_options
@click.pass_context
def collect(
    ctx: click.Context, /, run: str, lab: str | None, output: Path | None, **printing: Any
) -> None:
    """Take what the jobs of a submitted run left, judge it and report.

    Waits for jobs that are not over. RUN is a run directory, the beginning of its name, or
    `latest`.
    """
    from fabricgauge import settings
    from fabricgauge.app.batch.on_head import on_head
    from fabricgauge.cli.jobs import followed
    from fabricgauge.cli.show import require_format
    from fabricgauge.store.holding import held
    from fabricgauge.store.run_directory import find

    require_format(printing["format"])
    if lab is not None:
        ctx.exit(on_head(lab, said_again(ctx)))
    directory = find(output or settings.run_root(), run)
    if directory.complete:
        raise UsageError(
            f"{directory.identity} is complete: see fabricgauge report {directory.path}"
        )
    with held(directory):
        ctx.exit(followed(directory, Printing(**printing), most_jobs=0))


def said_again(ctx: click.Context) -> tuple[str, ...]:
    """The command line without --lab, each option as one word; what is no option comes last."""
    default = click.core.ParameterSource.DEFAULT
    words = [str(ctx.info_name)]
    for one in ctx.command.params:
        name, value = one.name or "", ctx.params.get(one.name or "")
        if name == "lab" or ctx.get_parameter_source(name) is default:
            continue
        if isinstance(one, click.Option):
            values = tuple(value or ()) if one.multiple else (value,)
            words += [one.opts[-1] if one.is_flag else f"{one.opts[-1]}={_word(v)}" for v in values]
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)]
    said = (str(ctx.params[one.name or ""]) for one in arguments)
    return (*words, "--", *said) if arguments else tuple(words)


def _word(value: Any) -> str:
    """What an option was given, from what it was taken for."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
