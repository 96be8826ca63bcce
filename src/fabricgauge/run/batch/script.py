"""A job script: steps.sh, and the launches as data that no shell interprets."""

import shlex
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec

from fabricgauge.model.batch import EACH_SUBNET
from fabricgauge.model.host_access import LaunchCommand

#: Longest that the nodes may take to say what they are, in seconds.
DISCOVERY_S = 60


class ScriptLaunch(msgspec.Struct, frozen=True):
    """One start of the engine in a job. ``number`` 0 is the next one, the first being 1.

    ``cases`` is a file of the run directory, ``limit_s`` when the launch is ended at the latest.
    ``subnet`` is what MPI is pinned to: one subnet, ``EACH_SUBNET`` for a launch on each that the
    job finds, or None. An ``alone`` one runs on the job's first node and no other.
    """

    number: int
    cases: str
    limit_s: int
    command: LaunchCommand
    subnet: str | None = None
    alone: bool = False


class Script(msgspec.Struct, frozen=True):
    """All that a job script says. ``options`` are sbatch's, ``--name`` or ``--name=value``.

    ``connect`` is the connecting program, the first port that it may use and their number; empty
    where the nodes do not connect to each other first.
    """

    identity: str
    run_dir: str
    folder: str
    options: tuple[str, ...]
    environment: Mapping[str, str]
    launches: tuple[ScriptLaunch, ...]
    connect: tuple[str, ...] = ()


def text(of: Script) -> str:
    """The job script, for /bin/sh."""
    steps = resources.files(__package__).joinpath("steps.sh").read_text("utf-8")
    return "\n".join((
        "#!/bin/sh",
        f"# fabricgauge, run {of.identity}. Needs a POSIX shell, Slurm and the engine.",
        *(f"#SBATCH {option}" for option in of.options if is_plain(option)),
        "# shellcheck disable=SC1003,SC2016  # what stands in single quotes is data",
        "",
        "set -u",
        *(f"export {name}={shlex.quote(value)}" for name, value in sorted(of.environment.items())),
        f"cd -- {shlex.quote(of.run_dir)} || exit 1",
        "",
        steps,
        f"begin {shlex.quote(of.folder)}",
        f"discover {DISCOVERY_S} {shlex.quote(f'{of.folder}/probe.sh')}",
        *(("find_subnets",) if any(one.subnet == EACH_SUBNET for one in of.launches) else ()),
        *(_connect(of) if of.connect else ()),
        *(line for one in of.launches for line in _launch(one)),
        "finish",
        "",
    ))  # fmt: skip


def _connect(of: Script) -> Iterator[str]:
    """The nodes try their connections on each subnet before the first launch there."""
    call = " ".join(("connect", *map(shlex.quote, of.connect)))
    for subnet in dict.fromkeys(one.subnet for one in of.launches if one.subnet):
        if subnet == EACH_SUBNET:
            # The step must not read the other subnets from the loop's input.
            yield f'while read -r subnet; do {call} </dev/null; done <"$here/subnets"'
        else:
            yield f"subnet={shlex.quote(subnet)}"
            yield call


def is_plain(option: str) -> bool:
    """Whether an option can stand in an ``#SBATCH`` line without being quoted.

    Others are for sbatch's own command line, where they are words as they stand.
    """
    return bool(option) and all(
        char.isascii() and (char.isalnum() or char in "-_=.,:/@%+[]") for char in option
    )


def _launch(one: ScriptLaunch) -> Iterator[str]:
    call = "launch_here" if one.alone else "launch"
    words = (call, shlex.quote(one.cases), str(one.limit_s), *_command(one.command))
    lines = [f"number={one.number or '$((number + 1))'}", " ".join(words)]
    if one.subnet == EACH_SUBNET:
        yield "while read -r subnet; do"
        yield from lines  # not indented: a word may hold the end of a line
        yield 'done <"$here/subnets"'
        return
    yield f"subnet={shlex.quote(one.subnet or '')}"
    yield from lines


def _command(command: LaunchCommand) -> Iterator[str]:
    if command.env:
        yield "env"
        yield from (_word(f"{name}={value}") for name, value in sorted(command.env.items()))
    yield from map(_word, command.argv)


def _word(word: str) -> str:
    """One word of a command line, whatever it holds; the subnet's place is the shell's variable."""
    parts = word.split(EACH_SUBNET)
    return '"$subnet"'.join(shlex.quote(part) if part or len(parts) == 1 else "" for part in parts)
