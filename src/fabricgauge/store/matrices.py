"""All-pairs matrices in a run directory: ``matrices.npz``, which NumPy reads as it is.

``matrices`` is a list of keys. For each there are ``KEY.about`` (network, quantity, message
size in bytes), ``KEY.nodes``, and as float32 ``KEY.values``, ``KEY.spread`` and, of more than one
launch, ``KEY.repeats``. What is not known is NaN. The unit is the second or the byte per second.
"""

import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.errors import StoreError
from fabricgauge.model.pairs import PairMatrix, Quantity, matrix_keys
from fabricgauge.store.run_directory import RunDirectory

NAME = "matrices.npz"
#: Coverage, 0 to 1, below which a matrix is worth the time that compressing takes.
WORTH_COMPRESSING = 0.5
_KEYS = "matrices"

#: All that a damaged archive raises in NumPy 1.26 to 2.4: OSError apart, which has a reason.
_DAMAGED = (
    ValueError, LookupError, EOFError, TypeError, AttributeError, MemoryError, OverflowError,
    SyntaxError, RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_matrices(directory: RunDirectory, matrices: Sequence[PairMatrix]) -> None:
    """Write all of them, whole or not at all.

    Raises:
        StoreError: the file cannot be written, with the reason.
    """
    path = directory.path / NAME
    draft = path.with_name(f".{NAME}.new")
    keys = matrix_keys(matrices)
    try:
        with draft.open("wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                _put(archive, _KEYS, np.array(keys, dtype=np.str_))
                for key, matrix in zip(keys, matrices, strict=True):
                    _put_matrix(archive, key, matrix)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


def read_matrices(directory: RunDirectory) -> tuple[PairMatrix, ...]:
    """The matrices of a run; none where it has measured no pairs.

    Raises:
        StoreError: the file cannot be read, or is damaged.
    """
    path = directory.path / NAME
    if not path.exists():
        return ()
    try:
        # NumPy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return tuple(_matrix(archive, str(key), path) for key in archive[_KEYS])
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except _DAMAGED as error:
        raise StoreError(f"{path} is damaged: {error}") from error


def _put_matrix(archive: zipfile.ZipFile, key: str, matrix: PairMatrix) -> None:
    about = (matrix.network, matrix.quantity, str(matrix.message_bytes))
    _put(archive, f"{key}.about", np.array(about, dtype=np.str_))
    _put(archive, f"{key}.nodes", np.array(matrix.nodes, dtype=np.str_))
    # Figures do not compress, but what was not measured does.
    small = matrix.coverage < WORTH_COMPRESSING
    _put(archive, f"{key}.values", matrix.values.astype(np.float32), small)
    _put(archive, f"{key}.spread", matrix.spread.astype(np.float32), small)
    if len(matrix.repeats) > 1:
        _put(archive, f"{key}.repeats", matrix.repeats.astype(np.float32), small)


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any], small: bool = True) -> None:
    entry = zipfile.ZipInfo(f"{name}.npy")
    entry.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
    with archive.open(entry, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _matrix(archive: Any, key: str, path: Path) -> PairMatrix:
    network, quantity, message_bytes = map(str, archive[f"{key}.about"])
    nodes = tuple(map(str, archive[f"{key}.nodes"]))
    shape = (len(nodes), len(nodes))
    values = _numbers(archive[f"{key}.values"], shape)
    repeats = f"{key}.repeats"
    known: dict[str, Quantity] = {name: name for name in get_args(Quantity)}
    return PairMatrix(
        network=network,
        quantity=known[quantity],
        message_bytes=int(message_bytes),
        nodes=nodes,
        values=values,
        spread=_numbers(archive[f"{key}.spread"], shape).astype(np.float32),
        repeats=_numbers(archive[repeats], (-1, *shape)) if repeats in archive else values[None],
    )


def _numbers(stored: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """As float64; ValueError for any other shape (-1: of any length) or type."""
    if stored.dtype != np.float32 or stored.ndim != len(shape):
        raise ValueError(f"expected {len(shape)} dimensions of float32")
    if any(wanted not in (-1, there) for wanted, there in zip(shape, stored.shape, strict=True)):
        raise ValueError(f"expected {shape}, found {stored.shape}")
    return stored.astype(np.float64)
