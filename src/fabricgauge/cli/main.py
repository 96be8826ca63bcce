"""Program entry point: print help pages at once, leave everything else to click."""

import io
import os
import sys
from types import FrameType

from fabricgauge.cli.overview import help_text, overview, terminal_columns

INTERRUPTED = 130
#: Exit status if the output cannot be written: neither a pass nor a failure is visible.
UNWRITTEN = 3

#: If this variable is set, an unexpected error shows its traceback instead of one sentence.
TRACEBACK = "FABRICGAUGE_TRACEBACK"


def main() -> None:
    """Run the command line; turn each of our errors into one message and its exit status."""
    _require_streams()
    if sys.argv[1:] in (["--help"], ["-h"], ["help"]):
        sys.exit(_flush(0, f"{overview(terminal_columns())}\n"))
    words = sys.argv[1:]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if (text := help_text(words, terminal_columns())) is not None:
        sys.exit(_flush(0, text))
    sys.exit(_flush(_run_click()))


def _flush(status: int, text: str = "") -> int:
    """Write ``text`` and all pending output; return the exit status.

    A reader that closes its end early does not change the status.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        status = UNWRITTEN
        if sys.stderr is not None:
            sys.stderr.write(f"fabricgauge: cannot write standard output: {error.strerror}\n")
    else:
        return status
    # Without this, Python reports the same error once more when it exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _require_streams() -> None:
    """Open the three standard streams that are closed: the next open files would replace them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        os.write(2, b"fabricgauge: standard output is closed; send it to /dev/null or a file\n")
        sys.exit(UNWRITTEN)


def _run_click() -> int:
    import signal

    import click

    from fabricgauge.cli.verbs import cli
    from fabricgauge.model.errors import FabricgaugeError, UsageError

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _raise_interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        os.getcwd()  # noqa: PTH109 -- the exception is wanted
    except OSError:
        click.echo("fabricgauge: the working directory was removed; change to another", err=True)
        return UsageError.exit_status
    try:
        status = cli.main(standalone_mode=False, auto_envvar_prefix="FABRICGAUGE")
    except (click.exceptions.Abort, KeyboardInterrupt):
        status = _answer_error("interrupted", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        status = _answer_error(error.format_message(), error.exit_code)
    except FabricgaugeError as error:
        from fabricgauge.report.visible import visible

        click.echo(f"fabricgauge: {visible(str(error))}", err=True)
        status = _answer_error(str(error), error.exit_status)
    except BrokenPipeError:
        status = 0
    except Exception as error:
        status = _flush(0) or _report_unexpected(error)
        status = _answer_error(f"{type(error).__name__}: {error}", status)
    return status if isinstance(status, int) else 0


def _answer_error(text: str, status: int) -> int:
    """Print an error to the scheduler or monitor that asks, as an INCONCLUSIVE; return its status.

    Another status would drain a node, or be an alarm, for a mistake on the command line.
    """
    from fabricgauge.cli.show import print_answer
    from fabricgauge.model.answer import find_form, format_answer
    from fabricgauge.model.verdict import Outcome

    form, outcome = find_form(sys.argv[1:], os.environ), Outcome.INCONCLUSIVE
    if form == "plain":
        return status
    return print_answer(form, outcome, format_answer(form, outcome, text))


def _report_unexpected(error: Exception) -> int:
    """Print one sentence. Exit status 1 would mean that a network failed."""
    import click

    from fabricgauge.model.errors import FabricgaugeError
    from fabricgauge.report.visible import visible

    if os.environ.get(TRACEBACK):
        raise error
    description = visible(f"{type(error).__name__}: {error}")
    click.echo(f"fabricgauge: {description}; set {TRACEBACK}=1 for the traceback", err=True)
    return FabricgaugeError.exit_status


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
