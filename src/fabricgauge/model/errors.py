"""The single tree of errors that reach a person.

    FabricgaugeError            any error that ends this program
    ├── UsageError              the command line or a configuration file is wrong (exit 2)
    ├── CannotRun               nothing could be measured: no nodes, no MPI, no network (exit 3)
    │   ├── ToolMissing         a program that the work needs is not installed (exit 3)
    │   └── ProbeError          a node's answer cannot be understood (exit 3)
    ├── LabError                a virtual cluster could not be brought up, used or removed
    └── StoreError              a run directory cannot be written or read (exit 3)

Every message names the fault, the node, network or file, and the next step.
"""


class FabricgaugeError(Exception):
    """The fault, the affected thing, and the next step; ``exit_status`` is the program's."""

    exit_status = 3


class UsageError(FabricgaugeError):
    """The command line, an environment variable or a configuration file is wrong."""

    exit_status = 2


class CannotRun(FabricgaugeError):
    """Nothing could be measured."""


class ToolMissing(CannotRun):
    """A program that the work needs is not installed."""


class ProbeError(CannotRun):
    """A node's answer cannot be understood."""


class LabError(FabricgaugeError):
    """A virtual cluster could not be brought up, used or removed."""


class StoreError(FabricgaugeError):
    """A run directory cannot be written or read."""
