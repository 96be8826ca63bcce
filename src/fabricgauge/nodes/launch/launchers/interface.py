"""The interface of a launcher's module."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.launch.mpi_impls import MpiImplementation

Starting = Callable[
    [MpiImplementation, Mpi, PlannedLaunch, HostAccess, tuple[str, ...]], LaunchCommand
]


class Launcher(msgspec.Struct, frozen=True):
    """How to reach nodes and start ranks on them.

    ``reach`` returns the hosts that a request names, or raises UsageError. ``is_usual`` is true if
    the launcher serves a request without ``--launcher``. ``starts`` builds the command that starts
    ranks; it is None if the MPI's launcher does that through ``agent`` of ``HostAccess``. Both
    commands get ``environment``.
    """

    reach: Callable[[MeasurementRequest], HostAccess]
    is_usual: Callable[[MeasurementRequest], bool]
    starts: Starting | None = None
    environment: Mapping[str, str] = MappingProxyType({})
