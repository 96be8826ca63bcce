"""Plan a launch that measures suspects and their partners again, one pair at a time."""

from collections.abc import Iterator

import msgspec

from fabricgauge.check.plan.cases import plan_cases
from fabricgauge.model.fabric import Network
from fabricgauge.model.pairs import Meeting
from fabricgauge.model.plan import Case, PlannedLaunch

CASE_S = 0.5
LOSSY_CASE_S = 0.125


def recheck_launch(
    number: int,
    network: Network | None,
    meetings: tuple[Meeting, ...],
    nodes: tuple[str, ...],
    payload_bytes_per_s: float,
    loses: bool = False,
) -> PlannedLaunch:
    """Measure each meeting in its order while all other ranks sleep; ``nodes`` are by rank.

    If frames are lost no interval narrows: the launch sends just enough to show who loses them.
    """
    case_s = LOSSY_CASE_S if loses else CASE_S
    rank = {node: place for place, node in enumerate(nodes)}
    return PlannedLaunch(
        number=number,
        network=None,
        subnet=None,
        nodes=nodes,
        cases=tuple(
            case
            for meeting in meetings
            for case in _meeting_cases(
                meeting, rank[meeting.one], rank[meeting.other], case_s, payload_bytes_per_s
            )
        ),
        purpose="again",
    ).pinned_to(network)


def _meeting_cases(
    meeting: Meeting, rank_a: int, rank_b: int, case_s: float, payload_bytes_per_s: float
) -> Iterator[Case]:
    """Yield round trips, or a stream in each direction."""
    quantity, size = meeting.quantity, meeting.message_bytes
    (case, *_) = plan_cases((quantity,), (size,), case_s, payload_bytes_per_s)
    there_and_back = ((rank_a, rank_b), (rank_b, rank_a))
    for origin, target in there_and_back if quantity == "bandwidth" else there_and_back[:1]:
        yield msgspec.structs.replace(
            case, name=f"{quantity}/{size}/{origin}>{target}", origin=origin, target=target
        )
