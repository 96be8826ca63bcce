"""What a launcher's module provides."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.run.mpi_impls.interface import MpiImplementation

Starting = Callable[
    [MpiImplementation, Mpi, PlannedLaunch, HostAccess, tuple[str, ...]], LaunchCommand
]


class Launcher(msgspec.Struct, frozen=True):
    """One way to reach nodes.

    ``reach`` gives the hosts that a request names, or raises UsageError. ``is_usual`` tells whether
    it is taken where none is asked for. ``starts`` makes the command that starts ranks, None where
    the MPI's own launcher does, by way of ``agent`` of ``HostAccess``. ``environment`` is that of
    either.
    """

    reach: Callable[[MeasurementRequest], HostAccess]
    is_usual: Callable[[MeasurementRequest], bool]
    starts: Starting | None = None
    environment: Mapping[str, str] = MappingProxyType({})
