"""Find a user's own files by the XDG Base Directory Specification, version 0.8."""

import os
from pathlib import Path

#: The variables, and the default of each, below the user's home.
_USUAL = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


def place(variable: str) -> Path:
    """Return this program's folder. A relative path is ignored, as the specification asks."""
    folder = Path(os.environ.get(variable, ""))
    return (folder if folder.is_absolute() else Path.home() / _USUAL[variable]) / "fabricgauge"
