"""Measure a sweep that another feature asks for, as a comparison in a directory of its own."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from fabricgauge.check.plan.design import (
    make_design,
    parse_factor,
    require_tool_factors,
)
from fabricgauge.check.target import locate_target
from fabricgauge.cli.show import page
from fabricgauge.features.vary import vary as measured_arms
from fabricgauge.features.vary.content import headline
from fabricgauge.features.vary.varying import AS_OF_A_RUN
from fabricgauge.model.errors import UsageError
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.store.holding import run_lock
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.settings import Settings

#: Seed of the random order of arms.
SEED = 1


def measure_sweep(
    words: Sequence[str],
    request: MeasurementRequest,
    settings: Settings,
    from_files: Collection[str],
    root: Path,
    progress: Progress,
    blocks: int,
    least_nodes: int,
) -> tuple[str, str, str]:
    """Measure all levels of the factors; return outcome, headline and folder of the comparison.

    Raises:
        UsageError: a level cannot be measured there.
        KeyboardInterrupt: the user interrupted it; what was measured is stored.
    """
    design = make_design(tuple(map(parse_factor, words)), blocks, SEED)
    require_tool_factors(design.factors, request.tool)
    with locate_target(request, settings, from_files, None, progress) as target:
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
