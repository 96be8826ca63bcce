"""Query the state of a lab's Slurm on the head; pure functions read the answers."""

import re
from pathlib import Path

from fabricgauge.lab import tools
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import LabState
from fabricgauge.nodes import process

#: Slurm's clients wait up to MessageTimeout, 10 s here, for a controller that does not run.
_TIMEOUT_S = 30.0

#: Plugins in the order of preference; Open MPI and MPICH use PMIx, MPICH and Intel MPI PMI-2.
_MPI_PREFERENCE = ("pmix", "pmi2")

#: Compact node states (sinfo(1), NODE STATE CODES) of nodes that have not registered.
_ABSENT = frozenset({"down", "unk"})


def munge_works(state: LabState) -> bool:
    return _run(state, "munge", "--no-input").exit_code == 0


def mpi_plugins(state: LabState) -> frozenset[str]:
    """Return the plugins that ``srun --mpi`` accepts in this lab."""
    completed = _run(state, "srun", "--mpi=list")
    return parse_mpi_list(completed.stdout + completed.stderr)


def parse_mpi_list(text: str) -> frozenset[str]:
    """Return the names in the output of ``srun --mpi=list``: lines with a single word.

    Some versions of Slurm print ``srun:`` before each line.
    """
    lines = [line.removeprefix("srun: ").strip() for line in text.splitlines()]
    return frozenset(line for line in lines if re.fullmatch(r"[a-z0-9_]+", line))


def preferred_mpi(plugins: frozenset[str]) -> str:
    """Return pmix if Slurm has it, else pmi2, else none."""
    return next((name for name in _MPI_PREFERENCE if name in plugins), "none")


def controller_answers(state: LabState) -> bool:
    return _run(state, "scontrol", "ping").stdout.rstrip().endswith("is UP")


def slurmd_answers(state: LabState, node: str) -> bool:
    return _run(state, "scontrol", "show", "slurmd", node=node).exit_code == 0


def present(state: LabState) -> frozenset[str]:
    """Return the nodes that slurmctld reports as present; none while it does not run."""
    return parse_present(_run(state, "sinfo", "-h", "-N", "-o", "%N %t").stdout)


def parse_present(text: str) -> frozenset[str]:
    """Return the present nodes from lines ``NODE STATE``; ``*`` marks a node without response."""
    rows = (line.split() for line in text.splitlines())
    return frozenset(
        row[0]
        for row in rows
        if len(row) == 2 and not row[1].endswith("*") and row[1] not in _ABSENT
    )


def _run(state: LabState, program: str, *words: str, node: str = HEAD) -> process.Completed:
    argv = [*entry(state, node), tools.path_of(program), *words]
    return process.run(argv, timeout_s=_TIMEOUT_S, env={"PATH": tools.SEARCH_PATH}, cwd=Path("/"))
