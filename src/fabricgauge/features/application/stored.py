"""Show a stored profile or scaling, and import another profiler's report."""

from pathlib import Path
from typing import Any

from fabricgauge.cli.show import print_report, require_format
from fabricgauge.features.application.profile import (
    import_profile,
    is_profile,
    profiles_at,
    require_recorded,
)
from fabricgauge.features.application.scale_content import overall
from fabricgauge.features.application.scaling import SCALED, read_scaling
from fabricgauge.model.run import StoredRun
from fabricgauge.model.verdict import Outcome
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory, describe


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print an application's profile or scaling, return its outcome; None if there is neither.

    A profile is not judged.
    """
    path = directory.path
    if (path / SCALED).exists():
        scaled = read_scaling(directory)
        print_report("scale", scaled, format_name, to, run_directory=str(path))
        return overall(scaled)
    if not is_profile(path):
        return None
    profile = require_recorded(profiles_at(path), 0)
    print_report("profile", profile, format_name, to, run_directory=str(path))
    return Outcome.PASS


def list_stored(directory: RunDirectory) -> StoredRun | None:
    """Return a profile or scaling as a list shows it; None for a directory of another kind."""
    path = directory.path
    if (path / SCALED).exists():
        scaled = read_scaling(directory)
        return describe(directory, "scale", verdict=overall(scaled).value)
    return describe(directory, "profile") if is_profile(path) else None


def import_file(path: Path, options: dict[str, Any]) -> bool:
    """Show an application's profile, which is not judged; return False for any other file."""
    if not is_profile(path):
        return False
    name = require_format("profile", options["format"])
    directory = RunDirectory.create(options["output"] or settings.run_root())
    try:
        profile = import_profile(path, directory)
    except BaseException:
        directory.discard(copies=True)
        raise
    directory.finish()
    print_report("profile", profile, name, options["to"], run_directory=str(directory.path))
    return True
