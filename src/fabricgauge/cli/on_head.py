"""A command line once more, on the head of a lab, whose Slurm answers there."""

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import click

from fabricgauge.cli.nodes import OWN_LAB, own_lab
from fabricgauge.model.errors import UsageError

#: Tells the program on the head which lab it was sent to from outside.
_FROM_OUTSIDE = "FABRICGAUGE_FROM_OUTSIDE"

#: The command line as a program; what is installed as `fabricgauge` need not be in the path.
_AGAIN = "import sys; sys.argv[0] = 'fabricgauge'; from fabricgauge.cli.main import main; main()"


def on_head(ctx: click.Context, options: dict[str, Any]) -> int:
    """Run the same command there; returns its exit status.

    Raises:
        UsageError: a job is to be left in a lab that is removed at once.
    """
    from fabricgauge.lab.host_access import entry
    from fabricgauge.lab.spec import HEAD
    from fabricgauge.lab.state import load_complete

    own = options["lab"] == OWN_LAB
    if own and options["no_wait"]:
        raise UsageError(
            "--no-wait: a lab of one's own is removed at the end; bring one up with fabricgauge"
            " lab up --slurm, and name it with --lab"
        )
    where = own_lab(options["nodes"], slurm=True) if own else nullcontext(options["lab"])
    with where as name:
        again = (sys.executable, "-c", _AGAIN, str(ctx.info_name), *_said_again(ctx))
        argv = [*entry(load_complete(name), HEAD), *again]
        return _interrupted_once(argv, {_FROM_OUTSIDE: OWN_LAB if own else name})


def lab_outside() -> str:
    """The lab that an outer program has sent us to, OWN_LAB for its own; empty for none."""
    return os.environ.get(_FROM_OUTSIDE, "")


def _interrupted_once(argv: list[str], variables: dict[str, str]) -> int:
    """The exit status of a program that gets our interrupts, also those that are no terminal's.

    It has a session of its own: a terminal would interrupt it a second time, in its last words.
    """
    import signal
    import subprocess

    with subprocess.Popen(argv, env={**os.environ, **variables}, start_new_session=True) as child:
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                return child.wait()
            except KeyboardInterrupt:
                child.send_signal(number)
        return 130


def _said_again(ctx: click.Context) -> Iterator[str]:
    """What was said, but --lab, each option as one word; what is no option comes last."""
    default = click.core.ParameterSource.DEFAULT
    for one in ctx.command.params:
        name, value = one.name or "", ctx.params.get(one.name or "")
        if name == "lab" or ctx.get_parameter_source(name) is default:
            continue
        if isinstance(one, click.Option):
            values = value if isinstance(value, tuple) else (value,)
            yield from (
                one.opts[-1] if one.is_flag else f"{one.opts[-1]}={each}" for each in values
            )
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)]
    if arguments:
        yield from ("--", *(str(ctx.params[one.name or ""]) for one in arguments))
