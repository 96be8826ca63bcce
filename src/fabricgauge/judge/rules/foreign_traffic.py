"""Did other traffic cross the nodes' links while they were measured?"""

from fabricgauge.judge import foreign
from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.pairs import Part
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
from fabricgauge.words import figures

ID = "foreign-traffic"


@of_networks(ID)
def judge(subject: Subject) -> list[Said] | Said | Skipped:
    if subject.imported or subject.by_suite:
        return Skipped("unknown: nothing counted all bytes that the suite's program sent")
    if subject.run.fabric.simulated:
        return Skipped("simulated: nobody else uses the network")
    if isinstance(subject.network, Skipped):
        return subject.network
    if isinstance(subject.network.rate_bit_s, Skipped):
        return subject.network.rate_bit_s
    nodes = foreign.foreign_of(
        subject, ((launch, case) for launch in subject.launches for case in launch.completed)
    )
    if not nodes:
        return Skipped("no counters of this network's interfaces were read")
    limit = subject.limit("foreign-traffic.share")
    busiest = max(nodes.values(), key=lambda one: one.share)
    if busiest.share >= limit:
        return [_said(subject, one) for one in nodes.values() if one.share >= limit]
    at_most = f"at most {figures.percent(busiest.share)} of the line rate, on {busiest.node}"
    return Said(
        Outcome.PASS, f"next to no other traffic: {at_most}", _figure(busiest),
        subject.threshold("foreign-traffic.share", "below"),
    )  # fmt: skip


def _said(subject: Subject, one: ForeignTraffic) -> Said:
    limit = subject.limit("foreign-traffic.share")
    sends, receives = one.sent_share >= limit, one.received_share >= limit
    part: Part = "node" if sends and receives else "sender" if sends else "receiver"
    return Said(
        Outcome.WARN,
        foreign.sentence(one, limit),
        _figure(one),
        subject.threshold("foreign-traffic.share", "below"),
        (
            f"interfaces of {one.node} beside the benchmark's own bytes: sent"
            f" {figures.amount(one.sent_bytes)}, received {figures.amount(one.received_bytes)};"
            f" its links carry {figures.amount(one.line_bytes)} in that time per direction",
        ),
        foreign.CAUSE,
        foreign.REMEDY,
        VerdictSubject(part, subject.name, (one.node,)),
    )


def _figure(one: ForeignTraffic) -> Figure:
    return Figure(one.share, "share", "of the line rate, other traffic in the busier direction")
