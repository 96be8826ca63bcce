"""What a lab's Slurm says of itself: asked on the head, read by pure functions."""

import re
from pathlib import Path

from fabricgauge import process
from fabricgauge.lab import tools
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import LabState

#: Slurm's clients wait up to MessageTimeout, 10 s here, for a controller that is away.
_TIMEOUT_S = 30.0

#: In the order of preference; PMIx serves Open MPI and MPICH, PMI-2 MPICH and Intel MPI.
_MPI_PREFERENCE = ("pmix", "pmi2")

#: Compact node states (sinfo(1), NODE STATE CODES) of nodes that have not registered.
_ABSENT = frozenset({"down", "unk"})


def munge_works(state: LabState) -> bool:
    """Whether munged gives out a credential."""
    return _ask(state, "munge", "--no-input").exit_code == 0


def mpi_plugins(state: LabState) -> frozenset[str]:
    """The plugins that ``srun --mpi`` takes here."""
    done = _ask(state, "srun", "--mpi=list")
    return parse_mpi_list(done.stdout + done.stderr)


def parse_mpi_list(text: str) -> frozenset[str]:
    """Names from ``srun --mpi=list``: one a line, among lines of several words.

    Some versions of Slurm print ``srun:`` before each line.
    """
    lines = [line.removeprefix("srun: ").strip() for line in text.splitlines()]
    return frozenset(line for line in lines if re.fullmatch(r"[a-z0-9_]+", line))


def preferred_mpi(plugins: frozenset[str]) -> str:
    """pmix where Slurm has it, else pmi2, else none."""
    return next((name for name in _MPI_PREFERENCE if name in plugins), "none")


def controller_answers(state: LabState) -> bool:
    """Whether slurmctld answers."""
    return _ask(state, "scontrol", "ping").stdout.rstrip().endswith("is UP")


def slurmd_answers(state: LabState, node: str) -> bool:
    """Whether a node's slurmd answers on that node."""
    return _ask(state, "scontrol", "show", "slurmd", node=node).exit_code == 0


def present(state: LabState) -> frozenset[str]:
    """Nodes that slurmctld knows to be there; none while it is away itself."""
    return parse_present(_ask(state, "sinfo", "-h", "-N", "-o", "%N %t").stdout)


def parse_present(text: str) -> frozenset[str]:
    """Nodes that are there, from lines of ``NODE STATE``; a ``*`` after the state says that
    the node does not respond."""
    rows = (line.split() for line in text.splitlines())
    return frozenset(
        row[0]
        for row in rows
        if len(row) == 2 and not row[1].endswith("*") and row[1] not in _ABSENT
    )


def _ask(state: LabState, program: str, *words: str, node: str = HEAD) -> process.Completed:
    argv = [*entry(state, node), tools.path_of(program), *words]
    return process.run(argv, timeout_s=_TIMEOUT_S, env={"PATH": tools.SEARCH_PATH}, cwd=Path("/"))
