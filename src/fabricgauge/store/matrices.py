"""Write all-pairs matrices into a run directory: ``matrices.npz``, which NumPy can read.

``matrices`` is a list of keys. Each key has ``KEY.about`` (network, quantity, message size in
bytes), ``KEY.nodes``, and as float32 ``KEY.values``, ``KEY.spread`` and, after several launches,
``KEY.repeats``. Unknown values are NaN. The unit is the second or the byte per second.
"""

import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairMatrix, matrix_keys
from fabricgauge.store.run_directory import RunDirectory, write_whole

NAME = "matrices.npz"
#: Coverage, 0 to 1, below which compression saves enough space for its time.
WORTH_COMPRESSING = 0.5
_KEYS = "matrices"


def write_matrices(directory: RunDirectory, matrices: Sequence[PairMatrix]) -> None:
    """Write all matrices, whole or not at all.

    Raises:
        StoreError: the file cannot be written; the message has the reason.
    """
    keys = matrix_keys(matrices)

    def fill(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            _put(archive, _KEYS, np.array(keys, dtype=np.str_))
            for key, matrix in zip(keys, matrices, strict=True):
                _put_matrix(archive, key, matrix)

    write_whole(directory.path / NAME, fill, directory.path)


def _put_matrix(archive: zipfile.ZipFile, key: str, matrix: PairMatrix) -> None:
    about = (matrix.network, matrix.quantity, str(matrix.message_bytes))
    _put(archive, f"{key}.about", np.array(about, dtype=np.str_))
    _put(archive, f"{key}.nodes", np.array(matrix.nodes, dtype=np.str_))
    # Measured values do not compress, but unmeasured ones do.
    small = matrix.coverage < WORTH_COMPRESSING
    _put(archive, f"{key}.values", matrix.values.astype(np.float32, copy=False), small)
    _put(archive, f"{key}.spread", matrix.spread.astype(np.float32, copy=False), small)
    if len(matrix.repeats) > 1:
        _put(archive, f"{key}.repeats", matrix.repeats.astype(np.float32, copy=False), small)


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any], small: bool = True) -> None:
    entry = zipfile.ZipInfo(f"{name}.npy")
    entry.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
    with archive.open(entry, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
