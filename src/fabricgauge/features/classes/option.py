"""``check --victim-class --bulk-class``: measure both on a begun run, show it or a stored one."""

from pathlib import Path
from typing import Any

from fabricgauge.check.run_context import RunContext
from fabricgauge.cli.show import conclude, print_report
from fabricgauge.features.classes.judging import VERSION, MeasuredClasses, judge
from fabricgauge.features.classes.measuring import MEASURED, measure_rounds
from fabricgauge.features.classes.setting import TrafficClass, parse_class
from fabricgauge.model.errors import UsageError
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.run_directory import RunDirectory

Classes = tuple[TrafficClass, TrafficClass]


def parse_classes(victim: str, bulk: str) -> Classes:
    """Return the classes of victim and bulk.

    Raises:
        UsageError: a class does not exist.
    """
    return parse_class(victim), parse_class(bulk)


def measure_classes(context: RunContext, classes: Classes, printing: Any) -> int:
    """Measure a victim and bulk in their classes; return the exit status.

    Raises:
        UsageError: the transport or MPI cannot set a class; no run directory is left.
    """
    try:
        measured, interrupted = measure_rounds(context, *classes)
    except UsageError:
        context.directory.discard()
        raise
    status = conclude(context, "classes", MEASURED, measured, judge(measured)[0], printing)
    return 130 if interrupted else status


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome:
    """Print a stored result, return its outcome."""
    measured = directory.read_version(MEASURED, MeasuredClasses, VERSION)
    print_report("classes", measured, format_name, to, run_directory=str(directory.path))
    return judge(measured)[0]
