"""Make a design from factors: every combination of levels, in random order within each block."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from types import MappingProxyType

import numpy as np

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import BUFFERS
from fabricgauge.model.varied import Design, Factor

#: More combinations would take hours.
MAX_ARMS = 64
ENVIRONMENT = "env:"
#: Factors whose levels are numbers, with their bounds.
NUMBERS: Mapping[str, tuple[int, int]] = MappingProxyType({
    "ppn": (1, 1024), "ranks": (2, 1 << 20), "parallel": (1, 128),
})  # fmt: skip
FACTOR_NAMES = (
    "mpi", "transport", "provider", "memory", "buffers", "compiler", "bind", "tool-path", *NUMBERS,
    f"{ENVIRONMENT}NAME",
)  # fmt: skip
#: Factors of a suite's programs: the folder of a build, the MPI that starts them, and numbers.
TOOL_FACTORS = ("tool-path", "mpi", *NUMBERS)
BINDINGS = ("core", "none")


#: The level that keeps a variable's value from the shell of the command.
UNCHANGED = "(as it is)"

#: A comma without a backslash before it.
_LEVEL_SEPARATOR = re.compile(r"(?<!\\),")


def parse_factor(text: str) -> Factor:
    r"""Parse ``NAME=LEVEL,LEVEL…``.

    ``\,`` is a comma within a level; an empty level of a variable is ``UNCHANGED``.

    Raises:
        UsageError: another form, an unknown name, or fewer than two levels.
    """
    name, _, listed = text.partition("=")
    levels = tuple(level.replace("\\,", ",") for level in _LEVEL_SEPARATOR.split(listed))
    if not listed or len(levels) < 2:
        raise UsageError(
            f"--vary {text!r}: write it as NAME=A,B with two levels or more, e.g."
            " mpi=openmpi,mpich; a stack against itself is mpi=mpich,mpich"
        )
    variable = name.removeprefix(ENVIRONMENT)
    fine = name in FACTOR_NAMES or (name.startswith(ENVIRONMENT) and variable.isidentifier())
    if not fine:
        raise UsageError(f"--vary {name!r}: unknown factor; available: {', '.join(FACTOR_NAMES)}")
    if name in NUMBERS:
        _require_numbers(name, levels)
    if name == "buffers" and not set(levels) <= set(BUFFERS):
        raise UsageError(f"--vary buffers takes {', '.join(BUFFERS)}, not {listed}")
    if name == "bind" and not set(levels) <= set(BINDINGS):
        raise UsageError(f"--vary bind takes {' and '.join(BINDINGS)}, not {listed}")
    if name.startswith(ENVIRONMENT):
        return Factor(name, tuple(level or UNCHANGED for level in levels))
    if not all(levels):
        raise UsageError(f"--vary {text!r}: a level is empty")
    return Factor(name, levels)


def require_tool_factors(factors: Sequence[Factor], tool: str) -> None:
    """Refuse a factor that a suite's programs, or the engine, would not heed.

    Raises:
        UsageError: such a factor.
    """
    for factor in factors:
        if tool and factor.name not in TOOL_FACTORS:
            raise UsageError(
                f"--vary {factor.name} has no effect on the programs of --tool {tool}: they are"
                " built and set up before. Name the folder of each build: --vary tool-path=DIR,DIR"
            )
        if not tool and factor.name == "tool-path":
            raise UsageError("--vary tool-path names folders of a suite's programs: add --tool")


def _require_numbers(name: str, levels: Sequence[str]) -> None:
    least, most = NUMBERS[name]
    for level in levels:
        if not (level.isascii() and level.isdecimal() and least <= int(level) <= most):
            raise UsageError(f"--vary {name} takes numbers from {least} to {most}, not {level!r}")


def make_design(factors: Sequence[Factor], blocks: int, seed: int) -> Design:
    """Combine all levels; each of ``blocks`` has its own random order.

    Raises:
        UsageError: a factor twice, two that exclude each other, or too many combinations.
    """
    names = [factor.name for factor in factors]
    if len(set(names)) < len(names):
        raise UsageError(f"--vary names {max(names, key=names.count)} twice")
    if {"ppn", "ranks"} <= set(names):
        raise UsageError("--vary ranks sets the ranks of each node itself; vary ppn or ranks")
    if {"transport", "provider"} <= set(names):
        raise UsageError(
            "--vary provider works only with --transport ofi; vary transport or provider"
        )
    arms = tuple(product(*(factor.levels for factor in factors)))
    if len(arms) > MAX_ARMS:
        raise UsageError(f"{len(arms)} combinations are more than {MAX_ARMS}; vary fewer at once")
    rng = np.random.default_rng(seed)
    order = tuple(tuple(map(int, rng.permutation(len(arms)))) for _ in range(blocks))
    return Design(tuple(factors), arms, (), order, seed)
