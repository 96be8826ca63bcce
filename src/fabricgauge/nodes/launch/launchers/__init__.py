"""The launchers, which reach the nodes: one module each, named in ``LAUNCHERS``."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricgauge.nodes.launch.launchers.interface import Launcher

#: Modules of this folder, each with a ``LAUNCHER``. Without ``--launcher`` the last one whose
#: ``is_usual`` is true reaches the nodes. A module is loaded only when it is used.
LAUNCHERS = ("ssh", "local", "slurm", "srun", "job")


def launcher_of(name: str) -> "Launcher":
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}").LAUNCHER
    return launcher
