"""The command line's table of contents; a verb's module is loaded only when it is used."""

import importlib
import signal
import sys
from types import FrameType

import click

from fabricgauge import __version__
from fabricgauge.model.errors import FabricgaugeError

#: verb: (module, what it does)
VERBS: dict[str, tuple[str, str]] = {
    "check": ("check", "Measure a network, prove the path, judge it and report."),
    "report": ("report", "Show or judge again a stored run."),
    "discover": ("discover", "Show nodes, interfaces, networks and their ceilings."),
    "lab": ("lab", "A virtual cluster on this machine: up, exec, status, down, faults."),
    "engine": ("engine", "Build and list the measuring program."),
}

INTERRUPTED = 130


class Verbs(click.Group):
    """A group that knows its verbs by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"fabricgauge.cli.{VERBS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fabricgauge")
def cli() -> None:
    """A go/no-go gauge for cluster interconnects.

    Exit status: 0 pass, 1 at least one FAIL, 2 usage, 3 nothing decided, 130 interrupted.
    """


def main() -> None:
    """Entry point: every error that is ours becomes one clear message and its exit status."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        status = cli.main(standalone_mode=False, auto_envvar_prefix="FABRICGAUGE")
    except click.exceptions.Abort:
        status = INTERRUPTED
    except KeyboardInterrupt:
        status = INTERRUPTED
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except FabricgaugeError as error:
        click.echo(f"fabricgauge: {error}", err=True)
        status = error.exit_status
    except BrokenPipeError:  # the reader of our output went away, e.g. `| head`
        sys.stderr.close()
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
