"""The checks that cost a measurement no time: they look at what discovery has found anyway."""

from fabricgauge.app.progress import Progress
from fabricgauge.doctor.examining import examine
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import write_preflight

#: Findings that are told at once; the rest is quoted where a figure is bad.
MOST_TOLD = 5


def note_preflight(directory: RunDirectory, fabric: Fabric, progress: Progress) -> None:
    """Keep what is wrong with the run, and tell of what will break it.

    Raises:
        StoreError: it cannot be written.
    """
    found = quick_findings(fabric)
    write_preflight(directory, found)
    failing = [one for one in found if one.severity is Severity.FAIL]
    for one in failing[:MOST_TOLD]:
        progress.trouble(f"{one.check}: {one.where}: {one.what}")
    if len(failing) > MOST_TOLD:
        progress.trouble(f"and {len(failing) - MOST_TOLD:,} more; see fabricgauge doctor")


def quick_findings(fabric: Fabric) -> tuple[Finding, ...]:
    """What can be said from the quick probe alone: nothing was tried, no adapter is known."""
    return tuple(finding for one in examine(Preflight(fabric, ())) for finding in one.findings)
