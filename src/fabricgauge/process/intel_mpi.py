"""What Intel's vars.sh sets: without it neither its compiler wrappers nor its ranks run."""

from pathlib import Path

#: Where the folders of libfabric's providers are below an Intel MPI: 2021.13 and later, up to
#: 2021.12, and PyPI's impi-rt. Only the first folder that is named is looked into.
_PROVIDERS = ("opt/mpi/libfabric/lib/prov", "libfabric/lib/prov", "lib/prov", "lib")


def variables(home: Path) -> dict[str, str]:
    """The environment of an Intel MPI whose ``bin`` and ``lib`` are below ``home``."""
    providers = [home / name for name in _PROVIDERS if any((home / name).glob("lib*-fi.so"))]
    libraries = [home / name for name in ("lib", "lib/release") if (home / name).is_dir()]
    return {
        "I_MPI_ROOT": str(home),
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        **({"FI_PROVIDER_PATH": str(providers[0])} if providers else {}),
    }
