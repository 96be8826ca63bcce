"""Check whether other traffic crossed the nodes' links during the measurement."""

from fabricgauge.judge import foreign
from fabricgauge.judge.interface import Subject, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.pairs import Part
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures

ID = "foreign-traffic"


@judge_networks(ID)
def judge(subject: Subject) -> list[Verdict] | Verdict | Skipped:
    if subject.imported or subject.by_suite:
        return Skipped("unknown: no counter has all bytes that the suite's program sent")
    if subject.run.fabric.simulated:
        return Skipped("simulated: the network carries no other traffic")
    if isinstance(subject.network, Skipped):
        return subject.network
    if isinstance(subject.network.rate_bit_s, Skipped):
        return subject.network.rate_bit_s
    nodes = foreign.foreign_in(subject)
    if not nodes:
        return Skipped("no counters of this network's interfaces were read")
    limit = subject.limit("foreign-traffic.share")
    busiest = max(nodes.values(), key=lambda traffic: traffic.share)
    if busiest.share >= limit:
        return [
            _judge_node(subject, traffic) for traffic in nodes.values() if traffic.share >= limit
        ]
    at_most = f"at most {figures.percent(busiest.share)} of the line rate, on {busiest.node}"
    return Verdict(
        Outcome.PASS, f"almost no other traffic: {at_most}", _figure(busiest),
        subject.threshold("foreign-traffic.share", "below"),
    )  # fmt: skip


def _judge_node(subject: Subject, traffic: ForeignTraffic) -> Verdict:
    limit = subject.limit("foreign-traffic.share")
    sends, receives = traffic.sent_share >= limit, traffic.received_share >= limit
    part: Part = "node" if sends and receives else "sender" if sends else "receiver"
    return Verdict(
        Outcome.WARN,
        foreign.sentence(traffic, limit),
        _figure(traffic),
        subject.threshold("foreign-traffic.share", "below"),
        (
            f"besides the benchmark's own bytes, the interfaces of {traffic.node} sent"
            f" {figures.amount(traffic.sent_bytes)} and received"
            f" {figures.amount(traffic.received_bytes)}; its links can carry"
            f" {figures.amount(traffic.line_bytes)} in that time per direction",
        ),
        foreign.CAUSE,
        foreign.REMEDY,
        VerdictSubject(part, subject.name, (traffic.node,)),
    )


def _figure(traffic: ForeignTraffic) -> Figure:
    return Figure(traffic.share, "share", "of the line rate, other traffic in the busier direction")
