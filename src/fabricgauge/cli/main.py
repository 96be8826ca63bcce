"""Entry point: the first page of help at once, everything else through click."""

import io
import os
import sys
from types import FrameType

from fabricgauge.cli.overview import overview

INTERRUPTED = 130
#: Exit status if the output cannot be written: nobody can read it, so no pass and no failure.
UNWRITTEN = 3

#: Set to anything, an unforeseen error shows its traceback instead of one sentence.
TRACEBACK = "FABRICGAUGE_TRACEBACK"


def main() -> None:
    """Run the command line; every error that is ours becomes one message and its exit status."""
    _require_streams()
    if sys.argv[1:] in (["--help"], ["-h"]):
        sys.exit(_flushed(0, f"{overview()}\n"))
    sys.exit(_flushed(_through_click()))


def _flushed(status: int, rest: str = "") -> int:
    """The exit status once all is written; a reader that goes away early does not change it."""
    try:
        sys.stdout.write(rest)
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        status = UNWRITTEN
        if sys.stderr is not None:
            why = f"standard output cannot be written: {error.strerror}"
            sys.stderr.write(f"fabricgauge: {why}\n")
    else:
        return status
    # Python would complain once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _require_streams() -> None:
    """Without them the next files that are opened would take their places."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        os.write(2, b"fabricgauge: standard output is closed; send it to /dev/null or a file\n")
        sys.exit(UNWRITTEN)


def _through_click() -> int:
    import signal

    import click

    from fabricgauge.cli.verbs import cli
    from fabricgauge.model.errors import FabricgaugeError, UsageError
    from fabricgauge.report.visible import visible

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _as_interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        os.getcwd()  # noqa: PTH109 -- what it raises is wanted
    except OSError:
        click.echo("fabricgauge: the working directory was removed; change to another", err=True)
        return UsageError.exit_status
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
    except BrokenPipeError:
        status = 0
    except Exception as error:
        status = _flushed(0) or _unforeseen(error)
    return status if isinstance(status, int) else 0


def _unforeseen(error: Exception) -> int:
    """One sentence. An exit status of 1 would say that a network failed."""
    import click

    from fabricgauge.model.errors import FabricgaugeError
    from fabricgauge.report.visible import visible

    if os.environ.get(TRACEBACK):
        raise error
    what = visible(f"{type(error).__name__}: {error}")
    click.echo(f"fabricgauge: {what}; set {TRACEBACK}=1 to see where", err=True)
    return FabricgaugeError.exit_status


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
