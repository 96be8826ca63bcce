"""Check whether a host, and not the network, makes a figure low."""

from fabricgauge.judge import host
from fabricgauge.judge.interface import Subject, judge_networks
from fabricgauge.judge.streams import STREAMS, Stream, streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pattern import words_of
from fabricgauge.model.verdict import OF_CEILING, Figure, Outcome, Verdict

ID = "host-limited"

_SHOW_WAITS = (
    "measure on nodes with a readable /proc/PID/schedstat (sysctl kernel.task_delayacct=1, no"
    " sandboxed container), or end all other work on them first"
)


@judge_networks(ID)
def judge(subject: Subject) -> list[Verdict] | Skipped:
    if isinstance(subject.ceiling, Skipped):
        return subject.ceiling
    if subject.imported:
        return Skipped("unknown: the logs have no figures of the hosts' processors")
    all_streams = streams(subject, *STREAMS, "get_bandwidth")
    if low := [stream for stream in all_streams if stream.fraction < stream.limit(stream.enough)]:
        return [_explain_figure(stream, all_streams) for stream in low]
    if any(stream.series.of_pairs for stream in all_streams):
        return Skipped(
            "the median of all pairs is not below its ceiling; outliers and pairs judge"
            " single pairs"
        )
    why = "no stream is below its ceiling" if all_streams else "no stream was measured"
    return Skipped(f"{why}: nothing to explain")


def _explain_figure(stream: Stream, all_streams: tuple[Stream, ...]) -> Verdict:
    signs = host.signs(stream)
    limited, outcome = bool(signs.limiting), Outcome.PASS
    if signs.host_signs:  # INCONCLUSIVE only if `fraction` fails the figure; else a warning
        fails = stream.plain_outcome is Outcome.FAIL and stream.decides(all_streams)
        outcome = host.excuse_outcome(Outcome.FAIL, by_host=True) if fails else Outcome.WARN
    pattern = words_of(stream.series.pattern).sentence
    pace = "a host is the limit" if limited else signs.unseen
    return Verdict(
        outcome,
        f"{stream.sentence}: {pace or 'nothing shows that a host is the limit'}",
        Figure(stream.fraction, "share", f"{OF_CEILING} ({pattern})"),
        stream.subject.threshold(stream.enough),
        (*signs.host_signs, *signs.others),
        "the processors cannot move more bytes, even if the link could" if limited else "",
        host.REMEDY if limited else _SHOW_WAITS if signs.unseen else "",
        stream.about,
    )
