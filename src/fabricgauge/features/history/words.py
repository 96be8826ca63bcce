"""Name series, places, times and shifts in reports."""

from collections.abc import Sequence
from datetime import datetime, timezone

from fabricgauge.features.history.changes import Shift
from fabricgauge.features.history.drift import Alarm
from fabricgauge.features.history.values import History, SeriesKey
from fabricgauge.model.words.figures import duration, percent, rate, signed, size
from fabricgauge.model.words.networks import named
from fabricgauge.model.words.sentences import direction


def name_place(key: SeriesKey, place: Sequence[str]) -> str:
    """Return ``c1 → c2``, ``c1 ↔ c2``, ``c3 sending``, ``all nodes``."""
    if not place:
        return f"all nodes{_ROLES.get(key.part, '')}"
    if len(place) == 2:
        return direction(place[0], place[1], bidirectional=key.part == "pair")
    return f"{place[0]}{_ROLES.get(key.part, '')}"


_ROLES = {"sender": " sending", "receiver": " receiving"}


def name_series(key: SeriesKey) -> str:
    """Return ``net1 bandwidth at 1 MiB, mpich``."""
    pattern = f"{key.pattern}:{key.variant}" if key.variant else key.pattern
    tools = [word for word in (key.tool, key.mpi) if word]
    place = [f"in {key.place}"] if key.place else []
    what = f"{named(key.network)} {pattern} at {size(key.message_bytes)}"
    return ", ".join([what, *tools, *place])


def figure(key: SeriesKey, value: float) -> str:
    return duration(value) if key.is_latency else rate(value)


def level_figure(alarm: Alarm, value: float) -> str:
    """Return an alarm's level: a figure, or a share of the level of all nodes."""
    return percent(value) if alarm.relative else figure(alarm.key, value)


def shift_words(shift: Shift) -> str:
    """Return ``−4.8 % (−5.3 to −4.1 %)``."""
    low, high = signed(shift.low), signed(shift.high)
    return f"{signed(shift.share)} ({low.removesuffix(' %')} to {high})"


def day(started_s: float) -> str:
    """Return a time as ``2026-11-23 15:21``, in UTC; ``–`` if it is unknown."""
    return f"{datetime.fromtimestamp(started_s, timezone.utc):%Y-%m-%d %H:%M}" if started_s else "–"


def describe_days(history: History) -> str:
    """Return ``2026-11-01 to 2026-11-23``, of the runs whose time is known."""
    days = [day(run.started_s)[:10] for run in history.runs if run.started_s]
    return f"{days[0]} to {days[-1]}" if days else ""
