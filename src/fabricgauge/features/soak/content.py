"""Put a soak into a document: what stood still, each dip, and the times of each direction."""

from collections.abc import Iterator
from operator import attrgetter

from fabricgauge.features.soak.answers import Asked, find_held_classes, judge_each
from fabricgauge.features.soak.events import Event, describe_event, drop_echoes, join_dips
from fabricgauge.features.soak.soaking import Soaked, describe_stuck, judge
from fabricgauge.features.soak.watching import Direction
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import duration, memory
from fabricgauge.model.words.networks import named
from fabricgauge.model.words.sentences import direction, folded
from fabricgauge.report import document as doc
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned
from fabricgauge.report.picture import Line, Mark, Picture, PlotCurve

_DIP_LIMIT = doc.RowLimit("{count} more dips: see dips.jsonl.", {doc.SCREEN: 24, doc.TRACKER: 60})
_WAY_LIMIT = doc.RowLimit("{count} more directions: see soak.json.", {doc.SCREEN: 24})
#: Curves of one plot: those of the directions with most dips.
_MOST_CURVES = 4

HOW = (
    ("load", "Each rank sends a message to the next rank at a steady pace, which acknowledges it,"
     " and 8 bytes in between."),
    ("slow", "A message took 1.3 times its usual time and 0.5 ms more, a round trip of 8 bytes 5"
     " times as long and 1 ms more."),
    ("host", "A process did not run for 80 % of the delay of a slow message."),
    ("dip", "Slow messages in a row, if those that hosts do not explain lost 5 ms together, two of"
     " them 12.5 ms, one alone 50 ms, or 5 ms if a port counted an error; or if five in less than a"
     " second all took 1.45 times as long as a slow one, hosts do not explain three, and the ends"
     " paused for less than half of it. Else they are dips of hosts, or short delays. Answers leave"
     " by the same cable as messages: round trips that are slow meanwhile belong to the dip."),
    ("unexplained", "A message that no dip has was delayed by 5 ms beyond all pauses."),
    ("FAIL", "Something stood still, one direction had three dips, a dip of 5 s or slow messages"
     " for a tenth of the time, or messages took twice as long as the network needs."),
    ("WARN", "Fewer dips, ten unexplained delays of one direction and one in 10 s, three and one in"
     " 100 s if TCP sent segments again at the time, three quarters of the network's rate, or a"
     " host that paused for 5 s."),
    ("INVALID", "The interfaces counted less than half of the messages' bytes."),
    ("INCONCLUSIVE", "Hosts paused for a tenth of the time. Only dips count then that are far from"
     " their pauses."),
)  # fmt: skip


HOW_ANSWERS = (
    "Each round asks every node for one echo and one connection to its neighbour over the loaded"
    " network, and for its fabric's tools; an empty program shows how busy the host is, the way to"
    " the node is that of the launcher. FAIL: two answers and a fifth of them, or all, were missing"
    " under load. WARN: one was missing, the median took more than 0.1 s and five times as long, or"
    " an echo in a traffic class waited like plain ones that the load slowed five times. What did"
    " not answer before the load is not judged; what did, and could not be asked any more, is"
    " missing. A round that was under way as the load ended does not count. INCONCLUSIVE: neither"
    " the network nor a fabric's tool gave an answer to judge, or an error ended the asking."
)


def _document(soaked: Soaked, setting: Setting) -> doc.Report:
    outcome, reason = judge(soaked)
    about = (
        f"soak of {named(soaked.network)}, {folded(soaked.nodes)}, {duration(soaked.soaked_s)} of"
        f" {duration(soaked.asked_s)}: {memory(soaked.message_bytes)} each"
        f" {duration(soaked.period_s)} in each direction"
    )
    place = (doc.Lines((setting.run_directory,)),) if setting.run_directory else ()
    return doc.Report(
        outcome.value, TONES[outcome], reason, "fabricgauge check --soak", f"fabricgauge · {about}",
        tuple(_sections(soaked)), (doc.Paragraph(about, on=doc.TEXT),), places=place,
    )  # fmt: skip


def _sections(soaked: Soaked) -> Iterator[doc.Section]:
    if soaked.answers:
        yield _answers(soaked)
    stuck = tuple(describe_stuck(item) for item in soaked.causes)
    yield doc.Section("stuck", "What stood still", (doc.Items(stuck),), urgent=True)
    dips = tuple(map(describe_event, join_dips(soaked.dips)))
    yield doc.Section("dips", "Dips, oldest first", (doc.Items(dips, limit=_DIP_LIMIT),))
    directions = drop_echoes(soaked.directions)
    columns = doc.heads("=direction", ">dips", ">dips of hosts", ">short delays", ">unexplained",
                        ">hosts paused")  # fmt: skip
    delays = doc.Table(columns, tuple(map(_list_delays, directions)), limit=_WAY_LIMIT)
    yield doc.Section("delays", "Delays", (delays,))
    columns = doc.heads("=direction", ">messages", ">median", ">worst", ">round trip",
                        ">worst trip")  # fmt: skip
    times = doc.Table(columns, tuple(map(_list_times, directions)), limit=_WAY_LIMIT)
    yield doc.Section("times", "Times of messages", (times, *_plots(soaked)))
    paused = tuple(describe_event(Event(dip)) for dip in soaked.dips if dip.source == "host")
    if paused:
        title = "Slow messages while a host's process did not run"
        fold = doc.Fold(f"{len(paused):,} dips", "oldest first", (doc.Items(paused),))
        yield doc.Section("host", title, (fold,), on=doc.PAGE)
    yield doc.Section("how", "How to read this", (doc.FactList(HOW),))


_ANSWER_LIMIT = doc.RowLimit("{count} more questions: see soak.json.", {doc.SCREEN: 24})
_RANK = (Outcome.FAIL, Outcome.WARN, Outcome.PASS, Outcome.SKIPPED)


def _answers(soaked: Soaked) -> doc.Section:
    held = {answer for answer, _ in find_held_classes(soaked.answers)}
    judged = [
        (Outcome.WARN if answer in held else outcome, answer)
        for answer, outcome in judge_each(soaked.answers).items()
    ]
    judged.sort(key=lambda pair: (_RANK.index(pair[0]), -pair[1].loaded.median_s))
    rows = tuple(
        (
            doc.Cell(outcome.value, tone=TONES[outcome]), answer.name,
            *_phase(answer.before), *_phase(answer.loaded),
        )
        for outcome, answer in judged
    )  # fmt: skip
    columns = doc.heads("outcome", "question", ">before: answered", ">median", ">worst",
                        ">under load: answered", ">median", ">worst")  # fmt: skip
    note = doc.Paragraph(HOW_ANSWERS, kind="soft")
    table = doc.Table(columns, rows, limit=_ANSWER_LIMIT)
    return doc.Section("answers", "Answers of the nodes under load", (table, note))


def _phase(asked: Asked) -> tuple[str, str, str]:
    came = f"{asked.asked - asked.missing} of {asked.asked}"
    if asked.asked == asked.missing:
        return came, "–", "–"
    return came, duration(asked.median_s), duration(asked.worst_s)


def _list_times(way: Direction) -> tuple[str, ...]:
    place, points = direction(way.origin, way.target), way.curve
    if not points:
        return place, "0", "–", "–", "–", "–"
    medians = sorted(point.median_s for point in points)
    pings = sorted(point.ping_median_s for point in points)
    return (
        place, f"{way.messages:,}",
        duration(medians[len(medians) // 2]), duration(max(p.worst_s for p in points)),
        duration(pings[len(pings) // 2]), duration(max(p.ping_worst_s for p in points)),
    )  # fmt: skip


def _list_delays(way: Direction) -> tuple[str, ...]:
    place, dips = direction(way.origin, way.target), f"{len(way.dips) + way.more_dips:,}"
    if not way.curve:
        return place, dips, "–", "–", "–", "–"
    return (
        place, dips, f"{way.host_dips:,}", f"{way.short_delays:,}", f"{way.unexplained:,}",
        duration(way.stopped_s),
    )  # fmt: skip


def _plots(soaked: Soaked) -> tuple[doc.Block, ...]:
    """Plot the worst message of each stretch of time, of the directions with most dips."""
    ways = sorted((way for way in soaked.directions if way.curve), key=lambda way: -len(way.dips))
    curves = tuple(_curve(soaked, way) for way in ways[:_MOST_CURVES])
    if not curves:
        return ()
    end_s = max(soaked.soaked_s, 1.0)
    ticks = {end_s * part / 4: duration(end_s * part / 4) for part in range(5)}
    way, medians = ways[0], sorted(point.median_s for point in ways[0].curve)
    usual_ms = 1e3 * medians[len(medians) // 2]
    usual = Line(f"usual {direction(way.origin, way.target)}", [0.0, end_s], [usual_ms] * 2)
    picture = Picture(
        "Worst message of each stretch of time", "ms", True, curves, (usual,),
        x_label="time since the beginning", ticks=ticks,
    )  # fmt: skip
    return (doc.side_by_side((picture,)),)


def _curve(soaked: Soaked, way: Direction) -> PlotCurve:
    marks = [
        Mark(
            point.at_s - soaked.began_s, 1e3 * max(point.worst_s, 1e-6), 1e3 * point.median_s,
            1e3 * max(point.worst_s, 1e-6), duration(point.at_s - soaked.began_s),
            duration(point.worst_s), f"median {duration(point.median_s)}", "", "",
        )
        for point in way.curve
    ]  # fmt: skip
    return PlotCurve(direction(way.origin, way.target), marks)


def _data(soaked: Soaked, _setting: Setting) -> object:
    outcome, reason = judge(soaked)
    return versioned("soak-report", "1.0", overall=outcome, headline=reason, soak=soaked)


def _records(soaked: Soaked, _setting: Setting) -> Records:
    columns = ("at_s", "origin", "target", "kind", "source", "length_s", "usual_s", "worst_s",
               "messages", "stopped_s")  # fmt: skip
    return Records(columns, map(attrgetter(*columns), soaked.dips))


KIND = Kind("soak", _document, _data, _records)
