"""How much of the ceiling does a sustained stream reach?"""

import msgspec

from fabricgauge.judge import causes, host
from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.streams import (
    Stream,
    cannot_fill,
    decides,
    enough,
    plain_outcome,
    streams,
    unlike,
)
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.stats.series import Series
from fabricgauge.words import figures, patterns, sentences

ID = "fraction"
TITLE = "A sustained stream reaches the ceiling"

_AGAIN = "measure again with more launches and no other load: fabricgauge check --profile full"


_PING_PONG = causes.Cause(
    "a ping-pong has but one message under way and need not fill the link",
    "measure a stream: osu_bw, IMB-MPI1 Uniband, ib_write_bw, iperf3, or fabricgauge check",
    "",
)


_ONE_CONNECTION = causes.Cause(
    "one TCP connection is served by one processor and need not fill a link this fast",
    "measure several at once: iperf3 -P 8, or fabricgauge check --tool iperf3 --parallel 8",
    "",
)
_ABOVE = causes.Cause(
    "more than the network can carry: see above-ceiling",
    "look at above-ceiling, placement and path before anything is made of this figure",
    "",
)
_RDMA_MTU = causes.Cause(
    "nobody said the RDMA MTU, and with another one the verdict is another",
    'state it, e.g. --network "100GbE roce mtu=1024"; ibv_devinfo prints it as active_mtu',
    "",
)
_SINGLE = (_PING_PONG, _ONE_CONNECTION, _RDMA_MTU)
#: Nothing that a host could be the reason of.
_NO_FAULT = (*_SINGLE, _ABOVE, causes.UNSTEADY)

_IMPORT_STREAM = (
    "import a one-way stream of the same network as well: osu_bw, IMB-MPI1 Uniband, ib_write_bw,"
    " iperf3"
)


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(verdict for subject in context.subjects for verdict in _judge(context, subject))


def _judge(context: Context, subject: Subject) -> tuple[Verdict, ...]:
    if isinstance(subject.ceiling, Skipped):
        return (verdict_on(ID, Outcome.SKIPPED, subject.about, subject.ceiling.reason),)
    other = tuple(one for one in subject.series if unlike(subject, one))
    remarks = (_of_other_headers(subject, other),) if other else ()
    one_way = streams(context, subject, "bandwidth", "put_bandwidth", "get_bandwidth")
    one_way = one_way or streams(context, subject, "latency")
    if not one_way:
        return remarks or (_nothing(context, subject),)
    both = streams(context, subject, "bidirectional_bandwidth")
    return (*(_verdict(context, stream, one_way) for stream in one_way + both), *remarks)


def _nothing(context: Context, subject: Subject) -> Verdict:
    size = figures.size(int(context.limit("fraction.from")))
    reason = f"no one-way stream of messages of at least {size} was measured"
    remedy = _IMPORT_STREAM if subject.imported else _AGAIN
    return verdict_on(ID, Outcome.INCONCLUSIVE, subject.about, reason, remedy=remedy)


def _of_other_headers(subject: Subject, other: tuple[Series, ...]) -> Verdict:
    return verdict_on(
        ID, Outcome.SKIPPED, subject.about,
        f"{sentences.counted(len(other), 'table')} of RDMA cannot be held against a"
        f" ceiling for TCP: {sentences.listed([one.name for one in other], 3)}",
        remedy='state what RDMA used it as, e.g. --network "100GbE roce", "10GbE iwarp" or "edr"',
    )  # fmt: skip


def _verdict(context: Context, stream: Stream, all_streams: tuple[Stream, ...]) -> Verdict:
    outcome = plain_outcome(context, stream)
    found = () if outcome is Outcome.PASS else _causes(context, stream)
    by_mtu = _by_mtu(context, stream)
    evidence = (
        _launches(stream),
        *_ceiling(stream),
        *(cause.evidence for cause in found if cause.evidence),
        *(_with_mtu(stream, *one) for one in by_mtu.items()),
    )
    signs: tuple[str, ...] = ()
    unseen = ""
    if stream.series.is_latency and outcome is not Outcome.PASS:
        outcome, found = Outcome.INCONCLUSIVE, (_PING_PONG,)
    if by_mtu:
        outcome, found = Outcome.INCONCLUSIVE, (_RDMA_MTU,)
    if outcome is Outcome.FAIL and cannot_fill(stream):
        excused = not decides(context, stream, all_streams)
        outcome = Outcome.WARN if excused else Outcome.INCONCLUSIVE
        found = (_ONE_CONNECTION,)
    if found and found[0] not in _NO_FAULT:
        told = host.signs(context, stream)
        signs, unseen = told.limiting, told.unseen
    if outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        outcome = _softened(outcome, context, stream, all_streams, bool(signs or unseen))
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=stream.about,
        summary=stream.sentence + _of_hosts(outcome, signs, unseen),
        figure=Figure(
            stream.fraction, "share",
            "of the ceiling, per direction"
            f" {figures.at(stream.best.message_bytes, stream.best.sized)}"
            f" ({patterns.sentence(stream.series.pattern)})",
        ),
        threshold=context.thresholds.threshold(enough(stream), "at least"),
        evidence=(*evidence, *signs, *filter(None, (unseen,))),
        cause=_cause(outcome, found[0].cause if found else "", signs),
        remedy=_remedy(outcome, found[0].remedy if found else "", signs),
    )  # fmt: skip


def _by_mtu(context: Context, stream: Stream) -> dict[int, Outcome]:
    """What the figure says with each MTU that may be in force; empty where it says the same.

    One that the figure is too fast for is not in force.
    """
    most = 1.0 + context.limit("above-ceiling.tolerance")
    if stream.series.is_latency or stream.ceiling is not stream.subject.ceiling:
        return {}
    found = {}
    for mtu, limit in stream.ceiling.by_mtu.items():
        ceiling = msgspec.structs.replace(stream.ceiling, payload_bytes_per_s=limit)
        one = msgspec.structs.replace(stream, ceiling=ceiling)
        if one.fraction <= most:
            found[mtu] = plain_outcome(context, one)
    return found if len(set(found.values())) > 1 else {}


def _with_mtu(stream: Stream, mtu: int, outcome: Outcome) -> str:
    share = figures.percent(stream.best.bandwidth.value / stream.ceiling.by_mtu[mtu])
    return f"with an RDMA MTU of {mtu} it is {share} of the ceiling: {outcome.value}"


def _softened(
    outcome: Outcome,
    context: Context,
    stream: Stream,
    all_streams: tuple[Stream, ...],
    excused: bool,
) -> Outcome:
    """A low figure is a remark where others decide; where it decides, a host may excuse it."""
    if not decides(context, stream, all_streams):
        return Outcome.WARN
    return host.excused(outcome, excused)


def _causes(context: Context, stream: Stream) -> tuple[causes.Cause, ...]:
    if stream.fraction > 1.0 + context.limit("above-ceiling.tolerance"):
        return (_ABOVE,)
    if stream.fraction >= context.limit(enough(stream)):
        return (causes.UNSTEADY,)
    return causes.causes(context, stream)


def _ceiling(stream: Stream) -> tuple[str, ...]:
    """The sum, where the stream has a ceiling of its own."""
    if stream.ceiling is stream.subject.ceiling:
        return ()
    step = stream.ceiling.steps[-1]
    told = f"ceiling {step.label}: {figures.rate(step.value)} = {step.expression}"
    counted = " (acknowledgements per segment counted in the cases)"
    return (f"{told}{counted if stream.directions == 2 else ''}",)


def _launches(stream: Stream) -> str:
    shares = [figures.percent(share) for share in stream.launches]
    return (
        f"interval {figures.rate(stream.best.bandwidth.low)} to"
        f" {figures.rate(stream.best.bandwidth.high)}; launches: {sentences.listed(shares)} of the"
        " ceiling"
    )


def _of_hosts(outcome: Outcome, signs: tuple[str, ...], unseen: str) -> str:
    """What a host's limit makes of the figure; see the rule in ``host.excused``."""
    what = "a host limits it" if signs else "whether a host limits it could not be seen"
    if not signs and not unseen:
        return ""
    leaves = outcome is Outcome.INCONCLUSIVE
    return f"; {what}, so it {'decides nothing' if leaves else 'is a remark'} (see host-limited)"


def _cause(outcome: Outcome, likely: str, signs: tuple[str, ...]) -> str:
    if outcome is Outcome.PASS:
        return ""
    return "a host, not the network, sets the pace" if signs else likely


def _remedy(outcome: Outcome, likely: str, signs: tuple[str, ...]) -> str:
    if outcome is Outcome.PASS:
        return ""
    if signs:
        return "free or add processors (see host-limited), then measure again"
    undecided = outcome is Outcome.INCONCLUSIVE and likely not in {one.remedy for one in _SINGLE}
    return _AGAIN if undecided else likely
