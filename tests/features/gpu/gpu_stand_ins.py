"""Stand-ins for NVIDIA's driver and for an MPI that says that it is GPU-aware."""

import subprocess
from pathlib import Path

from fabricgauge.nodes.engines.build import source_folder


def stand_ins(folder: Path) -> dict[str, str]:
    """Builds them there; variables that bring them to the ranks."""
    for source, name in (
        ("stand_in_cuda.c", "libcuda.so.1"),
        ("stand_in_gpu_aware.c", "gpu_aware.so"),
        ("corrupting.c", "corrupting.so"),
    ):
        path = source_folder() / "tests" / source
        built = ["cc", "-shared", "-fPIC", "-o", str(folder / name), str(path), "-ldl"]
        subprocess.run(built, check=True)
    return {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": str(folder / "gpu_aware.so")}
