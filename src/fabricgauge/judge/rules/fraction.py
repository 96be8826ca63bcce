"""How much of the ceiling does a sustained stream reach?"""

from collections.abc import Iterator

import msgspec

from fabricgauge.judge import causes, foreign, host, staging
from fabricgauge.judge.bus import judge_bus_rates
from fabricgauge.judge.gpu_pairs import judge_gpu_pairs
from fabricgauge.judge.interface import Said, Words, of_networks
from fabricgauge.judge.rules import cache_shape
from fabricgauge.judge.streams import Stream, by_call, from_bytes, rails_beside, streams, unlike
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import OVER_TCP
from fabricgauge.model.verdict import Figure, Outcome
from fabricgauge.words import figures, patterns, sentences

ID = "fraction"

_AGAIN = "measure again with more launches and no other load: fabricgauge check --profile full"

_PING_PONG = causes.Cause(
    "a ping-pong has but one message under way and need not fill the link",
    "measure a stream: osu_bw, IMB-MPI1 Uniband, ib_write_bw, iperf3, or fabricgauge check",
)
_ONE_CONNECTION = causes.Cause(
    "one TCP connection is served by one processor and need not fill a link this fast",
    "measure several at once: iperf3 -P 8, or fabricgauge check --tool iperf3 --parallel 8",
)
_ONE_FLOW = causes.Cause(
    "candidates: a cloud's limit for one connection, or one processor, which serves it",
    "measure several at once: iperf3 -P 8, or fabricgauge check --tool iperf3 --parallel 8; a limit"
    " for one connection leaves their sum alone",
)
#: Limits for one connection in bit/s, and how near a figure must be. Amazon EC2, "Instance network
#: bandwidth": 5 Gb/s, 10 Gb/s within a cluster placement group.
FLOW_BIT_S, FLOW_NEAR = (5e9, 10e9), (0.93, 1.005)
_ONE_PORT = causes.Cause(
    "a bond sends all of one connection over one port, and that one is full; or its other ports"
    " carry nothing",
    "measure several connections at once: fabricgauge check --tool iperf3 --parallel 8; look at"
    " /proc/net/bonding and at the hash policies of the bond and of the switch (layer3+4 spreads"
    " the connections of two nodes over the ports)",
)
_ONE_RAIL = causes.Cause(
    "the log names one device, and nothing shows what the other rails carry",
    "import a log of each device, and state one rail of the network (leave rails= out)",
)
_RDMA_MTU = causes.Cause(
    "which RDMA MTU the figure had is not known, and with another one the verdict is another",
    'state it, e.g. --network "100GbE roce mtu=1024" or --transport verbs:path-mtu=1024;'
    " ibv_devinfo prints it as active_mtu",
)
_MIXED_MTU = causes.Cause(
    "the members' MTUs differ, and with another one of them the verdict is another",
    "give all members the same MTU, then measure again: see mtu",
)
_MEMORY = causes.Cause(
    "the curve falls as one of shared memory does, and where its ends ran is not known",
    cache_shape.SAY_HOSTS,
)
_UNSIZED = causes.Cause(
    "the log does not say the message size, and small ones fill no link",
    "measure again so that the log has the size: qperf -vu, netperf's omni output with"
    " LOCAL_SEND_SIZE",
)
_ABOVE = causes.Cause(
    "more than the network can carry: see above-ceiling",
    "look at above-ceiling, placement and path before anything is made of this figure",
)
_BROKE = causes.Cause(
    "the run broke: the log holds an error of the transport beside the table",
    "find the error's cause first (ibstat, the port's counters, the switch), then measure again;"
    " the figures up to there say nothing of the rate",
)
_CLOCK = causes.Cause(
    "the host's processors change their frequency, and perftest takes its time from them",
    "set the governor to performance (cpupower frequency-set -g performance) and measure again",
    in_host=True,
)
#: Why a figure alone decides nothing; what a host is not the reason of has two more.
_SINGLE = (
    _PING_PONG, _ONE_CONNECTION, _ONE_FLOW, _ONE_PORT, _RDMA_MTU, _MIXED_MTU, _MEMORY, _UNSIZED,
    _BROKE, _CLOCK,
)  # fmt: skip
_NO_FAULT = (*_SINGLE, _ABOVE, _ONE_RAIL, causes.UNSTEADY)

_IMPORT_STREAM = (
    "import a one-way stream of the same network as well: osu_bw, IMB-MPI1 Uniband, ib_write_bw,"
    " iperf3"
)
_STATE = (
    'state the network that was measured: fabricgauge import --network "25GbE mtu=9000" LOG, or'
    ' edr, "100GbE roce", "omni-path 100" …'
)
_LARGE = (
    "measure a stream of large messages: fabricgauge check --patterns bandwidth --sizes 64K,1M,4M"
)
_SAY_NODES = (
    "start one rank per node, or keep in the log where the ranks ran (I_MPI_DEBUG=4 of Intel MPI,"
    " --report-bindings of Open MPI)"
)
_STATE_RDMA = 'state what RDMA used it as, e.g. --network "100GbE roce", "10GbE iwarp" or "edr"'


@of_networks(ID)
def judge(subject: Subject) -> Words:
    collectives = [*judge_bus_rates(subject), *judge_gpu_pairs(subject)]
    if isinstance(subject.ceiling, Skipped):
        unstated = subject.imported and not subject.claimed
        remedy = _STATE if unstated else ""
        return collectives or Said(Outcome.SKIPPED, subject.ceiling.reason, remedy=remedy)
    unlike_series = [series.name for series in subject.series if unlike(subject, series)]
    one_way = streams(subject, "bandwidth", "put_bandwidth", "get_bandwidth")
    one_way = one_way or streams(subject, "latency")
    two_way = streams(subject, "bidirectional_bandwidth")
    if not one_way:
        two_way = tuple(one for one in two_way if _fills_each_way(one))
    verdicts = [*(_said(stream, one_way) for stream in one_way + two_way), *collectives]
    if unlike_series:
        tables = sentences.counted(len(unlike_series), "table")
        sentence = f"{tables} of RDMA cannot be held against a ceiling for TCP"
        verdicts.append(Said(
            Outcome.SKIPPED, f"{sentence}: {sentences.listed(unlike_series, 3)}", remedy=_STATE_RDMA
        ))  # fmt: skip
    return verdicts or _nothing(subject)


def _fills_each_way(stream: Stream) -> bool:
    """Whether both directions together show each one full: the other carries no more than all."""
    return 2 * stream.low - 1 >= stream.limit("fraction.pass")


def _nothing(subject: Subject) -> Said:
    """Why nothing is held against the ceiling: a table has no figure, or none of large messages."""
    remedy = _IMPORT_STREAM if subject.imported else _LARGE
    if bare := next((curve for curve in subject.curves if not curve.points), None):
        reason = bare.failures[0].text if bare.failures else bare.cut_off
        if bare.failures and bare.failures[0].trouble == "waived":
            reason = f"waived by the suite ({reason})"
        reason = f"{bare.benchmark} has no figure: {reason}"
        return Said(Outcome.INCONCLUSIVE, reason, remedy=remedy)
    if subject.unknown_part:
        reason = (
            f"{subject.unknown_part} processes took part, and on which nodes they ran is not known:"
            " the first ranks of many are on one node, unless each node has one"
        )
        return Said(Outcome.INCONCLUSIVE, reason, remedy=_SAY_NODES)
    small = subject.of("bandwidth", "put_bandwidth", "get_bandwidth")
    sizes = [from_bytes(subject, one) for one in small]
    size = figures.size(int(min(sizes, default=subject.limit("fraction.from"))))
    reason = f"no one-way stream of messages of at least {size} was measured"
    return Said(Outcome.INCONCLUSIVE, reason, remedy=remedy)


def _said(stream: Stream, one_way: tuple[Stream, ...]) -> Said:
    plain, by_mtu = stream.plain_outcome, _by_mtu(stream)
    likely = () if plain is Outcome.PASS else _causes(stream)
    single = _decides_nothing(stream, plain, by_mtu)
    cause = single or next(iter(likely), None)
    outcome = Outcome.INCONCLUSIVE if single else plain
    rails = rails_beside(stream.subject, stream.series)
    if rails and outcome is Outcome.PASS:
        outcome, cause = Outcome.WARN, _ONE_RAIL
    signs = host.signs(stream) if cause and cause not in _NO_FAULT else host.Signs()
    # A low figure is a remark where others decide; where it decides, a host may excuse it.
    if outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        deciding = stream.decides(one_way)
        outcome = host.excused(outcome, bool(signs.against)) if deciding else Outcome.WARN
    at = figures.at(stream.best.message_bytes, stream.best.sized)
    return Said(
        outcome,
        stream.sentence + (f" (one of {rails} rails)" if rails else "") + _of_hosts(outcome, signs),
        Figure(
            stream.fraction, "share",
            f"of the ceiling, per direction {at} ({patterns.sentence(stream.series.pattern)})",
        ),
        stream.subject.threshold(stream.enough),
        (
            *_evidence(stream),
            *(one.evidence for one in likely if one.evidence),
            *((causes.one_port(stream),) if single is _ONE_PORT else ()),
            *(_with_mtu(stream, *one) for one in by_mtu.items()),
            *signs.against,
            *causes.heard(stream, "broken", "clock"),
        ),
        *_mend(outcome, cause, signs),
        about=stream.about,
    )  # fmt: skip


def _decides_nothing(
    stream: Stream, plain: Outcome, by_mtu: dict[int, Outcome]
) -> causes.Cause | None:
    """Return why a figure alone does not describe the network."""
    if stream.series.is_latency:
        return None if plain is Outcome.PASS else _PING_PONG
    if by_mtu:
        return _MIXED_MTU if stream.subject.technology in OVER_TCP else _RDMA_MTU
    if plain is not Outcome.FAIL:
        return None
    if causes.heard(stream, "broken"):
        return _BROKE
    if causes.heard(stream, "clock"):
        return _CLOCK
    if by_call(stream.series) and not stream.best.sized:
        return _UNSIZED
    if stream.cannot_fill:
        shares = [8 * stream.best.bandwidth.value / one for one in FLOW_BIT_S]
        flow = any(FLOW_NEAR[0] <= share <= FLOW_NEAR[1] for share in shares)
        return _ONE_FLOW if flow else _ONE_CONNECTION
    if causes.one_port(stream):
        return _ONE_PORT
    memory = cache_shape.may_be_memory(stream.subject, stream.series)
    return _MEMORY if memory else None


def _by_mtu(stream: Stream) -> dict[int, Outcome]:
    """Return the figure with each MTU that may be in force; empty if the outcome is the same.

    One that the figure is too fast for is not in force.
    """
    if stream.series.is_latency:
        return {}
    streams_by_mtu = {}
    for mtu, limit in stream.ceiling.by_mtu.items():
        ceiling = msgspec.structs.replace(stream.ceiling, payload_bytes_per_s=limit)
        one = msgspec.structs.replace(stream, ceiling=ceiling)
        if not one.is_above:
            streams_by_mtu[mtu] = one.plain_outcome
    return streams_by_mtu if len(set(streams_by_mtu.values())) > 1 else {}


def _with_mtu(stream: Stream, mtu: int, outcome: Outcome) -> str:
    share = figures.percent(stream.best.bandwidth.value / stream.ceiling.by_mtu[mtu])
    kind = "an MTU" if stream.subject.technology in OVER_TCP else "an RDMA MTU"
    return f"with {kind} of {mtu} it is {share} of the ceiling: {outcome.value}"


def _causes(stream: Stream) -> tuple[causes.Cause, ...]:
    if stream.is_above:
        return (_ABOVE,)
    if stream.fraction >= stream.limit(stream.enough):
        return (causes.UNSTEADY,)
    return causes.causes(stream)


def _evidence(stream: Stream) -> Iterator[str]:
    """Interval and launches; the sum, where the stream has a ceiling of its own."""
    shares = [figures.percent(share) for share in stream.launches]
    yield (
        f"interval {figures.rate(stream.best.bandwidth.low)} to"
        f" {figures.rate(stream.best.bandwidth.high)}; launches: {sentences.listed(shares)} of the"
        " ceiling"
    )
    yield from staging.evidence(stream)
    if stream.ceiling is not stream.subject.ceiling:
        step = stream.ceiling.steps[-1]
        counted = " (acknowledgements per segment counted in the cases)"
        yield (
            f"ceiling {step.label}: {figures.rate(step.value)} = {step.expression}"
            f"{counted if stream.directions == 2 else ''}"
        )


def _of_hosts(outcome: Outcome, signs: host.Signs) -> str:
    """Return what a host's limit, or other traffic, makes of the figure; see ``host.excused``."""
    if not signs.against:
        return ""
    limits = "a host limits it" if signs.limiting else "whether a host limits it could not be seen"
    rule = "host-limited"
    if signs.foreign:
        limits, rule = "other traffic takes what is missing", "foreign-traffic"
    leaves = outcome is Outcome.INCONCLUSIVE
    return f"; {limits}, so it {'decides nothing' if leaves else 'is a remark'} (see {rule})"


def _mend(outcome: Outcome, cause: causes.Cause | None, signs: host.Signs) -> tuple[str, str]:
    """Cause and remedy."""
    if outcome is Outcome.PASS or cause is None:
        return "", ""
    if signs.foreign:
        return foreign.CAUSE, foreign.REMEDY
    if cause.in_host:
        return cause.cause, cause.remedy
    if signs.limiting:
        return "a host, not the network, sets the pace", host.REMEDY
    undecided = outcome is Outcome.INCONCLUSIVE and cause not in _SINGLE
    return cause.cause, _AGAIN if undecided else cause.remedy
