"""Command lines as people type them, run in this process."""

from typing import NamedTuple

from click.testing import CliRunner

from fabricgauge.cli.verbs import cli
from fabricgauge.model.errors import FabricgaugeError


class Answer(NamedTuple):
    """The end of a command: exit status, standard output, and the error's message."""

    status: int
    output: str
    message: str


def typed(*words: str, stdin: bytes | None = None, **env: str) -> Answer:
    """Run a command line; return its end as a shell would see it."""
    done = CliRunner().invoke(
        cli, words, prog_name="fabricgauge", input=stdin, env=env, auto_envvar_prefix="FABRICGAUGE"
    )
    error = done.exception
    if isinstance(error, FabricgaugeError):
        return Answer(error.exit_status, done.stdout, str(error))
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return Answer(done.exit_code, done.stdout, done.stderr)
