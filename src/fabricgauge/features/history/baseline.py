"""Pin runs as the reference of a site: a small file for each baseline, beside the runs.

    history/baseline-TIME-ID.json    the runs, the scope, the reason (``Baseline``)

The newest baseline whose scope fits a series is its reference. Files are written whole and never
changed; the index does not hold them, so that it can be deleted.
"""

import re
import secrets
from pathlib import Path

import msgspec

from fabricgauge.features.history.drift import ChooseReference, Reference
from fabricgauge.features.history.reading import parse_time
from fabricgauge.features.history.values import History, SeriesKey
from fabricgauge.store.files.writing import make_folder, reporting
from fabricgauge.store.run_directory import now_utc, read_json, write_json

FOLDER = "history"
_NAME = re.compile(r"baseline-[0-9TZ]+-[0-9a-f]+\.json")
VERSION = "1.0"


class Baseline(msgspec.Struct, frozen=True):
    """Runs that are the reference of the series of ``nodes``, ``network`` and ``pattern``.

    Empty fields mean all. Without runs it begins a new past: older runs are no reference.
    """

    set_utc: str
    runs: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    network: str = ""
    pattern: str = ""
    reason: str = ""
    version: str = VERSION

    def fits(self, key: SeriesKey, place: tuple[str, ...]) -> bool:
        in_nodes = not self.nodes or not place or bool(set(self.nodes) & set(place))
        in_network = self.network in ("", key.network)
        return in_nodes and in_network and self.pattern in ("", key.pattern)


def read_baselines(root: Path) -> tuple[tuple[Path, Baseline], ...]:
    """Return the baselines of a directory of runs, newest first.

    Raises:
        StoreError: one of the files is damaged or of a later version.
    """
    folder = root / FOLDER
    if not folder.is_dir():
        return ()
    with reporting("list", folder):
        paths = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    hint = "; delete it, or restore it: it is a baseline of the history"
    baselines = []
    for path in reversed(paths):
        baseline = read_json(path, root, Baseline, damaged=hint, version=VERSION)
        baselines.append((path, baseline))
    return tuple(baselines)


def set_baseline(root: Path, baseline: Baseline) -> Path:
    """Write a baseline; return its file.

    Raises:
        StoreError: the file cannot be written.
    """
    folder = root / FOLDER
    with reporting("create", folder):
        make_folder(folder, root)
    name = f"baseline-{now_utc('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(3)}.json"
    write_json(folder / name, baseline, root)
    return folder / name


def clear_baselines(root: Path, nodes: tuple[str, ...], network: str, pattern: str) -> int:
    """Remove the baselines of exactly this scope; return their number."""
    removed = 0
    for path, baseline in read_baselines(root):
        if (baseline.nodes, baseline.network, baseline.pattern) == (nodes, network, pattern):
            with reporting("remove", path):
                path.unlink()
            removed += 1
    return removed


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
