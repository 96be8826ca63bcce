"""``compare --vary``, and sweeps for a feature: measure settings in turns and compare them."""

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from fabricgauge.check.plan.design import (
    make_design,
    parse_factor,
    require_tool_factors,
)
from fabricgauge.check.target import StatedRequest, locate_target
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.progress import progress_shown
from fabricgauge.cli.show import page, print_report
from fabricgauge.features.vary import vary as measured_arms
from fabricgauge.features.vary.content import headline
from fabricgauge.features.vary.varying import AS_OF_A_RUN, least_blocks
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.run import StoredRun
from fabricgauge.model.varied import Design, Factor
from fabricgauge.model.verdict import Outcome, exit_status
from fabricgauge.store.run_directory import RunDirectory, describe, find, read_nodes, run_lock

#: Default number of blocks: it detects 3 % if launches differ by 2 %.
USUAL_BLOCKS = 10


def vary(ctx: click.Context, options: dict[str, Any], root: Path, tolerance: float) -> int:
    """Measure all combinations in turns, show the differences, return the exit status."""
    factors, resume = options["vary"], options["resume"]
    typed = ctx.get_parameter_source("seed") is click.core.ParameterSource.COMMANDLINE
    seed = options["seed"] if typed else None
    require_tool_factors(factors, options["tool"] or "")
    # The nodes are looked at with the programs of the first arm.
    first = {factor.name: factor.levels[0] for factor in factors}
    places = {"tool_path": first["tool-path"]} if "tool-path" in first else {}
    request = cli_options.build_request({**options, **places, "resume": None})
    with (
        progress_shown(options["quiet"]) as progress,
        locate_target(cli_options.state_request(ctx, request, progress)) as target,
    ):
        new_design = None
        if not resume:
            new_design = _plan_design(factors, options["seed"], target.request.launches)
        directory = find(root, resume) if resume else RunDirectory.create(root)
        with run_lock(directory), ExitStack() as at_end:
            if new_design:
                design, arms = measured_arms.begin(new_design, target, directory, at_end)
            else:
                design, arms = measured_arms.take_up(target, directory, at_end, factors, seed)
            comparison, interrupted = measured_arms.run(design, arms, directory, tolerance)
            progress.close()
            print_report("varied", comparison, options["format"], options["to"])
            html_file = str(directory.path / "report.html")
            try:
                directory.write_bytes("report.html", page("varied", comparison))
            except StoreError as error:
                html_file = f"none: {error}"
            click.echo(f"Comparison   {directory.path}\nHTML report  {html_file}", err=True)
    if interrupted:
        resume_words = () if resume else ("--resume", str(directory.path))
        command = shlex.join(("fabricgauge", *sys.argv[1:], *resume_words))
        click.echo(f"Finished measurements are kept. Measure the rest with: {command}", err=True)
    return 130 if interrupted else exit_status(AS_OF_A_RUN[comparison.finding], options["fail_on"])


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print a stored comparison, return its outcome; None if the directory has none."""
    files = (measured_arms.DESIGN, measured_arms.VARIED)
    if not all((directory.path / file).exists() for file in files):
        return None
    comparison = measured_arms.read_varied(directory)
    print_report("varied", comparison, format_name, to)
    return AS_OF_A_RUN[comparison.finding]


def list_stored(directory: RunDirectory) -> StoredRun:
    arms = sorted(path.parent.name for path in directory.path.glob("*/fabric.json"))
    nodes = read_nodes(directory, f"{arms[0]}/") if arms else ()
    finding = ""
    if (directory.path / measured_arms.VARIED).exists():
        finding = measured_arms.read_varied(directory).finding
    return describe(directory, "compare --vary", nodes=nodes, verdict=finding)


def _plan_design(factors: tuple[Factor, ...], seed: int, launches: int) -> Design:
    least = least_blocks(factors)
    blocks = launches or max(USUAL_BLOCKS, least)
    if blocks < least:
        click.echo(
            f"--launches {blocks} is too small: an effect is certain only from {least} launches of"
            " each combination on; this comparison will stay undecided",
            err=True,
        )
    return make_design(factors, blocks, seed)


#: Seed of the random order of arms.
SEED = 1


def measure_sweep(
    words: Sequence[str], stated: StatedRequest, root: Path, blocks: int, least_nodes: int
) -> tuple[str, str, str]:
    """Measure all levels of the factors; return outcome, headline and folder of the comparison.

    Raises:
        UsageError: a level cannot be measured there.
        KeyboardInterrupt: the user interrupted it; what was measured is stored.
    """
    design = make_design(tuple(map(parse_factor, words)), blocks, SEED)
    require_tool_factors(design.factors, stated.request.tool)
    with locate_target(stated) as target:
        nodes = len(set(target.ranks))
        if nodes < least_nodes:
            raise UsageError(f"it needs {least_nodes} nodes, and there are {nodes}")
        directory = RunDirectory.create(root)
        with run_lock(directory), ExitStack() as at_end:
            design, arms = measured_arms.begin(design, target, directory, at_end)
            varied, interrupted = measured_arms.run(design, arms, directory, 0.0)
            directory.write_bytes("report.html", page("varied", varied))
    if interrupted:
        raise KeyboardInterrupt
    # Numbers have a curve over them, layers build on each other: that they differ is no finding.
    if varied.levels or varied.layers:
        what = f"figures over {'; '.join(words)}" if varied.levels else "each layer's cost"
        return "", f"{what}, medians of {blocks} launches", directory.path.name
    return AS_OF_A_RUN[varied.finding].value, headline(varied), directory.path.name
