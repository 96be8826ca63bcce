"""``check --campaign``: measure a campaign, show it or a stored one."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from fabricgauge.check.conclude import conclude
from fabricgauge.check.target import StatedRequest
from fabricgauge.cli.show import page, print_report
from fabricgauge.features.campaign.campaign_file import (
    RESULT_FILE,
    CampaignResult,
    PartResult,
    find_campaign,
)
from fabricgauge.features.campaign.content import MeasuredCampaign, MeasuredPart
from fabricgauge.features.campaign.running import measure_campaign
from fabricgauge.judge.stats.curves import suite_curves
from fabricgauge.judge.thresholds import Thresholds, thresholds_from
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.errors import StoreError
from fabricgauge.model.features import load_role
from fabricgauge.model.run import StoredRun
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.varied import Design
from fabricgauge.model.verdict import Outcome, exit_status
from fabricgauge.store import settings
from fabricgauge.store.run_directory import PARTIAL, RunDirectory, describe, is_run, read_nodes
from fabricgauge.store.run_files import load

#: The name of a run's directory: one plain word, no path.
_IDENTITY = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*")


def run_campaign(named: str, stated: StatedRequest, root: Path, printing: Any) -> int:
    """Measure a campaign by its name or file, show its page; return the exit status."""
    campaign = find_campaign(named)
    directory = RunDirectory.create(root)
    try:
        result, interrupted = measure_campaign(campaign, stated, directory)
    except BaseException:
        _discard_unless_measured(directory)
        raise
    stated.progress.close()
    configured = stated.settings
    thresholds = thresholds_from(configured.thresholds, configured.thresholds_origin)
    measured = measured_campaign(result, directory, thresholds)
    html = "report.html in it"
    try:
        directory.write_bytes("report.html", page("campaign", measured))
    except StoreError as error:
        html = f"none: {error}"
    if result.complete:
        directory.finish()
    print_report(
        "campaign", measured, printing.format, printing.to, run_directory=str(directory.path)
    )
    click.echo(f"Campaign     {directory.path}\nHTML report  {html}", err=True)
    return 130 if interrupted else exit_status(measured.outcome, printing.fail_on)


def _discard_unless_measured(directory: RunDirectory) -> None:
    if (directory.path / RESULT_FILE).exists():
        return
    if any(entry.is_dir() and entry.name != "raw" for entry in directory.path.iterdir()):
        click.echo(f"The runs of its parts are kept in {directory.path}", err=True)
    else:
        directory.discard(copies=True)


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome:
    configured = settings.load()
    thresholds = thresholds_from(configured.thresholds, configured.thresholds_origin)
    result = directory.read(RESULT_FILE, CampaignResult)
    measured = measured_campaign(result, directory, thresholds)
    print_report("campaign", measured, format_name, to, run_directory=str(directory.path))
    return measured.outcome


def list_stored(directory: RunDirectory) -> StoredRun:
    result = directory.read(RESULT_FILE, CampaignResult)
    asked = {part.name for part in result.campaign.part if part.measures}
    done = [part for part in result.parts if part.name in asked and not part.left_out]
    parts = sorted(path.parent.name for path in directory.path.glob("*/fabric.json"))
    nodes = read_nodes(directory, f"{parts[0]}/") if parts else ()
    verdict = f"{len(done)} of {len(asked)} parts"
    return describe(directory, f"campaign {result.campaign.name}", nodes=nodes, verdict=verdict)


def measured_campaign(
    result: CampaignResult, directory: RunDirectory, thresholds: Thresholds
) -> MeasuredCampaign:
    """Read the runs of the parts that were measured; judge them by today's rules."""
    by_name = {part.name: part for part in result.parts}
    parts = tuple(
        _measured_part(part, by_name[part.name], directory, thresholds)
        for part in result.campaign.part if part.name in by_name
    )  # fmt: skip
    return MeasuredCampaign(result, parts)


def _measured_part(
    part: Any, result: PartResult, directory: RunDirectory, thresholds: Thresholds
) -> MeasuredPart:
    references = tuple(map(reference, (*part.compare, *part.references)))
    references = tuple({known.name: known for known in references}.values())
    further: tuple[Any, ...] = ()
    if part.predict:
        further = load_role("predicted")(*part.compare, part.predict, directory.path)
    elif part.compare:
        further = load_role("paths_compared")(*part.compare)
    measured = MeasuredPart(part, result, references=references, further=further)
    if not result.folder:
        return measured
    run = _find_run(directory, result)
    if part.vary:
        varied = load_role("swept")(run)
        further = load_role("swept_blocks")(varied)
        arms = () if varied.levels or varied.layers else tuple(_arm_curves(run, varied.design))
        return msgspec.structs.replace(measured, varied=varied, further=further, arms=arms)
    return msgspec.structs.replace(measured, judged=conclude(load(run), thresholds))


def _arm_curves(run: RunDirectory, design: Design) -> Iterator[SuiteCurve]:
    for arm, folder in zip(design.arms, design.folders, strict=True):
        try:
            stored = load(_find_run(run, PartResult(" ".join(arm), folder)))
        except StoreError:  # the comparison itself names arms that are missing
            continue
        for curve in suite_curves(stored):
            yield msgspec.structs.replace(curve, title=f"{', '.join(arm)}: {curve.title}")


def _find_run(directory: RunDirectory, result: PartResult) -> RunDirectory:
    """Return the run of a part, which lies in the campaign's directory itself."""
    name = result.folder.removesuffix(PARTIAL)
    if not _IDENTITY.fullmatch(name):
        file = directory.path / RESULT_FILE
        raise StoreError(f"{file}: the folder of {result.name} is no run's name: {name!r}")
    # A folder's name loses its mark of an unfinished run when the run ends.
    for path in (directory.path / name, directory.path / f"{name}{PARTIAL}"):
        if is_run(path) and not path.is_symlink():
            return RunDirectory(path.resolve())
    raise StoreError(f"{directory.path} has no run {name!r}, which {result.name} measured")
