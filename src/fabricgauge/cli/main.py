"""Entry point: the first page of help at once, everything else through click."""

import io
import os
import sys
from types import FrameType

from fabricgauge.cli.overview import overview

INTERRUPTED = 130

#: Set to anything, an unforeseen error shows its traceback instead of one sentence.
TRACEBACK = "FABRICGAUGE_TRACEBACK"


def main() -> None:
    """Run the command line; every error that is ours becomes one message and its exit status."""
    if sys.argv[1:] in (["--help"], ["-h"]):
        _print_overview()
        return
    sys.exit(_through_click())


def _print_overview() -> None:
    try:
        sys.stdout.write(f"{overview()}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _through_click() -> int:
    import signal

    import click

    from fabricgauge.cli.verbs import cli
    from fabricgauge.model.errors import FabricgaugeError
    from fabricgauge.report.visible import visible

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _as_interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(standalone_mode=False, auto_envvar_prefix="FABRICGAUGE")
    except (click.exceptions.Abort, KeyboardInterrupt):
        status = INTERRUPTED
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except FabricgaugeError as error:
        click.echo(f"fabricgauge: {visible(str(error))}", err=True)
        status = error.exit_status
    except Exception as error:  # 1 would say that a network failed
        if os.environ.get(TRACEBACK):
            raise
        what = visible(f"{type(error).__name__}: {error}")
        click.echo(f"fabricgauge: {what}; set {TRACEBACK}=1 to see where", err=True)
        status = FabricgaugeError.exit_status
    return status if isinstance(status, int) else 0


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
