"""The launchers, which reach the nodes: one module each, named in ``LAUNCHERS``."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # help, which lists the launchers, loads none of these
    from fabricgauge.model.engine import Mpi
    from fabricgauge.model.host_access import HostAccess, LaunchCommand
    from fabricgauge.model.plan import PlannedLaunch
    from fabricgauge.model.request import MeasurementRequest
    from fabricgauge.nodes.launch.mpi_impls import MpiImplementation

#: Modules of this folder, each with a ``LAUNCHER``. Without ``--launcher`` the last one whose
#: ``is_usual`` is true reaches the nodes. A module is loaded only when it is used.
LAUNCHERS = ("ssh", "local", "slurm", "srun", "job")


class Launcher(msgspec.Struct, frozen=True):
    """How to reach nodes and start ranks on them.

    ``reach`` returns the hosts that a request names, or raises UsageError. ``is_usual`` is true if
    the launcher serves a request without ``--launcher``. ``starts`` builds the command that starts
    ranks; it is None if the MPI's launcher does that through ``agent`` of ``HostAccess``. Both
    commands get ``environment``.
    """

    reach: "Callable[[MeasurementRequest], HostAccess]"
    is_usual: "Callable[[MeasurementRequest], bool]"
    starts: """Callable[
        [MpiImplementation, Mpi, PlannedLaunch, HostAccess, tuple[str, ...]], LaunchCommand
    ] | None""" = None
    environment: Mapping[str, str] = MappingProxyType({})


def launcher_of(name: str) -> Launcher:
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}").LAUNCHER
    return launcher
