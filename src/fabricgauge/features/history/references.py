"""Choose the reference of each series: the newest baseline that fits it, or its first runs."""

from pathlib import Path

from fabricgauge.features.history.baseline import Baseline, read_baselines
from fabricgauge.features.history.drift import ChooseReference, Reference
from fabricgauge.features.history.reading import parse_time
from fabricgauge.features.history.values import History, SeriesKey


def choose_baselines(history: History) -> ChooseReference:
    """Return a function that finds the reference of a series in the history's baselines.

    Raises:
        StoreError: a baseline cannot be read.
    """
    baselines = [pinned for _, pinned in read_baselines(Path(history.root))]
    positions = {run.name: position for position, run in enumerate(history.runs)}
    references = [_reference(history, positions, pinned) for pinned in baselines]

    def choose(key: SeriesKey, place: tuple[str, ...]) -> Reference:
        fitting = (
            reference
            for pinned, reference in zip(baselines, references, strict=True)
            if pinned.fits(key, place)
        )
        return next(fitting, Reference())

    return choose


def _reference(history: History, positions: dict[str, int], pinned: Baseline) -> Reference:
    runs = frozenset(positions[name] for name in pinned.runs if name in positions)
    if pinned.runs:
        return Reference(pinned=runs or frozenset({len(history.runs)}))
    begun_s = parse_time(pinned.set_utc)
    later = (place for place, run in enumerate(history.runs) if run.started_s >= begun_s)
    return Reference(from_run=next(later, len(history.runs)))
