"""``check --soak``: soak the network of a begun run, show the result or a stored one."""

from pathlib import Path
from typing import Any

from fabricgauge.check.run_context import RunContext
from fabricgauge.cli.show import page, print_report
from fabricgauge.features.soak.soaking import SOAKED, judge, read_soaked, soak, store
from fabricgauge.model.errors import StoreError
from fabricgauge.model.verdict import Outcome, exit_status
from fabricgauge.store.run_directory import RunDirectory


def soak_network(
    context: RunContext, seconds: float, share: float, answers: bool,
    traffic_class: int | None, printing: Any,
) -> int:  # fmt: skip
    """Soak for some seconds at a share of the link; return the exit status.

    With ``answers`` the management path is asked as well, also in ``traffic_class``.
    """
    soaked, interrupted = soak(context, seconds, share, answers, traffic_class)
    context.progress.close()
    directory = context.directory
    try:
        store(directory, soaked, page("soak", soaked))
    except StoreError as error:
        context.progress.trouble(str(error))
    path = str(directory.path)
    print_report("soak", soaked, printing.format, printing.to, run_directory=path)
    return 130 if interrupted else exit_status(judge(soaked)[0], printing.fail_on)


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print a stored soak, return its outcome; None if the directory has none."""
    if not (directory.path / SOAKED).exists():
        return None
    path, soaked = str(directory.path), read_soaked(directory)
    print_report("soak", soaked, format_name, to, run_directory=path)
    return judge(soaked)[0]
