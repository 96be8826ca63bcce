"""Measure the parts of a campaign, each as a run of its own, and keep what happened.

A part that cannot be measured is left out with its reason; the others are measured. Each result is
on disk before the next part begins.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from fabricgauge.check.begin import open_run
from fabricgauge.check.main_job import measure_and_judge
from fabricgauge.check.target import StatedRequest, made_lab, reach_hosts
from fabricgauge.features.campaign.campaign_file import (
    RESULT_FILE,
    RESULT_FORMAT,
    RESULT_VERSION,
    Campaign,
    CampaignResult,
    Part,
    PartResult,
    part_outcome,
)
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.errors import FabricgaugeError, ToolMissing, UsageError
from fabricgauge.model.features import load_role
from fabricgauge.model.request import ENGINE_ONLY, OWN_LAB, MeasurementRequest, reset_fields
from fabricgauge.report.content.conclusion import headline
from fabricgauge.store.run_directory import RunDirectory, now_utc
from fabricgauge.store.settings import size_bytes

#: Blocks of a sweep whose part does not set its launches: enough for a curve over the numbers.
SWEEP_BLOCKS = 3
#: Errors of a part whose program or nodes are not there; any other one broke it.
NOT_THERE = (ToolMissing, UsageError)
#: Fields of a request that a campaign's parts set.
SET_BY_PARTS = ("patterns", "sizes", "tool", "transport", "parallel", "memory", "device", "resume")


def require_place_only(request: MeasurementRequest) -> None:
    """Check that the request says where to measure, and leaves what to the campaign.

    Raises:
        UsageError: an option that the parts of the campaign set.
    """
    defaults = MeasurementRequest()
    for field in SET_BY_PARTS:
        if getattr(request, field) != getattr(defaults, field):
            raise UsageError(f"--campaign sets --{field} for each part; leave it out")


def measure_campaign(
    campaign: Campaign, stated: StatedRequest, directory: RunDirectory
) -> tuple[CampaignResult, bool]:
    """Measure each part on the stated nodes; return the results and if it was interrupted."""
    require_place_only(stated.request)
    result = CampaignResult(RESULT_FORMAT, RESULT_VERSION, directory.identity, now_utc(), campaign)
    interrupted = False
    progress = stated.progress
    with located(stated, campaign) as placed:
        for number, part in enumerate(campaign.part, 1):
            progress.stage(f"part {number} of {len(campaign.part)}: {part.title}")
            begin_s = time.monotonic()
            try:
                measured = measure_part(part, placed, directory)
            except KeyboardInterrupt:
                interrupted = True
                break
            except FabricgaugeError as error:
                measured = PartResult(
                    part.name, left_out=str(error), broken=not isinstance(error, NOT_THERE)
                )
                progress.trouble(f"{part.name} was left out: {error}")
            wall_s = time.monotonic() - begin_s
            measured = replace(measured, wall_s=wall_s)
            result = replace(result, parts=(*result.parts, measured))
            directory.write(RESULT_FILE, result)
    return result, interrupted


@contextmanager
def located(stated: StatedRequest, campaign: Campaign) -> Iterator[StatedRequest]:
    """Yield the request with the lab that all parts share, if it is made for this campaign."""
    request = stated.request
    if request.lab != OWN_LAB:
        yield stated
        return
    nodes = request.nodes or max(part.least_nodes for part in campaign.part)
    with made_lab(nodes) as name:
        yield replace(stated, request=replace(request, lab=name, nodes=0))


def request_of(part: Part, stated: MeasurementRequest) -> MeasurementRequest:
    changed: dict[str, object] = {
        "patterns": part.patterns, "sizes": tuple(map(size_bytes, part.sizes)), "tool": part.tool,
        "transport": part.transport, "mpi": part.mpi, "ppn": part.ppn, "launches": part.launches,
        "profile": part.profile,
    }  # fmt: skip
    stated = reset_fields(stated, ENGINE_ONLY if part.tool else ("tool_path",))
    return replace(stated, **{field: value for field, value in changed.items() if value})


def measure_part(part: Part, stated: StatedRequest, directory: RunDirectory) -> PartResult:
    """Measure a part in a run below the campaign's directory.

    Raises:
        FabricgaugeError: the part cannot be measured there.
    """
    if not part.measures:
        return PartResult(part.name)
    request = on_nodes(request_of(part, stated.request), part.most_nodes)
    stated = replace(stated, request=request)
    if part.vary:
        blocks = part.launches or SWEEP_BLOCKS
        outcome_name, finding, folder = load_role("sweep")(
            part.vary, stated, directory.path, blocks, part.least_nodes
        )
        return PartResult(part.name, folder, outcome_name, finding)
    against = tuple(curve for name in part.references for curve in reference(name).curves)
    with open_run(stated, directory.path) as context:
        nodes = len(set(context.target.ranks))
        if nodes < part.least_nodes:
            raise UsageError(f"it needs {part.least_nodes} nodes, and there are {nodes}")
        judged, interrupted = measure_and_judge(context, against)
        folder = context.directory.path.name
    if interrupted:
        raise KeyboardInterrupt
    outcome = part_outcome(judged)
    sentence = headline(judged)
    if outcome is not judged.overall:
        sentence = "measured on the right path; it has no stream whose rate could be judged"
    return PartResult(part.name, folder, outcome.value, sentence)


def on_nodes(request: MeasurementRequest, most: int) -> MeasurementRequest:
    """Return the request on its first ``most`` nodes; 0 means all."""
    if not most or request.rank_order:
        return request
    with reach_hosts(request) as (access, _):
        nodes = access.nodes
    if len(nodes) <= most:
        return request
    return replace(request, rank_order=nodes[:most])
