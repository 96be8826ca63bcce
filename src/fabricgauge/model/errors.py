"""The one tree of errors that reach a person.

    FabricgaugeError            anything this program says when it cannot go on
    ├── UsageError              the command line or a configuration file is wrong (exit 2)
    ├── CannotRun               nothing could be measured: no nodes, no MPI, no network (exit 3)
    │   ├── ToolMissing         a program that the work needs is not installed (exit 3)
    │   └── ProbeError          what a node said of itself cannot be understood (exit 3)
    ├── LabError                a virtual cluster could not be brought up, used or removed
    └── StoreError              a run directory cannot be written or read (exit 3)

Every message says what happened, to which node, network or file, and what to do next.
"""


class FabricgaugeError(Exception):
    """What happened, to what, and the next step; ``exit_status`` follows the contract."""

    exit_status = 3


class UsageError(FabricgaugeError):
    """The command line, an environment variable or a configuration file is wrong."""

    exit_status = 2


class CannotRun(FabricgaugeError):
    """Nothing could be measured."""


class ToolMissing(CannotRun):
    """A program that the work needs is not installed."""


class ProbeError(CannotRun):
    """What a node said of itself cannot be understood."""


class LabError(FabricgaugeError):
    """A virtual cluster could not be brought up, used or removed."""


class StoreError(FabricgaugeError):
    """A run directory cannot be written or read."""
