"""The launchers, by which nodes are reached: one module each, named in ``LAUNCHERS``."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricgauge.run.launchers.interface import Launcher

#: Modules of this folder, each with a ``LAUNCHER``. Where none is asked for, the last one whose
#: ``is_usual`` holds is taken. A module is loaded only when it is used.
LAUNCHERS = ("ssh", "local", "slurm", "srun")


def launcher_of(name: str) -> "Launcher":
    """The launcher of that name."""
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}").LAUNCHER
    return launcher
