"""``check --soak``: soak the network of a begun run, show the result or a stored one."""

from pathlib import Path
from typing import Any

from fabricgauge.check.run_context import RunContext
from fabricgauge.cli.show import conclude, print_report
from fabricgauge.features.soak.soaking import SOAKED, VERSION, Soaked, judge, soak
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.run_directory import RunDirectory


def soak_network(
    context: RunContext, seconds: float, share: float, answers: bool,
    traffic_class: int | None, printing: Any,
) -> int:  # fmt: skip
    """Soak for some seconds at a share of the link; return the exit status.

    With ``answers`` the management path is asked as well, also in ``traffic_class``.
    """
    soaked, interrupted = soak(context, seconds, share, answers, traffic_class)
    status = conclude(context, "soak", SOAKED, soaked, judge(soaked)[0], printing)
    return 130 if interrupted else status


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print a stored soak, return its outcome; None if the directory has none."""
    if not (directory.path / SOAKED).exists():
        return None
    soaked = directory.read_version(SOAKED, Soaked, VERSION)
    print_report("soak", soaked, format_name, to, run_directory=str(directory.path))
    return judge(soaked)[0]
