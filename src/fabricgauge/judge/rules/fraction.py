"""Compare a sustained stream with the ceiling."""

from collections.abc import Iterator

from msgspec.structs import replace

from fabricgauge.judge import causes, foreign, host
from fabricgauge.judge.interface import STATE_NODES, UNPLACED, Subject, Verdicts, judge_networks
from fabricgauge.judge.rates_over_time import find_unsteady
from fabricgauge.judge.rules import cache_shape
from fabricgauge.judge.streams import (
    Stream,
    count_unstated_ports,
    from_bytes,
    is_rdma_on_tcp,
    is_sized_by_call,
    rails_if_one_used,
    small_streams,
    streams,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import OVER_TCP
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import OF_CEILING, Figure, Outcome, Verdict
from fabricgauge.model.words import figures, patterns, sentences
from fabricgauge.model.words.networks import OWN_CHOICE

ID = "fraction"

_AGAIN = "measure again with more launches and no other load: fabricgauge check --profile full"

_PING_PONG = causes.Cause(
    "a ping-pong has only one message under way and need not fill the link",
    "measure a stream: osu_bw, IMB-MPI1 Uniband, ib_write_bw, iperf3, or fabricgauge check",
)
_ONE_CONNECTION = causes.Cause(
    "one processor serves one TCP connection, which need not fill a link this fast",
    "measure several at once: iperf3 -P 8, or fabricgauge check --tool iperf3 --parallel 8",
)
_ONE_FLOW = causes.Cause(
    "candidates: a cloud's limit for one connection, or the one processor that serves it",
    "measure several at once: iperf3 -P 8, or fabricgauge check --tool iperf3 --parallel 8; a limit"
    " for one connection does not lower their sum",
)
#: Limits for one connection in bit/s, and how near a figure must be. Amazon EC2, "Instance network
#: bandwidth": 5 Gb/s, 10 Gb/s within a cluster placement group.
FLOW_BIT_S, FLOW_NEAR = (5e9, 10e9), (0.93, 1.005)
_ONE_PORT = causes.Cause(
    "a bond sends one connection over one port, and that port is full; or the bond's other ports"
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
    "the RDMA MTU of the figure is unknown, and another MTU would change the verdict",
    'state the MTU, e.g. --network "100GbE roce mtu=1024" or --transport verbs:path-mtu=1024;'
    " ibv_devinfo prints it as active_mtu",
)
_MIXED_MTU = causes.Cause(
    "the members' MTUs differ, and each MTU would give another verdict",
    "give all members the same MTU, then measure again: see mtu",
)
_MEMORY = causes.Cause(
    "the curve falls as in shared memory, and it is unknown on which hosts the two ends ran",
    cache_shape.NAME_HOSTS,
)
_UNSIZED = causes.Cause(
    "the log does not have the message size, and small messages do not fill a link",
    "measure again so that the log has the size: qperf -vu, netperf's omni output with"
    " LOCAL_SEND_SIZE",
)
_TWO_PORTS = causes.Cause(
    "perftest measured both ports of the adapter (Dual-port: ON), and one rail is stated",
    "state both ports: rails=2 behind the network's name",
)
_RISING = causes.Cause(
    "the largest message does not fill the network yet: the curve still rises, and at that growth"
    " larger ones reach the ceiling",
    "measure larger messages too (osu_bw -m 65536:4194304, ib_write_bw -a)",
)
_ABOVE = causes.Cause(
    "the figure is more than the network can carry: see above-ceiling",
    "look at above-ceiling, placement and path before you use this figure",
)
_BROKE = causes.Cause(
    "the run broke: the log has an error of the transport beside the table",
    "find the error's cause first (ibstat, the port's counters, the switch), then measure again;"
    " the figures before the error do not show the rate",
)
_CLOCK = causes.Cause(
    "the host's processors change their frequency, and perftest uses their clock",
    "set the governor to performance (cpupower frequency-set -g performance) and measure again",
    in_host=True,
)
_UNPLACED = causes.Cause(UNPLACED, STATE_NODES)
_AT_ONCE = causes.Cause(
    "all ranks sent and received at once: pairs may share links, so that no pair shows its own",
    "measure pairs alone: osu_bw, mpi_nxnlatbw, or fabricgauge check of all nodes",
)
_STRIPED = causes.Cause(
    "MPI does not give each network its share, or one of the networks carries less than it could",
    "measure each network alone: fabricgauge check --network NAME; fabricgauge discover lists them",
)
#: Causes for which a figure alone is undecided. ``_NO_FAULT`` are all causes that no host explains.
_SINGLE = (
    _PING_PONG, _ONE_CONNECTION, _ONE_FLOW, _ONE_PORT, _RDMA_MTU, _MIXED_MTU, _MEMORY, _UNSIZED,
    _BROKE, _CLOCK, _STRIPED, _UNPLACED, _AT_ONCE, _RISING, _TWO_PORTS,
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
_NAME_NODES = (
    "start one rank per node, or log the ranks' nodes (Intel MPI: I_MPI_DEBUG=4; Open MPI:"
    " --report-bindings)"
)
_STATE_RDMA = 'state the RDMA technology, e.g. --network "100GbE roce", "10GbE iwarp" or "edr"'


@judge_networks(ID)
def judge(subject: Subject) -> Verdicts:
    collectives: list[Verdict] = []
    if subject.by_suite:
        from fabricgauge.judge.bus import judge_bus_rates
        from fabricgauge.judge.gpu_pairs import judge_gpu_pairs

        collectives = [*judge_bus_rates(subject), *judge_gpu_pairs(subject)]
    if isinstance(subject.ceiling, Skipped):
        unstated = subject.imported and not subject.claimed
        if subject.is_inside_node:
            return collectives or _judge_inside_node(subject.curves[0])
        remedy = _STATE if unstated else ""
        return collectives or Verdict(Outcome.SKIPPED, subject.ceiling.reason, remedy=remedy)
    unlike_series = [series.name for series in subject.series if is_rdma_on_tcp(subject, series)]
    one_way = streams(subject, "bandwidth", "put_bandwidth", "get_bandwidth")
    one_way = one_way or tuple(small_streams(subject)) or streams(subject, "latency")
    two_way = streams(subject, "bidirectional_bandwidth")
    if not one_way:
        two_way = tuple(
            both
            for both in two_way
            if _is_full(both) or (both.fraction < both.limit(both.enough) and not _rises(both))
        )
    verdicts = [*(_judge_stream(stream, one_way) for stream in one_way + two_way), *collectives]
    if unlike_series:
        summary = (
            f"{sentences.counted(len(unlike_series), 'table')} of RDMA cannot be compared with a"
            f" ceiling for TCP: {sentences.listed(unlike_series, 3)}"
        )
        verdicts.append(Verdict(Outcome.SKIPPED, summary, remedy=_STATE_RDMA))
    if verdicts and (one_way or collectives or unlike_series or any(map(_is_full, two_way))):
        return verdicts
    return [*verdicts, _judge_no_stream(subject)]


def _is_full(both: Stream) -> bool:
    """Check whether each direction fills it: the other one carries at most the whole ceiling."""
    return 2 * both.low - 1 >= both.limit("fraction.pass")


def _rises(stream: Stream) -> bool:
    """Check whether larger messages would reach the ceiling, as the curve grows at its end."""
    enough = stream.limit(stream.enough) * stream.ceiling.payload_bytes_per_s
    return causes.rate_of_larger(stream) >= enough


def _judge_inside_node(curve: SuiteCurve) -> Verdict:
    """Return why copies inside a node are not judged."""
    reason = "copies inside a node, whose ceiling is unknown: no byte crossed a network"
    return Verdict(Outcome.SKIPPED, reason if curve.points else _describe_empty(curve))


def _describe_empty(curve: SuiteCurve) -> str:
    reason = curve.failures[0].text if curve.failures else curve.cut_off
    if curve.failures and curve.failures[0].trouble == "waived":
        reason = f"waived by the suite ({reason.strip().rstrip(':')}): the node has too few GPUs"
    return f"{curve.benchmark} has no figure: {reason}"


def _judge_no_stream(subject: Subject) -> Verdict:
    """Return why there is no stream to judge: a table without figures, or with small messages."""
    remedy = _IMPORT_STREAM if subject.imported else _LARGE
    if empty := next((curve for curve in subject.curves if not curve.points), None):
        return Verdict(Outcome.INCONCLUSIVE, _describe_empty(empty), remedy=remedy)
    if subject.unknown_part:
        reason = (
            f"{subject.unknown_part} processes took part, and their nodes are unknown: the first"
            " ranks of a job usually share one node"
        )
        return Verdict(Outcome.INCONCLUSIVE, reason, remedy=_NAME_NODES)
    small = subject.of("bandwidth", "put_bandwidth", "get_bandwidth")
    if unknown := next((series for series in small if not series.links_known), None):
        count = unknown.foreign.pairs if unknown.foreign else 0
        reason = f"{unknown.name} sums {count} pairs of ranks over an unknown number of links"
        return Verdict(Outcome.INCONCLUSIVE, reason, remedy=STATE_NODES)
    sizes = [from_bytes(subject, series) for series in small]
    size = figures.size(int(min(sizes, default=subject.limit("fraction.from"))))
    reason = f"no one-way stream of messages of at least {size} was measured"
    return Verdict(Outcome.INCONCLUSIVE, reason, remedy=remedy)


def _judge_stream(stream: Stream, one_way: tuple[Stream, ...]) -> Verdict:
    plain, outcomes_by_mtu = stream.plain_outcome, _outcomes_by_mtu(stream)
    likely_causes = () if plain is Outcome.PASS else _causes(stream)
    doubt = _find_doubt(stream, plain, outcomes_by_mtu)
    cause = doubt or next(iter(likely_causes), None)
    outcome = Outcome.INCONCLUSIVE if doubt else plain
    rails = rails_if_one_used(stream.subject, stream.series)
    if rails and outcome is Outcome.PASS:
        outcome, cause = Outcome.WARN, _ONE_RAIL
    signs = host.signs(stream) if cause and cause not in _NO_FAULT else host.Signs()
    # A low figure is only a warning if other streams decide. If it decides, a host may excuse it.
    if outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        deciding = stream.decides(one_way)
        outcome = host.excuse_outcome(outcome, bool(signs.against)) if deciding else Outcome.WARN
    at = figures.at(stream.best.message_bytes, stream.best.sized)
    of_rails = f" (one of {rails} rails)" if rails else ""
    return Verdict(
        outcome, f"{stream.sentence}{of_rails}{_explain_outcome(outcome, signs)}",
        Figure(
            stream.fraction, "share",
            f"{OF_CEILING}, per direction {at} ({patterns.sentence(stream.series.pattern)})",
        ),
        stream.subject.threshold(stream.enough),
        (
            *_evidence(stream),
            *(likely.evidence for likely in likely_causes if likely.evidence),
            *((causes.describe_full_port(stream),) if doubt is _ONE_PORT else ()),
            *(_with_mtu(stream, *item) for item in outcomes_by_mtu.items()),
            *signs.against,
            *causes.find_log_lines(stream, "broken", "clock"),
        ),
        *_cause_and_remedy(outcome, cause, signs),
        about=stream.about,
    )  # fmt: skip


def _find_doubt(
    stream: Stream, plain: Outcome, outcomes_by_mtu: dict[int, Outcome]
) -> causes.Cause | None:
    """Return why a figure alone does not describe the network; None if it does."""
    if stream.series.of_pairs and stream.subject.shared_nodes:
        return _UNPLACED
    matrices = (curve.evidence.rank_pairs for curve in stream.subject.curves)
    if plain is not Outcome.PASS and any(matrix and matrix.at_once for matrix in matrices):
        return _AT_ONCE
    if stream.series.is_latency:
        return None if plain is Outcome.PASS else _PING_PONG
    if outcomes_by_mtu:
        return _MIXED_MTU if stream.subject.technology in OVER_TCP else _RDMA_MTU
    if count_unstated_ports(stream.subject, stream.series):
        return _TWO_PORTS
    if plain is not Outcome.FAIL:
        return None
    if stream.subject.name == OWN_CHOICE:
        return _STRIPED
    if causes.find_log_lines(stream, "broken"):
        return _BROKE
    if causes.find_log_lines(stream, "clock"):
        return _CLOCK
    if is_sized_by_call(stream.series) and not stream.best.sized:
        return _UNSIZED
    if _rises(stream):
        return _RISING
    unsteady = find_unsteady(stream)
    if stream.cannot_fill and not (unsteady and unsteady.full):
        shares = [8 * stream.best.bandwidth.value / flow_bit_s for flow_bit_s in FLOW_BIT_S]
        flow = any(FLOW_NEAR[0] <= share <= FLOW_NEAR[1] for share in shares)
        return _ONE_FLOW if flow else _ONE_CONNECTION
    if causes.describe_full_port(stream):
        return _ONE_PORT
    return _MEMORY if cache_shape.may_be_memory(stream.subject, stream.series) else None


def _outcomes_by_mtu(stream: Stream) -> dict[int, Outcome]:
    """Return the outcome with each MTU that may be in force; empty if all are the same."""
    if stream.series.is_latency:
        return {}
    outcomes_by_mtu = {}
    for mtu, limit in stream.ceiling.by_mtu.items():
        ceiling = replace(stream.ceiling, payload_bytes_per_s=limit)
        with_mtu = replace(stream, ceiling=ceiling)
        if not with_mtu.is_above:  # else another MTU is in force
            outcomes_by_mtu[mtu] = with_mtu.plain_outcome
    return outcomes_by_mtu if len(set(outcomes_by_mtu.values())) > 1 else {}


def _with_mtu(stream: Stream, mtu: int, outcome: Outcome) -> str:
    share = figures.percent(stream.best.bandwidth.value / stream.ceiling.by_mtu[mtu])
    kind = "an MTU" if stream.subject.technology in OVER_TCP else "an RDMA MTU"
    return f"with {kind} of {mtu} it is {share} of the ceiling: {outcome.value}"


def _causes(stream: Stream) -> tuple[causes.Cause, ...]:
    if stream.is_above:
        return (_ABOVE,)
    if stream.fraction >= stream.limit(stream.enough):
        return (causes.UNSTEADY,)
    if stream.subject.name == OWN_CHOICE:
        return (_STRIPED,)
    return causes.causes(stream)


def _evidence(stream: Stream) -> Iterator[str]:
    """Yield interval and launches; also the ceiling's step if the stream has its own ceiling."""
    shares = [figures.percent(share) for share in stream.launches]
    yield (
        f"interval {figures.rate(stream.best.bandwidth.low)} to"
        f" {figures.rate(stream.best.bandwidth.high)}; launches: {sentences.listed(shares)} of the"
        " ceiling"
    )
    if any(case.memory for case in stream.measurements):
        from fabricgauge.judge.staging import evidence

        yield from evidence(stream)
    if stream.ceiling is not stream.subject.ceiling:
        step = stream.ceiling.steps[-1]
        origin = " (acknowledgements per segment counted in the cases)"
        yield (
            f"ceiling {step.label}: {figures.rate(step.value)} = {step.expression}"
            f"{origin if stream.directions == 2 else ''}"
        )


def _explain_outcome(outcome: Outcome, signs: host.Signs) -> str:
    """Return how a host or other traffic changes the outcome; see ``host.excuse_outcome``."""
    if not signs.against:
        return ""
    limits = "a host is the limit" if signs.limiting else "it is unknown if a host is the limit"
    rule = "host-limited"
    if signs.foreign:
        limits, rule = "other traffic takes the rest", "foreign-traffic"
    effect = "is undecided" if outcome is Outcome.INCONCLUSIVE else "is only a warning"
    return f"; {limits}, so this {effect} (see {rule})"


def _cause_and_remedy(
    outcome: Outcome, cause: causes.Cause | None, signs: host.Signs
) -> tuple[str, str]:
    if outcome is Outcome.PASS or cause is None:
        return "", ""
    if signs.foreign:
        return foreign.CAUSE, foreign.REMEDY
    if cause.in_host:
        return cause.cause, cause.remedy
    if signs.limiting:
        return "a host, not the network, is the limit", host.REMEDY
    undecided = outcome is Outcome.INCONCLUSIVE and cause not in _SINGLE
    return cause.cause, _AGAIN if undecided else cause.remedy
