"""Write a job script: steps.sh, followed by the launches as data that no shell interprets."""

import base64
import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec

from fabricgauge.model.batch import (
    EACH_DEVICES,
    EACH_PORTS,
    EACH_RAILS,
    EACH_SUBNET,
    FOUND_BASE,
    FOUND_MPIEXEC,
    ONE_DEVICE,
    ONE_UNIT,
)
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.nodes.launch.carrying import script as read_node_script

#: Time limit for the survey of the nodes, in seconds.
DISCOVERY_S = 60
#: Slurm starts no job as often as this.
STARTS = 100


class ScriptLaunch(msgspec.Struct, frozen=True):
    """One start of the engine in a job. ``number`` 0 means the next number; the first is 1.

    ``cases`` is a file of the run directory, ``limit_s`` the launch's time limit. ``subnet`` is
    the network for MPI: one subnet, ``EACH_SUBNET`` for a launch on each subnet that the job finds,
    the ports of a network of RDMA ports, or None. ``technology`` is not empty for a launch on each
    network of ports of that technology that the job finds. With ``alone`` the launch runs only on
    the job's first node.
    """

    number: int
    cases: str
    limit_s: int
    command: LaunchCommand
    subnet: str | None = None
    alone: bool = False
    technology: str = ""


class Script(msgspec.Struct, frozen=True):
    """The content of a job script. ``options`` are sbatch's, ``--name`` or ``--name=value``.

    ``connect`` is the connecting program, its first port and the number of ports; empty if the
    nodes do not try connections first. ``families`` are the versions of IP that the MPI can be
    pinned to. Time limits are multiplied by ``slowness``. ``run_dir`` is empty if what nodes write
    there stays on the nodes.
    """

    identity: str
    run_dir: str
    folder: str
    options: tuple[str, ...]
    environment: Mapping[str, str]
    launches: tuple[ScriptLaunch, ...]
    connect: tuple[str, ...] = ()
    families: tuple[int, ...] = (4, 6)
    carried: "Carried | None" = None
    slowness: int = 1


class Carried(msgspec.Struct, frozen=True):
    """Hold the files of a job and an archive of the programs that it brings along.

    On each node the programs are unpacked below the first of ``bases`` that suits the first node,
    in a folder named after the digest of their archive; ``mark`` is an empty file there.
    ``sonames`` are names of the MPI's library, the wanted one first, and ``library`` is its path on
    this machine. The MPI's launcher is the first of ``launchers`` on the first node.
    """

    files: bytes
    programs: bytes
    bases: tuple[str, ...]
    mark: str
    sonames: tuple[str, ...]
    library: str
    launchers: tuple[str, ...]


def script_text(script: Script) -> str:
    """Return the job script, for /bin/sh."""
    steps = resources.files(__package__).joinpath("steps.sh").read_text("utf-8")
    exports = (
        f"export {name}={shlex.quote(value)}" for name, value in sorted(script.environment.items())
    )
    finds_subnets = any(launch.subnet == EACH_SUBNET for launch in script.launches)
    finds_ports = any(launch.technology for launch in script.launches)
    families = " ".join(map(str, script.families))
    return "\n".join((
        "#!/bin/sh",
        f"# fabricgauge, run {script.identity}. Needs a POSIX shell, Slurm and the engine.",
        *(f"#SBATCH {option}" for option in script.options if is_plain(option)),
        "# shellcheck disable=SC1003,SC2016  # text in single quotes is data",
        "",
        "set -u",
        *exports,
        f"slowness={script.slowness}",
        *(() if script.carried else (f"cd -- {shlex.quote(script.run_dir)} || exit 1",)),
        "",
        steps,
        *(_carried_lines(script, script.carried) if script.carried else ()),
        f"begin {shlex.quote(script.folder)}",
        *(("spread_programs",) if script.carried else ()),
        f"discover {DISCOVERY_S} {shlex.quote(f'{script.folder}/probe.sh')}",
        *((f"find_subnets '{families}'",) if finds_subnets else ()),
        *(("find_ports",) if finds_ports else ()),
        *(_connect_lines(script) if script.connect else ()),
        *(line for launch in script.launches for line in _launch_lines(launch)),
        *(("drop_programs",) if script.carried else ()),
        "finish",
        "",
    ))  # fmt: skip


def _carried_lines(script: Script, carried: Carried) -> Iterator[str]:
    """Return lines that put a job's files and programs where its first node can read them."""
    digest = hashlib.sha256(carried.programs).hexdigest()
    names = {
        "identity": script.identity, "programs_digest": digest,
        "mark": carried.mark, "library": carried.library, "launchers": " ".join(carried.launchers),
        "sonames": " ".join(carried.sonames), "node_script": read_node_script(),
        "first_attempt": str(first_attempt(script.folder)), "job_folder": script.folder,
    }  # fmt: skip
    yield from (f"{name}={shlex.quote(value)}" for name, value in names.items())
    yield "write_files() {"
    for content, file in ((carried.files, "files.tar.gz"), (carried.programs, "programs.tar.gz")):
        yield f"base64 -d <<'END OF {file}' | cat >{file} || return 1"  # cat says why it cannot
        yield base64.encodebytes(content).decode().rstrip("\n")
        yield f"END OF {file}"
    yield "tar -xzf files.tar.gz"
    yield "}"
    yield "find_mpiexec"
    yield shlex.join(("enter_run", script.run_dir, *carried.bases))


def first_attempt(folder: str) -> int:
    """Return the number of the first attempt of a carried job: 101 for ``job-2``.

    Its results are joined with those of the run's other jobs on the head, where they must not
    replace them.
    """
    return 1 + STARTS * (int(folder.rpartition("-")[2]) - 1)


def _connect_lines(script: Script) -> Iterator[str]:
    """Return lines that try the connections on each subnet before the first launch there."""
    call = " ".join(("connect", *map(_quote, script.connect)))
    pins = (launch.subnet for launch in script.launches)
    subnets = (pin for pin in pins if pin and " " not in pin)  # the others are RDMA ports
    for subnet in dict.fromkeys(subnets):
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
    assignments = [_assignment(*pair) for pair in sorted(launch.command.env.items())]
    words = (
        call, shlex.quote(launch.cases), str(launch.limit_s), *(["env"] if assignments else []),
        *assignments, *map(_quote, launch.command.argv),
    )  # fmt: skip
    lines = [f"number={launch.number or '$((number + 1))'}", " ".join(words)]
    if launch.technology:
        yield "while read -r technology rails ports devices; do"
        names = '"$technology" "$ports" "$devices"'
        yield f"use_ports {shlex.quote(launch.technology)} {names} || continue"
        yield from lines
        yield 'done <"$here/ports"'
        return
    if launch.subnet == EACH_SUBNET:
        yield "while read -r subnet; do"
        yield from lines  # not indented: a word may contain a line break
        yield 'done <"$here/subnets"'
        return
    yield f"subnet={shlex.quote(launch.subnet or '')}"
    yield from lines


#: Placeholders, and the shell's variables that replace them.
_VARIABLES = {
    EACH_SUBNET: "subnet", EACH_PORTS: "ports", EACH_RAILS: "rails", EACH_DEVICES: "devices",
    FOUND_MPIEXEC: "mpiexec", FOUND_BASE: "base",
}  # fmt: skip
#: Placeholders of variables that are not set if a network has several devices.
_OPTIONAL = {ONE_DEVICE: "device", ONE_UNIT: "unit"}
_PLACEHOLDER = re.compile("|".join(map(re.escape, _VARIABLES)))


def _assignment(name: str, value: str) -> str:
    if variable := _OPTIONAL.get(value):
        return f'${{{variable}:+{name}="${variable}"}}'
    return _quote(f"{name}={value}")


def _quote(word: str) -> str:
    """Return a word quoted for the shell; the shell's variables replace the placeholders."""
    if not _PLACEHOLDER.search(word):
        return shlex.quote(word)
    texts = [shlex.quote(part) if part else "" for part in _PLACEHOLDER.split(word)]
    names = [f'"${_VARIABLES[placeholder]}"' for placeholder in _PLACEHOLDER.findall(word)]
    return "".join(text + name for text, name in zip(texts, [*names, ""], strict=True))
