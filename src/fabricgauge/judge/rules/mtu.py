"""Do all members of a network have the same MTU, and is it used?"""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.words import sentences

ID = "mtu"
TITLE = "All members have the same MTU, and TCP uses it"

#: Networks of which a stated MTU of these sizes is the RDMA MTU.
RDMA, MTUS = ("infiniband", "roce-v1", "roce-v2"), (256, 512, 1024, 2048, 4096)

IPV4_BYTES, IPV6_BYTES, TCP_BYTES, TIMESTAMPS_BYTES = 20, 40, 20, 12


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(
        _judge(subject, subject.network)
        for subject in context.subjects
        if not isinstance(subject.network, Skipped) and subject.network.members
    ) + tuple(verdict for subject in context.subjects for verdict in _said(subject))


def _said(subject: Subject) -> Iterator[Verdict]:
    """A log that prints another RDMA MTU than was stated: the ceiling is that of the wrong one."""
    network = subject.network
    said = (one.evidence.mtu_bytes for one in subject.curves)
    known = {one for one in said if one is not None}
    if isinstance(network, Skipped) or network.members or "mtu" in network.assumed:
        return
    if network.technology not in RDMA or not known or network.mtu_bytes not in MTUS:
        return
    others = sorted(one for one in known if one != network.mtu_bytes)
    if others:
        yield verdict_on(
            ID, Outcome.WARN, subject.about,
            f"the log says an RDMA MTU of {sentences.listed(list(map(str, others)))}, but"
            f" {network.mtu_bytes} was stated",
            cause="the stated network is not the one that was measured, or its MTU is another",
            remedy=f"state mtu={others[0]}, or leave it out: the log's own is used then",
        )  # fmt: skip


def _judge(subject: Subject, network: Network) -> Verdict:
    odd = odd_members(network)
    return _mixed(network, odd) if odd else _segments(subject, network)


def odd_members(network: Network) -> tuple[Member, ...]:
    """Members whose MTU is not that of most; where there is no majority, the smaller ones."""
    counts = Counter(member.mtu_bytes for member in network.members)
    usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
    return tuple(member for member in network.members if member.mtu_bytes != usual)


def _mixed(network: Network, odd: tuple[Member, ...]) -> Verdict:
    usual = next(one.mtu_bytes for one in network.members if one not in odd)
    names = sentences.listed([f"{one.node}:{one.interface} ({one.mtu_bytes})" for one in odd])
    return verdict_on(
        rule=ID,
        outcome=Outcome.FAIL,
        about=_about(network, odd),
        summary=f"MTU {usual} is not set everywhere: {names}; no larger packet than"
        f" {network.mtu_bytes} bytes can pass between them",
        figure=Figure(odd[0].mtu_bytes, "bytes", f"MTU of {odd[0].node}:{odd[0].interface}"),
        threshold=Threshold(usual, "bytes", "equal to", "MTU of the other members"),
        evidence=tuple(
            f"{one.node}:{one.interface} has MTU {one.mtu_bytes}" for one in network.members
        ),
        cause="the MTU was set on some nodes only, or does not survive a restart",
        remedy="; ".join(
            f"on {one.node}: "
            + sentences.command(("ip", "link", "set", "dev", one.interface, "mtu", str(usual)))
            for one in odd
        ),
    )


def _about(network: Network, odd: tuple[Member, ...]) -> VerdictSubject:
    """The port, where only one is odd among more than two."""
    if len(odd) > 1 or len(network.members) < 3:
        return VerdictSubject("network", network.name)
    (one,) = odd
    return VerdictSubject("place", network.name, (one.node,), place=f"{one.node}:{one.interface}")


def expected_segment_bytes(network: Network) -> int:
    """Payload of a full TCP segment at the network's MTU."""
    ip = IPV6_BYTES if ":" in network.subnet else IPV4_BYTES
    return network.mtu_bytes - ip - TCP_BYTES - (TIMESTAMPS_BYTES if network.timestamps else 0)


def _segments(subject: Subject, network: Network) -> Verdict:
    expected, used = expected_segment_bytes(network), subject.evidence.largest_segments
    sentence = f"every member has MTU {network.mtu_bytes}"
    if not used:
        reason = f"{sentence}; whether TCP uses it was not seen: no connection on it sent enough"
        return verdict_on(ID, Outcome.PASS, VerdictSubject("network", network.name), reason)
    smallest, where = min((size, name) for name, size in used.items())
    figure = Figure(smallest, "bytes", f"payload of a TCP segment of {where}")
    threshold = Threshold(
        expected, "bytes", "at least", f"MTU {network.mtu_bytes} less IP and TCP headers"
    )
    if smallest >= expected:
        full = f"{sentence}, and TCP sends segments of {smallest} bytes"
        return verdict_on(
            ID, Outcome.PASS, VerdictSubject("network", network.name), full, figure, threshold
        )
    return verdict_on(
        ID, Outcome.WARN, VerdictSubject("network", network.name),
        f"TCP on {where} sends segments of {smallest} bytes, though MTU {network.mtu_bytes}"
        f" allows {expected}",
        figure, threshold, tuple(sorted(f"{name}: {size} bytes" for name, size in used.items())),
        "the path MTU is smaller than the interfaces' own: a switch port or a route limits it",
        "raise the MTU of the switch's ports; look at `ip route get ADDRESS` and"
        " `ip route show cache`",
    )  # fmt: skip
