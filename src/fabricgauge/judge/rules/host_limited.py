"""Is a low figure the fault of a host and not of the network?"""

from fabricgauge.judge import host
from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.streams import STREAMS, Stream, decides, enough, plain_outcome, streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.words import patterns

ID = "host-limited"
TITLE = "Low figures are not the fault of a host"

_REMEDY = (
    "end other work on the nodes, spread interrupts over the processors (RSS, RPS), raise the"
    " processors' clock governor, or use an MPI transport with less work per byte (RDMA, larger"
    " MTU); then measure again"
)

_SEE = (
    "measure on nodes that show /proc/PID/schedstat (sysctl kernel.task_delayacct=1, no sandboxed"
    " container), or end all other work on them first"
)


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(verdict for subject in context.subjects for verdict in _judge(context, subject))


def _judge(context: Context, subject: Subject) -> tuple[Verdict, ...]:
    if isinstance(subject.ceiling, Skipped):
        return (verdict_on(ID, Outcome.SKIPPED, subject.about, subject.ceiling.reason),)
    if subject.imported:
        reason = "not known: the logs hold no word about the hosts' processors"
        return (verdict_on(ID, Outcome.SKIPPED, subject.about, reason),)
    found = streams(context, subject, *STREAMS, "get_bandwidth")
    low = [one for one in found if one.fraction < context.limit(enough(one))]
    if not low:
        why = "no stream is below its ceiling" if found else "no stream was measured"
        return (verdict_on(ID, Outcome.SKIPPED, subject.about, f"{why}: nothing to explain"),)
    return tuple(_verdict(context, stream, found) for stream in low)


def _verdict(context: Context, stream: Stream, found: tuple[Stream, ...]) -> Verdict:
    signs = host.signs(context, stream)
    limited, unseen = bool(signs.limiting), bool(signs.unseen)
    figure = f"of the ceiling ({patterns.words_of(stream.series.pattern).sentence})"
    return verdict_on(
        rule=ID,
        outcome=_outcome(context, stream, found) if limited or unseen else Outcome.PASS,
        about=stream.about,
        summary=f"{stream.sentence}: " + _sentence(signs),
        figure=Figure(stream.fraction, "share", figure),
        threshold=context.thresholds.threshold(enough(stream), "at least"),
        evidence=(*signs.limiting, *filter(None, (signs.unseen,)), *signs.others),
        cause="the processors can't move more bytes, whatever the link could" if limited else "",
        remedy=_REMEDY if limited else _SEE if unseen else "",
    )


def _sentence(signs: host.Signs) -> str:
    if signs.limiting:
        return "a host sets the pace"
    return signs.unseen or "nothing shows that a host sets the pace"


def _outcome(context: Context, stream: Stream, found: tuple[Stream, ...]) -> Outcome:
    """That of the figure itself, as `fraction` has it; else it is a remark."""
    plain = plain_outcome(context, stream) if decides(context, stream, found) else Outcome.WARN
    return Outcome.WARN if plain is not Outcome.FAIL else host.excused(plain, by_host=True)
