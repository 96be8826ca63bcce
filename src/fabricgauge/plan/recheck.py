"""A launch that measures suspects and their partners again, one pair at a time."""

from collections.abc import Iterator

import msgspec

from fabricgauge.model.fabric import Network
from fabricgauge.model.pairs import Meeting
from fabricgauge.model.plan import Case, PlannedLaunch
from fabricgauge.plan.cases import cases

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
    """Each meeting in its order while all other ranks sleep; ``nodes`` are by rank.

    Where frames are lost no interval narrows: then as much is sent as tells who loses them.
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
            for one in meetings
            for case in _cases(one, rank[one.one], rank[one.other], case_s, payload_bytes_per_s)
        ),
        purpose="again",
    ).pinned_to(network)


def _cases(
    meeting: Meeting, one: int, other: int, case_s: float, payload_bytes_per_s: float
) -> Iterator[Case]:
    """Round trips, or a stream there and one back."""
    quantity, size = meeting.quantity, meeting.message_bytes
    (case, *_) = cases((quantity,), (size,), case_s, payload_bytes_per_s)
    there_and_back = ((one, other), (other, one))
    for origin, target in there_and_back if quantity == "bandwidth" else there_and_back[:1]:
        yield msgspec.structs.replace(
            case, name=f"{quantity}/{size}/{origin}>{target}", origin=origin, target=target
        )
