"""Show and list traced paths that are stored."""

from pathlib import Path

from fabricgauge.cli.show import print_report
from fabricgauge.features.path.recording import FILE, read_paths
from fabricgauge.model.stored import StoredRun
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.listing import describe
from fabricgauge.store.run_directory import RunDirectory


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print traced paths, which are not judged; return None if the directory has none."""
    if not (directory.path / FILE).exists():
        return None
    print_report("call_paths", read_paths(directory), format_name, to)
    return Outcome.PASS


def list_stored(directory: RunDirectory) -> StoredRun | None:
    """Return traced paths as a list shows them; None for a directory of another kind."""
    if not (directory.path / FILE).exists():
        return None
    paths = read_paths(directory)
    return describe(directory, "path", paths.started_utc, paths.nodes)
