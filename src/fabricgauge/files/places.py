"""Where a user's own files are: the XDG Base Directory Specification, version 0.8."""

import os
from pathlib import Path

#: The variables, and what stands for each that is not set, below the user's home.
_USUAL = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


def place(variable: str) -> Path:
    """This program's folder in one of them. A relative path is ignored, as the text says."""
    said = Path(os.environ.get(variable, ""))
    return (said if said.is_absolute() else Path.home() / _USUAL[variable]) / "fabricgauge"
