"""Hold what the parts of a campaign measured, as the directory of the campaign keeps it."""

import msgspec

from fabricgauge.features.campaign.campaign_file import Campaign
from fabricgauge.judge.interface import worst
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome

RESULT_FILE = "campaign.json"
RESULT_FORMAT, RESULT_VERSION = "fabricgauge-campaign-result", "1.0"


class PartResult(msgspec.Struct, frozen=True):
    """Hold the outcome of one part.

    ``folder`` is its run below the campaign's directory, empty without one; ``outcome`` and
    ``headline`` are the run's. ``left_out`` is the reason why nothing was measured; ``broken``
    tells that it is an error, not a program or a node that is not there.
    """

    name: str
    folder: str = ""
    outcome: str = ""
    headline: str = ""
    left_out: str = ""
    broken: bool = False
    wall_s: float = 0.0


class CampaignResult(msgspec.Struct, frozen=True):
    """Hold a campaign with the results so far, in the order of its parts."""

    format: str
    version: str
    identity: str
    started_utc: str
    campaign: Campaign
    parts: tuple[PartResult, ...] = ()

    @property
    def complete(self) -> bool:
        return len(self.parts) == len(self.campaign.part)


def part_outcome(judged: Judged) -> Outcome:
    """Return a run's outcome; a part without a one-way stream is not undecided for that alone."""
    undecided = [verdict for verdict in judged.verdicts if verdict.outcome is Outcome.INCONCLUSIVE]
    without_stream = all(
        verdict.rule == "fraction" and verdict.about.kind == "network" for verdict in undecided
    )
    if judged.overall is not Outcome.INCONCLUSIVE or not without_stream:
        return judged.overall
    return worst(
        (verdict.outcome for verdict in judged.verdicts if verdict not in undecided),
        empty=Outcome.INCONCLUSIVE,
    )
