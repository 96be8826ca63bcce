"""Factors in, design out: every combination of levels, in an order drawn block by block."""

import re
from collections.abc import Sequence
from itertools import product

import numpy as np

from fabricgauge.model.errors import UsageError
from fabricgauge.model.varied import Design, Factor

#: Beyond that a comparison of all combinations takes hours.
MOST_ARMS = 64
ENVIRONMENT = "env:"
KNOWN = ("mpi", "transport", "provider", "memory", "compiler", "bind", f"{ENVIRONMENT}NAME")
BINDINGS = ("core", "none")


#: The level of a variable that leaves it as it is where the comparison is started.
AS_IT_IS = "(as it is)"

#: A comma that no backslash takes for a part of its level.
_BETWEEN = re.compile(r"(?<!\\),")


def factor(said: str) -> Factor:
    r"""``NAME=LEVEL,LEVEL…`` as a factor.

    ``\,`` is a comma within a level; an empty level of a variable is ``AS_IT_IS``.

    Raises:
        UsageError: not so written, an unknown name, or fewer than two levels.
    """
    name, _, listed = said.partition("=")
    levels = tuple(one.replace("\\,", ",") for one in _BETWEEN.split(listed))
    if not listed or len(levels) < 2:
        raise UsageError(
            f"--vary {said!r}: write it as NAME=A,B with two levels or more, e.g."
            " mpi=openmpi,mpich; a stack against itself is mpi=mpich,mpich"
        )
    variable = name.removeprefix(ENVIRONMENT)
    fine = name in KNOWN or (name.startswith(ENVIRONMENT) and variable.isidentifier())
    if not fine:
        raise UsageError(f"--vary {name!r} is not known; there is {', '.join(KNOWN)}")
    if name == "bind" and not set(levels) <= set(BINDINGS):
        raise UsageError(f"--vary bind takes {' and '.join(BINDINGS)}, not {listed}")
    if name.startswith(ENVIRONMENT):
        return Factor(name, tuple(one or AS_IT_IS for one in levels))
    if not all(levels):
        raise UsageError(f"--vary {said!r}: a level is empty")
    return Factor(name, levels)


def design(factors: Sequence[Factor], blocks: int, seed: int) -> Design:
    """All combinations, in each of ``blocks`` in another order.

    Raises:
        UsageError: a factor twice, two that exclude each other, or too many combinations.
    """
    names = [one.name for one in factors]
    if len(set(names)) < len(names):
        raise UsageError(f"--vary names {max(names, key=names.count)} twice")
    if {"transport", "provider"} <= set(names):
        raise UsageError("--vary provider is of --transport ofi; vary transport or provider")
    arms = tuple(product(*(one.levels for one in factors)))
    if len(arms) > MOST_ARMS:
        raise UsageError(f"{len(arms)} combinations are more than {MOST_ARMS}; vary fewer at once")
    rng = np.random.default_rng(seed)
    order = tuple(tuple(map(int, rng.permutation(len(arms)))) for _ in range(blocks))
    return Design(tuple(factors), arms, (), order, seed)
