"""The engine's own sources: where they lie and what their content is."""

import hashlib
from pathlib import Path

from fabricgauge.model.errors import CannotRun

#: An installed package carries them; in a checkout they lie beside src/.
INSTALLED = Path(__file__).resolve().parent.parent / "_engine_source"
CHECKOUT = Path(__file__).resolve().parents[3] / "engine"


def source_folder() -> Path:
    """The folder with include/ and src/.

    Raises:
        CannotRun: neither place has them.
    """
    for folder in (INSTALLED, CHECKOUT):
        if (folder / "src" / "main.cpp").exists():
            return folder
    raise CannotRun(
        f"the engine's sources are in neither {INSTALLED} nor {CHECKOUT}; install fabricgauge again"
    )


def translation_units(folder: Path) -> tuple[Path, ...]:
    """The source files to compile, in a fixed order."""
    return tuple(sorted((folder / "src").glob("*.cpp")))


def knows_mpi(unit: Path) -> bool:
    """Whether a source file is compiled against an MPI; all others are the same for every MPI."""
    return unit.stem == "main" or unit.stem.startswith("mpi_")


def digest(folder: Path) -> str:
    """SHA-256 over names and content of everything that is compiled."""
    files = [*(folder / "src").glob("*.?pp"), *(folder / "include").rglob("*.hpp")]
    content = hashlib.sha256()
    for file in sorted(files):
        content.update(f"{file.relative_to(folder)}\0".encode())
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()
