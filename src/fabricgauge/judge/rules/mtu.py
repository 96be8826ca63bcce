"""Check that all members of a network have the same MTU, and that TCP uses it."""

from collections import Counter
from collections.abc import Iterable

from fabricgauge.judge.ceiling.technologies import LIKELY_MTUS, find_limits
from fabricgauge.judge.interface import Subject, Verdicts, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.fabric import Member, Network
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.model.words import figures, sentences

ID = "mtu"

#: On these networks a stated MTU, if it is one of ``PATH_MTUS``, is the RDMA MTU.
RDMA = ("infiniband", "roce-v1", "roce-v2")

_SMALL = (
    "perftest's -m, a port, the partition or an interface allows no larger packets",
    "measure without -m of perftest; look at active_mtu of both ports (ibv_devinfo), and raise the"
    " MTU: for RoCE of the interfaces and the switch, for InfiniBand of the partition"
    " (partitions.conf of opensm)",
)

#: Headers: RFC 791, RFC 8200, RFC 9293; TCP timestamps with their padding: RFC 7323.
IPV4_BYTES, IPV6_BYTES, TCP_BYTES, TIMESTAMPS_BYTES = 20, 40, 20, 12


@judge_networks(ID)
def judge(subject: Subject) -> Verdicts:
    network = subject.network
    if isinstance(network, Skipped):
        return ()
    if not network.members:
        return _judge_stated(subject, network)
    counts = Counter(member.mtu_bytes for member in network.members)
    # Without a majority the smaller ones deviate.
    usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
    deviating = tuple(member for member in network.members if member.mtu_bytes != usual)
    if network.has_rdma_ports:
        return _judge_path_mtu(network, deviating)
    return (
        _judge_mixed(network, usual, deviating) if deviating else _judge_segments(subject, network)
    )


def _judge_stated(subject: Subject, network: Network) -> Verdicts:
    """Warn if a log has another RDMA MTU than the stated one, or without one a small MTU."""
    stated_bytes = network.mtu_bytes
    log_mtus = {curve.evidence.mtu_bytes or stated_bytes for curve in subject.curves}
    other_mtus = sorted(log_mtus - {stated_bytes})
    if network.technology not in RDMA or not other_mtus:
        return ()
    smallest = other_mtus[0]
    if "mtu" in network.assumed and smallest in PATH_MTUS and smallest < LIKELY_MTUS[0]:
        limit = figures.rate(find_limits(network, (smallest,))[smallest])
        sentence = f"the RDMA MTU of the log is {smallest}, which limits it to {limit}"
        return Verdict(Outcome.WARN, sentence, cause=_SMALL[0], remedy=_SMALL[1])
    if "mtu" in network.assumed or stated_bytes not in PATH_MTUS:
        return ()
    return Verdict(
        Outcome.WARN,
        f"the log has an RDMA MTU of {sentences.listed(list(map(str, other_mtus)))}, but"
        f" {stated_bytes} was stated",
        cause="another network was measured than the stated one, or the stated MTU is wrong",
        remedy=f"state mtu={other_mtus[0]}, or omit mtu: then the log's MTU is used",
    )


def _name_ports(ports: Iterable[Member]) -> str:
    return sentences.listed([f"{port.node}:{port.interface} ({port.mtu_bytes})" for port in ports])


def _list_mtus(network: Network) -> tuple[str, ...]:
    return tuple(
        f"{port.node}:{port.interface} has MTU {port.mtu_bytes}" for port in network.members
    )


def _judge_mixed(network: Network, usual: int, deviating: tuple[Member, ...]) -> Verdict:
    """Return the verdict on mixed MTUs; on the port itself if it alone deviates from several."""
    first, about = deviating[0], VerdictSubject()
    place = f"{first.node}:{first.interface}"
    if len(deviating) == 1 and len(network.members) > 2:
        about = VerdictSubject("place", network.name, (first.node,), place=place)
    return Verdict(
        Outcome.FAIL,
        f"MTU {usual} is not set everywhere: {_name_ports(deviating)}; packets of more than"
        f" {network.mtu_bytes} bytes cannot pass",
        Figure(first.mtu_bytes, "bytes", f"MTU of {place}"),
        Threshold(usual, "bytes", "equal to", "MTU of the other members"),
        _list_mtus(network),
        "the MTU was set only on some nodes, or does not survive a restart",
        "; ".join(
            f"on {port.node}: "
            + sentences.command(("ip", "link", "set", "dev", port.interface, "mtu", str(usual)))
            for port in deviating
        ),
        about,
    )


def _judge_path_mtu(network: Network, deviating: tuple[Member, ...]) -> Verdict | Skipped:
    """Judge the path MTU of RDMA ports: both ends use the smaller one, and no packet is lost."""
    if "mtu" in network.assumed:
        return Skipped("the path MTU of the ports is unknown (ibv_devinfo prints it)")
    if not deviating:
        return Verdict(Outcome.PASS, f"every port has MTU {network.members[0].mtu_bytes}")
    return Verdict(
        Outcome.WARN,
        f"ports have different MTUs: {_name_ports(deviating)} unlike the other ports",
        None, None, _list_mtus(network),
        "the interface's MTU, the firmware or the subnet manager gives some ports another MTU",
        "set the same MTU on all ports: for RoCE on the interfaces, for InfiniBand in the subnet"
        " manager",
    )  # fmt: skip


def _judge_segments(subject: Subject, network: Network) -> Verdict:
    """Check whether TCP fills its segments: the largest payload that the MTU leaves for one."""
    ip = IPV6_BYTES if ":" in network.subnet else IPV4_BYTES
    headers = ip + TCP_BYTES + (TIMESTAMPS_BYTES if network.timestamps else 0)
    expected, used = network.mtu_bytes - headers, subject.evidence.largest_segments
    sentence = f"every member has MTU {network.mtu_bytes}"
    if not used:
        unseen = "unknown if TCP uses it: no connection sent enough"
        return Verdict(Outcome.PASS, f"{sentence}; {unseen}")
    smallest, place = min((size, name) for name, size in used.items())
    figure = Figure(smallest, "bytes", f"payload of a TCP segment of {place}")
    origin = f"MTU {network.mtu_bytes} less IP and TCP headers"
    threshold = Threshold(expected, "bytes", "at least", origin)
    if smallest >= expected:
        full = f"{sentence}, and TCP sends segments of {smallest} bytes"
        return Verdict(Outcome.PASS, full, figure, threshold)
    return Verdict(
        Outcome.WARN,
        f"TCP on {place} sends segments of {smallest} bytes, but MTU {network.mtu_bytes} allows"
        f" {expected}",
        figure, threshold, tuple(sorted(f"{name}: {size} bytes" for name, size in used.items())),
        "the path MTU is smaller than the interfaces' own: a switch port or a route limits it",
        "raise the MTU of the switch's ports; look at `ip route get ADDRESS` and"
        " `ip route show cache`",
    )  # fmt: skip
