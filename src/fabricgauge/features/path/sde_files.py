"""Find files of Intel SDE: a file by its content, or those of a directory."""

from contextlib import suppress
from pathlib import Path

from fabricgauge.features.path.sde import is_sde
from fabricgauge.store.files.reading import opened

#: Bytes of a file that show if SDE wrote it. A mix has its images first.
_HEAD_BYTES = 1 << 16


def sde_files(place: Path) -> list[Path]:
    """Return a file if it is SDE's, or SDE's files in a directory; none in a stored run."""
    if place.is_dir():
        return [file for file in sorted(place.iterdir()) if file.is_file() and _is_sde(file)]
    return [place] if place.is_file() and _is_sde(place) else []


def _is_sde(file: Path) -> bool:
    with suppress(OSError), opened(file) as stream:
        return is_sde(stream.read(_HEAD_BYTES).decode("utf-8", "replace"))
    return False
