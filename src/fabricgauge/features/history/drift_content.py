"""Put alarms into a document, with the rate of false ones and what changed then."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.features.history import words
from fabricgauge.features.history.changes import name_what_changed
from fabricgauge.features.history.drift import (
    FEWEST_REFERENCE,
    REFERENCE_RUNS,
    RUNS_OF_A_YEAR,
    WINDOWS,
    Alarm,
    Coverage,
    Watched,
)
from fabricgauge.features.history.series_content import runs_around
from fabricgauge.features.history.values import Group, History, SeriesKey
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import signed
from fabricgauge.model.words.sentences import counted, folded, listed
from fabricgauge.report import document as doc
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned

_ALARM_LIMIT = doc.RowLimit("{count} more alarms: see --format json.", {doc.SCREEN: 40})
_CAUSE_LIMIT = doc.RowLimit("{count} more: see --format json.", {doc.SCREEN: 12})


class DriftView(msgspec.Struct, frozen=True, eq=False):
    """Alarms with what changed when each began; ``false_alarms`` is the stated rate."""

    history: History
    watched: Watched
    false_alarms: float
    causes: tuple[tuple[str, ...], ...]


def explain_alarms(history: History, alarms: Sequence[Alarm]) -> tuple[tuple[str, ...], ...]:
    """Return for each alarm the settings that differ before it and since."""
    by_key = {group.key: group for group in history.groups}
    return tuple(_explain(history, by_key, alarm) for alarm in alarms)


def _explain(history: History, by_key: dict[SeriesKey, Group], alarm: Alarm) -> tuple[str, ...]:
    keys = [alarm.key] if alarm.key.part != "all" else [
        msgspec.structs.replace(alarm.key, part=part) for part in ("sender", "receiver", "node")
    ]  # fmt: skip
    group = next((by_key[key] for key in keys if key in by_key), None)
    if group is None:
        return ()
    runs = list(group.runs)
    if alarm.place in group.places:
        measured = np.isfinite(group.values[:, group.places.index(alarm.place)])
        runs = [run for run, known in zip(group.runs, measured, strict=True) if known]
    start = runs.index(alarm.since)
    return name_what_changed(
        history, runs_around(runs, start, -1), runs_around(runs, start, 1), alarm.place
    )


def _drift_document(view: DriftView, _setting: Setting) -> doc.Report:
    watched, covered = view.watched, view.watched.coverage
    word, tone, headline = _drift_answer(view)
    alarms = counted(math.ceil(view.false_alarms), "false alarm")
    stated = (
        f"{counted(covered.series, 'series', 'series')} watched, {covered.short:,} of them with too"
        f" few runs. A sound network gives at most {alarms} in {RUNS_OF_A_YEAR} runs: each of"
        f" {covered.series:,} series and of {len(WINDOWS)} windows may alarm with a chance of"
        f" {watched.allowed:.1e}. If noise lasts from run to run, runs further apart are compared."
    )
    rows = tuple(
        (*_alarm_row(view, alarm), listed(causes, 3) or "no recorded setting")
        for alarm, causes in zip(watched.alarms, view.causes, strict=True)
    )
    more = doc.TRACKER | doc.PAGE
    columns = (
        *doc.heads("place", "series", ">reference", ">now", ">change (95 %)", "since", ">runs"),
        *doc.heads(">chance", "changed then", on=more),
    )
    changed = tuple(
        f"{words.name_place(alarm.key, alarm.place)} changed then: {listed(causes, 3)}"
        for alarm, causes in zip(watched.alarms, view.causes, strict=True)
        if causes
    )
    items = doc.Items(tuple(dict.fromkeys(changed)), limit=_CAUSE_LIMIT, on=doc.SCREEN)
    sections = (
        doc.Section("alarms", "Alarms", (doc.Table(columns, rows, limit=_ALARM_LIMIT), items)),
        doc.Section("rate", "How often a sound network alarms", (doc.Paragraph(stated),)),
    )
    return doc.Report(
        word, tone, headline, "fabricgauge history drift", "fabricgauge history drift", sections
    )


def _drift_answer(view: DriftView) -> tuple[str, doc.Tone, str]:
    watched = view.watched
    outcome = watched.outcome
    covered = state_coverage(watched.coverage)
    if outcome is Outcome.PASS:
        return outcome.value, TONES[outcome], f"No series is worse than its reference: {covered}."
    if outcome is Outcome.INCONCLUSIVE:
        text = (
            f"{covered}: a reference is a baseline of {FEWEST_REFERENCE} runs and more, else the"
            f" first {REFERENCE_RUNS}; {WINDOWS[0]} runs and more have to follow, further apart if"
            " noise lasts from run to run."
        )
        if watched.silent:
            (key, _), *others = watched.silent
            more = f" and {counted(len(others), 'series', 'series')} more" if others else ""
            silent = folded(dict.fromkeys(node for _, place in watched.silent for node in place))
            figures = f"no figures of {words.name_series(key)}{more}"
            text = f"{silent or 'all nodes'}: {figures} in the latest runs; {covered}"
        return outcome.value, TONES[outcome], text
    places = folded(dict.fromkeys(node for alarm in watched.alarms for node in alarm.place))
    worst = max(watched.alarms, key=lambda alarm: abs(alarm.shift.share))
    subject = places or "all nodes"
    text = (
        f"{subject}: {counted(len(watched.alarms), 'series', 'series')} drifted, most"
        f" {words.name_place(worst.key, worst.place)} by {signed(worst.shift.share)}"
        f" ({words.name_series(worst.key)}); {covered}"
    )
    return outcome.value, TONES[outcome], text


def state_coverage(coverage: Coverage) -> str:
    """Return how many series were compared, and why the others were not."""
    compared = coverage.series - coverage.short
    sentence = f"{compared:,} of {counted(coverage.series, 'series', 'series')} compared"
    if coverage.short:
        sentence += f", {coverage.short:,} with too few runs"
    if coverage.silent:
        sentence += f", {coverage.silent:,} without figures in the latest runs of their nodes"
    return sentence


def _alarm_row(view: DriftView, alarm: Alarm) -> tuple[str, ...]:
    since = view.history.runs[alarm.since]
    return (
        words.name_place(alarm.key, alarm.place), words.name_series(alarm.key),
        words.level_figure(alarm, alarm.reference_level), words.level_figure(alarm, alarm.level),
        words.shift_words(alarm.shift), words.day(since.started_s), str(alarm.window),
        f"{alarm.chance:.1e}",
    )  # fmt: skip


def _drift_data(view: DriftView, _setting: Setting) -> object:
    watched = view.watched
    return versioned(
        "history-drift", "1.0", outcome=watched.outcome.value, series=watched.coverage.series,
        short=watched.coverage.short,
        silent=[{"key": key, "place": place} for key, place in watched.silent],
        false_alarms=view.false_alarms, allowed=watched.allowed,
        alarms=[
            {
                "key": alarm.key, "place": alarm.place, "shift": alarm.shift._asdict(),
                "level": alarm.level, "reference_level": alarm.reference_level,
                "since": view.history.runs[alarm.since].name, "window": alarm.window,
                "reference": alarm.reference, "chance": alarm.chance, "changed": causes,
            }
            for alarm, causes in zip(watched.alarms, view.causes, strict=True)
        ],
    )  # fmt: skip


def _drift_records(view: DriftView, _setting: Setting) -> Records:
    columns = ("network", "part", "place", "pattern", "message_bytes", "reference", "level",
               "shift", "shift_low", "shift_high", "since", "window", "chance")  # fmt: skip
    rows = (
        (
            alarm.key.network, alarm.key.part, ">".join(alarm.place), alarm.key.pattern,
            alarm.key.message_bytes, alarm.reference_level, alarm.level, alarm.shift.share,
            alarm.shift.low, alarm.shift.high, view.history.runs[alarm.since].name, alarm.window,
            alarm.chance,
        )
        for alarm in view.watched.alarms
    )  # fmt: skip
    return Records(columns, rows)


KIND = Kind("history-drift", _drift_document, _drift_data, _drift_records)
