"""Write a job script: steps.sh, followed by the launches as data that no shell interprets."""

import shlex
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec

from fabricgauge.model.batch import EACH_SUBNET
from fabricgauge.model.host_access import LaunchCommand

#: Time limit for the survey of the nodes, in seconds.
DISCOVERY_S = 60


class ScriptLaunch(msgspec.Struct, frozen=True):
    """One start of the engine in a job. ``number`` 0 means the next number; the first is 1.

    ``cases`` is a file of the run directory, ``limit_s`` the launch's time limit. ``subnet`` is
    the network for MPI: one subnet, ``EACH_SUBNET`` for a launch on each subnet that the job finds,
    or None. With ``alone`` the launch runs only on the job's first node.
    """

    number: int
    cases: str
    limit_s: int
    command: LaunchCommand
    subnet: str | None = None
    alone: bool = False


class Script(msgspec.Struct, frozen=True):
    """The content of a job script. ``options`` are sbatch's, ``--name`` or ``--name=value``.

    ``connect`` is the connecting program, its first port and the number of ports; empty if the
    nodes do not try connections first.
    """

    identity: str
    run_dir: str
    folder: str
    options: tuple[str, ...]
    environment: Mapping[str, str]
    launches: tuple[ScriptLaunch, ...]
    connect: tuple[str, ...] = ()


def script_text(script: Script) -> str:
    """Return the job script, for /bin/sh."""
    steps = resources.files(__package__).joinpath("steps.sh").read_text("utf-8")
    exports = (
        f"export {name}={shlex.quote(value)}" for name, value in sorted(script.environment.items())
    )
    finds_subnets = any(launch.subnet == EACH_SUBNET for launch in script.launches)
    return "\n".join((
        "#!/bin/sh",
        f"# fabricgauge, run {script.identity}. Needs a POSIX shell, Slurm and the engine.",
        *(f"#SBATCH {option}" for option in script.options if is_plain(option)),
        "# shellcheck disable=SC1003,SC2016  # text in single quotes is data",
        "",
        "set -u",
        *exports,
        f"cd -- {shlex.quote(script.run_dir)} || exit 1",
        "",
        steps,
        f"begin {shlex.quote(script.folder)}",
        f"discover {DISCOVERY_S} {shlex.quote(f'{script.folder}/probe.sh')}",
        *(("find_subnets",) if finds_subnets else ()),
        *(_connect_lines(script) if script.connect else ()),
        *(line for launch in script.launches for line in _launch_lines(launch)),
        "finish",
        "",
    ))  # fmt: skip


def _connect_lines(script: Script) -> Iterator[str]:
    """Return lines that try the connections on each subnet before the first launch there."""
    call = " ".join(("connect", *map(shlex.quote, script.connect)))
    for subnet in dict.fromkeys(launch.subnet for launch in script.launches if launch.subnet):
        if subnet == EACH_SUBNET:
            # The step must not read the other subnets from the loop's input.
            yield f'while read -r subnet; do {call} </dev/null; done <"$here/subnets"'
        else:
            yield f"subnet={shlex.quote(subnet)}"
            yield call


def is_plain(option: str) -> bool:
    """Check whether an option needs no quotes in an ``#SBATCH`` line.

    Other options go to sbatch's command line, where no shell parses them.
    """
    return bool(option) and all(
        char.isascii() and (char.isalnum() or char in "-_=.,:/@%+[]") for char in option
    )


def _launch_lines(launch: ScriptLaunch) -> Iterator[str]:
    call = "launch_here" if launch.alone else "launch"
    words = (call, shlex.quote(launch.cases), str(launch.limit_s), *_command_words(launch.command))
    lines = [f"number={launch.number or '$((number + 1))'}", " ".join(words)]
    if launch.subnet == EACH_SUBNET:
        yield "while read -r subnet; do"
        yield from lines  # not indented: a word may contain a line break
        yield 'done <"$here/subnets"'
        return
    yield f"subnet={shlex.quote(launch.subnet or '')}"
    yield from lines


def _command_words(command: LaunchCommand) -> Iterator[str]:
    if command.env:
        yield "env"
        yield from (_quote(f"{name}={value}") for name, value in sorted(command.env.items()))
    yield from map(_quote, command.argv)


def _quote(word: str) -> str:
    """Return a word quoted for the shell; the shell's variable replaces the subnet."""
    parts = word.split(EACH_SUBNET)
    return '"$subnet"'.join(shlex.quote(part) if part or len(parts) == 1 else "" for part in parts)
