"""Explain what breaks nccl-tests and rccl-tests, in one sentence each with a remedy.

Words of the CUDA and HIP run-times (cudaGetErrorString of CUDA 12, hipGetErrorString of ROCm 6), of
NCCL (src/init.cc: ncclGetErrorString) and of nccl-tests (src/common.h, src/common.cu).
"""

import re
from pathlib import Path

from fabricgauge.model.tables import read_table

_SIGNS = [
    (re.compile(sign), meaning)
    for sign, meaning in read_table(Path(__file__).with_suffix(".tsv"), 2)
]

#: Every rank prints a table of its own GPU.
WITHOUT_MPI = (
    "each rank measured its own GPU alone: the program was built without MPI; build it with"
    " `make clean; make MPI=1 MPI_HOME=…`"
)


def meaning(text: str) -> str:
    """Return the meaning of a line and its remedy; empty for a line without a known sign."""
    return next((meaning for sign, meaning in _SIGNS if sign.search(text)), "")
