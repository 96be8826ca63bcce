"""Put a victim and bulk in their classes into a document."""

from collections.abc import Iterator

from fabricgauge.features.classes.judging import (
    PHASES,
    MeasuredClasses,
    Phase,
    describe_phase,
    judge,
)
from fabricgauge.model.words.figures import duration, memory, percent, rate, times
from fabricgauge.model.words.networks import named
from fabricgauge.report import document as doc
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned

HOW = (
    "In each round a ping-pong of small messages, the victim, is measured without load, then beside"
    " a stream from the first node to the second, bulk: once in the victim's class and once in"
    " bulk's, in turns first and last. Victim and bulk are launches of their own. The counters of"
    " bulk's interfaces prove the path. PASS: in its class the victim takes at most half of the"
    " time that it takes in bulk's, in every round, and less than five times idle and a frame of"
    " 9000 B. WARN: it takes more, or both share a class and its latency grows five times."
    " INCONCLUSIVE: bulk did not fill half of the link, ended before the victim or held up nobody"
    " (twice the idle latency), rounds disagree, or the victim's processes waited for a processor."
    " A class that a launch asks for is what its packets carry; only a growing latency"
    " shows which queues the network has for it."
)

_LAB = "virtual nodes on one machine: the figures describe its queues, not a real network"


def _document(measured: MeasuredClasses, setting: Setting) -> doc.Report:
    outcome, reason = judge(measured)
    origin, target = measured.nodes
    about = (
        f"classes on {named(measured.network)}, {origin} → {target}: latency of"
        f" {measured.victim_bytes} B in {measured.victim}, bulk of {memory(measured.bulk_bytes)} in"
        f" {measured.bulk}"
    )
    place = (doc.Lines((setting.run_directory,)),) if setting.run_directory else ()
    return doc.Report(
        outcome.value, TONES[outcome], reason,
        "fabricgauge check --victim-class --bulk-class", f"fabricgauge · {about}",
        tuple(_sections(measured)), (doc.Paragraph(about, on=doc.TEXT),), places=place,
    )  # fmt: skip


def _sections(measured: MeasuredClasses) -> Iterator[doc.Section]:
    phases = [phase for phase in PHASES if measured.select(phase)]
    columns = doc.heads("=victim", ">median", ">p99", ">against idle", ">bulk carried")
    table = doc.Table(columns, tuple(_row(measured, phase) for phase in phases))
    notes = (doc.Paragraph(_LAB, kind="soft"),) if measured.virtual else ()
    yield doc.Section("latency", "Latency of the victim, half round trip", (table, *notes))
    yield doc.Section("failures", "Not measured", (doc.Items(measured.failures),))
    facts = doc.FactList((
        ("victim", f"{measured.victim} ({measured.victim_setting})"),
        ("bulk", f"{measured.bulk} ({measured.bulk_setting})"),
        ("ceiling", rate(measured.ceiling_bytes_per_s) if measured.ceiling_bytes_per_s
         else "unknown: the network's rate is"),
        ("path", f"{measured.path}: {measured.path_reason}"),
    ))  # fmt: skip
    yield doc.Section("settings", "How the classes were asked for", (facts,))
    heads = doc.heads(">round", "=victim", ">median", ">p99", ">samples", ">bulk carried",
                      "waited for a processor")  # fmt: skip
    rows = tuple(
        (
            str(time.round),
            describe_phase(measured, time.phase),
            duration(time.median_s),
            duration(time.p99_s),
            f"{time.samples:,}",
            "" if time.phase == "idle" else rate(time.bulk_bytes_per_s),
            "yes" if time.waiting else "",
        )
        for time in measured.times
    )
    yield doc.Section("rounds", "Rounds", (doc.Table(heads, rows),))
    yield doc.Section("how", "How to read this", (doc.Paragraph(HOW, kind="soft"),))


def _row(measured: MeasuredClasses, phase: Phase) -> tuple[str, ...]:
    figures = measured.select(phase)
    median_s, idle_s = measured.median_of(phase), measured.median_of("idle")
    p99_s = sorted(time.p99_s for time in figures)[len(figures) // 2]
    carried = sorted(time.bulk_bytes_per_s for time in figures)[len(figures) // 2]
    ceiling = measured.ceiling_bytes_per_s
    share = f" ({percent(carried / ceiling)} of the ceiling)" if ceiling else ""
    against = f"{times(median_s / idle_s)} times" if idle_s and phase != "idle" else ""
    return (
        describe_phase(measured, phase), duration(median_s), duration(p99_s), against,
        "" if phase == "idle" else f"{rate(carried)}{share}",
    )  # fmt: skip


def _data(measured: MeasuredClasses, _setting: Setting) -> object:
    outcome, reason = judge(measured)
    return versioned("classes-report", "1.0", overall=outcome, headline=reason, classes=measured)


def _records(measured: MeasuredClasses, _setting: Setting) -> Records:
    columns = ("round", "phase", "median_s", "p99_s", "samples", "waiting", "bulk_bytes_per_s",
               "bulk_cases")  # fmt: skip
    rows = (
        (time.round, time.phase, time.median_s, time.p99_s, time.samples, int(time.waiting),
         time.bulk_bytes_per_s, time.bulk_cases)
        for time in measured.times
    )  # fmt: skip
    return Records(columns, rows)


KIND = Kind("classes", _document, _data, _records)
