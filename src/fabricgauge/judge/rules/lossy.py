"""Find nodes that lose more segments than the others; of two nodes, the direction that does."""

from collections.abc import Iterable, Iterator

from fabricgauge.judge import foreign
from fabricgauge.judge.host import excuse_outcome
from fabricgauge.judge.interface import Subject, Verdicts, judge_networks
from fabricgauge.judge.kept_rate import KEPT_RATE, OVERFLOW, kept_rate, spares_full_segments
from fabricgauge.judge.rules import errors
from fabricgauge.model.evidence import LostSegments
from fabricgauge.model.pairs import Part, Recheck
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures

ID = "lossy"

#: With fewer nodes it is unknown which of the two loses: the direction between them is named.
FEWEST_NODES = 3
#: The other directions may lose at most this share of the limit, by our reckoning. So no node is
#: named if a network drops everywhere, as one with full switches does.
OTHERS = 0.1
#: A direction counts if it would lose at least this many segments at the limit. By our reckoning.
LEAST_LOST = 10
#: A node that sends half of the limit again among all pairs, or meets one that does, may lose.
SUSPECT = 0.5
#: Partners with which a suspect sends and receives alone: two have to lose as well.
PARTNERS = 3

_LOSES = (
    "its link loses frames: a bad cable, transceiver or port, or a queue before it that overflows",
    "look at the error and drop counters of the node (ethtool -S NAME) and of its switch port;"
    " exchange cable, then transceiver, then port",
)

#: A node, or one direction of it, with the directions that begin or end there; or a direction
#: between two nodes.
_Lossy = tuple[Part, tuple[str, ...], tuple[LostSegments, ...]]


@judge_networks(ID)
def judge(subject: Subject) -> Verdicts:
    losses = _all_losses(subject)
    if len(_ends(losses)) < FEWEST_NODES:
        return [
            _judge_part(subject, ("direction", (loss.origin, loss.target), (loss,)), "")
            for loss in losses
            if _loses(subject, (loss,), 1)
        ]
    lossy, other_losses = _lossy_nodes(subject, losses)
    if not lossy:
        summary = f"TCP lost {figures.percent(_share(losses))} of all segments"
        return Verdict(Outcome.PASS, f"{summary}; no node lost more than the others")
    contrast = f"; between all other nodes {figures.percent(_share(other_losses))}"
    return [_judge_part(subject, lossy_node, contrast) for lossy_node in lossy]


def losses_of_part(subject: Subject, about: VerdictSubject) -> tuple[LostSegments, ...]:
    """Return the losses of a part that this rule names, in directions that lose enough."""
    if about.kind == "direction":
        losses = _all_losses(subject)
        return tuple(loss for loss in losses if (loss.origin, loss.target) == about.names)
    lossy, _ = _lossy_nodes(subject, _all_losses(subject))
    return tuple(loss for _, names, losses in lossy if names == about.names for loss in losses)


def named(subject: Subject) -> frozenset[str]:
    """Return the nodes that lose frames, which explains each slow direction with one of them."""
    lossy, _ = _lossy_nodes(subject, _all_losses(subject))
    return frozenset(name for _, names, _ in lossy for name in names)


def again(subject: Subject) -> Recheck | None:
    """Return the pairs to measure alone if all pairs together lost segments somewhere.

    A node that loses what it sends retransmits most; one that loses what it receives, least.
    """
    shares = subject.evidence.sent_again
    alone = any(series.pattern == "bandwidth" for series in subject.again)
    if alone or not subject.pairs or len(shares) < FEWEST_NODES:
        return None
    nodes = sorted(shares, key=lambda node: (shares[node], node))
    if shares[nodes[-1]] < SUSPECT * subject.limit("lossy.share"):
        return None
    from fabricgauge.judge.localise.recheck import streams_alone

    suspect_pairs = [
        (suspect, partner)
        for suspect in (nodes[-1], nodes[0])
        for partner in [node for node in nodes if node != suspect][:PARTNERS]
    ]
    return streams_alone(subject.pairs[0].matrix, suspect_pairs)


def _all_losses(subject: Subject) -> list[LostSegments]:
    return [loss for loss in subject.evidence.lost if loss.segments > 0]


def _ends(losses: Iterable[LostSegments]) -> list[str]:
    return sorted({name for loss in losses for name in (loss.origin, loss.target)})


def _lossy_nodes(
    subject: Subject, losses: list[LostSegments]
) -> tuple[list[_Lossy], list[LostSegments]]:
    """Return the lossy nodes, and the losses between the others; none if those lose as well."""
    nodes = _ends(losses)
    if len(nodes) < FEWEST_NODES:
        return [], losses
    lossy = [part for node in nodes for part in _losses_of_node(subject, node, losses)]
    explained = {id(loss) for *_, node_losses in lossy for loss in node_losses}
    other_losses = [loss for loss in losses if id(loss) not in explained]
    if not other_losses or _share(other_losses) > OTHERS * subject.limit("lossy.share"):
        return [], losses
    return lossy, other_losses


def _judge_part(subject: Subject, lossy_part: _Lossy, contrast: str) -> Verdict:
    part, names, losses = lossy_part
    share = _share(losses)
    directions = [(loss.origin, loss.target) for loss in losses]
    rate, shared = kept_rate(subject, directions), foreign.on_ways(subject, directions)
    full = "; other traffic and the streams fill its link" if shared else ""
    overflows = spares_full_segments(subject, directions)
    cause_and_remedy = KEPT_RATE if rate else OVERFLOW if overflows else _LOSES
    lead = f"streams stay at {figures.percent(rate.share)} of the ceiling; " if rate else ""
    lead = lead or ("a queue overflows: " if overflows else "")
    return Verdict(
        excuse_outcome(Outcome.FAIL, bool(shared)),
        f"{lead}TCP lost {figures.percent(share)} of the segments{contrast}{full}",
        Figure(share, "share", "of the TCP segments in its directions"),
        subject.threshold("lossy.share", "below"),
        (*map(errors.sentence, losses), *((rate.sentence,) if rate else ()), *shared),
        *((foreign.CAUSE, foreign.REMEDY) if shared else cause_and_remedy),
        VerdictSubject(part, subject.name, names),
    )


def _losses_of_node(
    subject: Subject, node: str, losses: Iterable[LostSegments]
) -> Iterator[_Lossy]:
    sent = tuple(loss for loss in losses if loss.origin == node)
    received = tuple(loss for loss in losses if loss.target == node)
    fewest = FEWEST_NODES - 1
    sends, receives = _loses(subject, sent, fewest), _loses(subject, received, fewest)
    if sends or receives:
        part: Part = "node" if sends and receives else "sender" if sends else "receiver"
        yield part, (node,), (*(sent if sends else ()), *(received if receives else ()))


def _loses(subject: Subject, losses: tuple[LostSegments, ...], fewest: int) -> bool:
    """Check whether each direction with enough segments loses: one bad direction names no node."""
    limit = subject.limit("lossy.share")
    counted = [loss for loss in losses if loss.segments * limit >= LEAST_LOST]
    return (
        len(counted) >= fewest
        and sum(loss.count for loss in counted) >= subject.limit("errors.least")
        and _share(counted) >= limit
        and all(loss.share >= limit / 2 for loss in counted)
    )


def _share(losses: Iterable[LostSegments]) -> float:
    all_losses = tuple(losses)
    return sum(loss.count for loss in all_losses) / sum(loss.segments for loss in all_losses)
