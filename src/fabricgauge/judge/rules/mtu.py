"""Do all members of a network have the same MTU, and is it used?"""

from collections import Counter

from fabricgauge.judge.interface import Said, Words, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.verdict import Figure, Outcome, Threshold, VerdictSubject
from fabricgauge.words import sentences

ID = "mtu"

#: On these networks a stated MTU, if it is one of ``PATH_MTUS``, is the RDMA MTU.
RDMA = ("infiniband", "roce-v1", "roce-v2")

IPV4_BYTES, IPV6_BYTES, TCP_BYTES, TIMESTAMPS_BYTES = 20, 40, 20, 12


@of_networks(ID)
def judge(subject: Subject) -> Words:
    network = subject.network
    if isinstance(network, Skipped):
        return ()
    if not network.members:
        return _stated(subject, network)
    odd = _odd_members(network)
    if network.has_rdma_ports:
        return _path_mtu(network, odd)
    return _mixed(network, odd) if odd else _segments(subject, network)


def _stated(subject: Subject, network: Network) -> Words:
    """Where a log prints another RDMA MTU than was stated, the ceiling is for the wrong MTU."""
    stated_bytes = network.mtu_bytes
    if "mtu" in network.assumed or network.technology not in RDMA or stated_bytes not in PATH_MTUS:
        return ()
    log_mtus = {curve.evidence.mtu_bytes for curve in subject.curves} - {stated_bytes}
    other_mtus = sorted(mtu for mtu in log_mtus if mtu is not None)
    if not other_mtus:
        return ()
    return Said(
        Outcome.WARN,
        f"the log says an RDMA MTU of {sentences.listed(list(map(str, other_mtus)))}, but"
        f" {stated_bytes} was stated",
        cause="the stated network is not the one that was measured, or its MTU is another",
        remedy=f"state mtu={other_mtus[0]}, or leave it out: the log's own is used then",
    )


def _odd_members(network: Network) -> tuple[Member, ...]:
    """Members whose MTU is not that of most; where there is no majority, the smaller ones."""
    counts = Counter(member.mtu_bytes for member in network.members)
    usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
    return tuple(member for member in network.members if member.mtu_bytes != usual)


def _mixed(network: Network, odd: tuple[Member, ...]) -> Said:
    """The verdict on mixed MTUs: on the port itself if it alone is odd among more than two."""
    usual = next(member.mtu_bytes for member in network.members if member not in odd)
    first, about = odd[0], None
    place = f"{first.node}:{first.interface}"
    if len(odd) == 1 and len(network.members) > 2:
        about = VerdictSubject("place", network.name, (first.node,), place=place)
    names = sentences.listed([f"{port.node}:{port.interface} ({port.mtu_bytes})" for port in odd])
    return Said(
        Outcome.FAIL,
        f"MTU {usual} is not set everywhere: {names}; no larger packet than"
        f" {network.mtu_bytes} bytes can pass between them",
        Figure(first.mtu_bytes, "bytes", f"MTU of {place}"),
        Threshold(usual, "bytes", "equal to", "MTU of the other members"),
        tuple(
            f"{member.node}:{member.interface} has MTU {member.mtu_bytes}"
            for member in network.members
        ),
        "the MTU was set on some nodes only, or does not survive a restart",
        "; ".join(
            f"on {port.node}: "
            + sentences.command(("ip", "link", "set", "dev", port.interface, "mtu", str(usual)))
            for port in odd
        ),
        about,
    )


def _path_mtu(network: Network, odd: tuple[Member, ...]) -> Said | Skipped:
    """The path MTU of RDMA ports: both ends use the smaller one, and no packet is refused."""
    if "mtu" in network.assumed:
        return Skipped("no port says its path MTU (ibv_devinfo does)")
    if not odd:
        return Said(Outcome.PASS, f"every port has MTU {network.members[0].mtu_bytes}")
    names = sentences.listed([f"{port.node}:{port.interface} ({port.mtu_bytes})" for port in odd])
    return Said(
        Outcome.WARN,
        f"ports have different MTUs: {names} unlike the others",
        None, None,
        tuple(
            f"{member.node}:{member.interface} has MTU {member.mtu_bytes}"
            for member in network.members
        ),
        "the interface's MTU, the firmware or the subnet manager gives some ports another MTU",
        "make them alike: the interface's MTU for RoCE, the subnet manager's for InfiniBand",
    )  # fmt: skip


def _segments(subject: Subject, network: Network) -> Said:
    """Check whether TCP fills its segments: the largest payload that the MTU leaves for one."""
    ip = IPV6_BYTES if ":" in network.subnet else IPV4_BYTES
    headers = ip + TCP_BYTES + (TIMESTAMPS_BYTES if network.timestamps else 0)
    expected, used = network.mtu_bytes - headers, subject.evidence.largest_segments
    sentence = f"every member has MTU {network.mtu_bytes}"
    if not used:
        unseen = "whether TCP uses it was not seen: no connection on it sent enough"
        return Said(Outcome.PASS, f"{sentence}; {unseen}")
    smallest, place = min((size, name) for name, size in used.items())
    figure = Figure(smallest, "bytes", f"payload of a TCP segment of {place}")
    origin = f"MTU {network.mtu_bytes} less IP and TCP headers"
    threshold = Threshold(expected, "bytes", "at least", origin)
    if smallest >= expected:
        full = f"{sentence}, and TCP sends segments of {smallest} bytes"
        return Said(Outcome.PASS, full, figure, threshold)
    return Said(
        Outcome.WARN,
        f"TCP on {place} sends segments of {smallest} bytes, though MTU {network.mtu_bytes}"
        f" allows {expected}",
        figure, threshold, tuple(sorted(f"{name}: {size} bytes" for name, size in used.items())),
        "the path MTU is smaller than the interfaces' own: a switch port or a route limits it",
        "raise the MTU of the switch's ports; look at `ip route get ADDRESS` and"
        " `ip route show cache`",
    )  # fmt: skip
