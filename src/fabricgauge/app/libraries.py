"""Which libraries the ranks had loaded, and that they are those of this day: paths and hashes."""

import hashlib
import re
from pathlib import Path

from fabricgauge.model.run import Run
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import write_libraries

#: What carries messages: MPI itself, its transports and providers, and who starts ranks.
_CARRIERS = re.compile(
    r"lib(?:mpi|open-|pmpi|fabric|uc[mpst]|uct_|psm|ibverbs|rdmacm|mlx|efa|cxi|opx|pmi|prrte|"
    r"nccl|rccl|sharp|hcoll)|-fi\.so|mca_(?:pml|btl|mtl|osc)_",
    re.IGNORECASE,
)


def note_libraries(directory: RunDirectory, run: Run) -> None:
    """Write down what the launches had loaded; hashes of what carries messages.

    A file that this machine does not have, or cannot read, has no hash.
    """
    paths = sorted({path for one in run.launches if one.header for path in one.header.libraries})
    if paths and not directory.complete:
        write_libraries(directory, {path: _hash(path) for path in paths if carries(path)})


def carries(path: str) -> bool:
    """Whether a library has to do with messages, by its name."""
    return bool(_CARRIERS.search(Path(path).name))


def _hash(path: str) -> str:
    """The beginning of its SHA-256, empty where it cannot be read."""
    library = Path(path)
    try:
        # A node said the name: what is no plain file here might never end.
        return hashlib.sha256(library.read_bytes()).hexdigest()[:16] if library.is_file() else ""
    except OSError:
        return ""
