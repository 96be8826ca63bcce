"""Find MPI installations, describe them, and find the MPI that a program is linked with."""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.library import STANDARD_ABI

#: Compiler wrappers in the order of the search. The names with suffix are Debian's (packages
#: libmpich-dev and libopenmpi-dev), the last two Intel's (Developer Reference, "Compiler Commands":
#: mpiicpx replaces mpiicpc since 2021.10).
WRAPPERS = ("mpicxx.mpich", "mpicxx.openmpi", "mpicxx", "mpiicpx", "mpiicpc")

#: Launchers by kind of MPI; the first certainly belongs to the library. {suffix} is the suffix of
#: the wrapper's name. A launcher named only `mpiexec` may belong to another MPI.
LAUNCHERS: dict[MpiKind, tuple[str, ...]] = {
    "mpich": ("mpiexec{suffix}", "mpiexec.hydra"),
    "openmpi": ("mpirun{suffix}", "mpiexec{suffix}"),
    "intelmpi": ("mpiexec.hydra", "mpirun"),
}

#: Argument with which a wrapper prints its MPI, and a pattern of the answer. Sources: Open MPI's
#: opal_wrapper(1), MPICH's mpicxx(1), Intel MPI's mpigxx; observed with Open MPI 4.1 and 5.0, MPICH
#: 4.0 and 5.0. A wrapper of another MPI passes the argument to the compiler.
SIGNS: tuple[tuple[str, MpiKind, re.Pattern[str]], ...] = (
    ("--showme:version", "openmpi", re.compile(r"Open MPI v?(\d[\w.]*)")),
    ("-v", "intelmpi", re.compile(r"Intel\(R\) MPI Library (\d[\w.]*)")),
    ("-v", "mpich", re.compile(r"for MPICH version (\d[\w.]*)")),
)

#: Launchers of an MPI without compiler wrappers, the names that belong to one MPI first.
RUNTIME_LAUNCHERS = (
    "mpiexec.hydra", "mpirun.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpirun", "mpiexec",
)  # fmt: skip

#: Folders of launchers beside PATH: packages of RHEL and SLES, of MLNX_OFED, HPC-X and oneAPI.
#: Sources: the file lists of openmpi and mpich in RHEL 8 and 9 and SLES 15; HPC-X 2.18 and oneAPI
#: 2024 installation guides.
USUAL_FOLDERS = (
    "/usr/lib64/openmpi/bin", "/usr/lib64/mpich/bin", "/usr/lib64/mpi/gcc/*/bin",
    "/usr/mpi/gcc/*/bin", "/opt/hpcx/ompi/bin", "/opt/intel/oneapi/mpi/latest/bin",
    "/opt/openmpi/bin", "/opt/mpich/bin",
)  # fmt: skip

#: Output of a launcher's --version. Observed with Open MPI 4.1 and 5.0, MPICH 4.0 and 5.0, Intel
#: MPI 2021.18.
LAUNCHER_SIGNS: tuple[tuple[MpiKind, re.Pattern[str]], ...] = (
    ("openmpi", re.compile(r"Open MPI\)? v?(\d[\w.]*)")),
    ("intelmpi", re.compile(r"Intel\(R\) MPI Library.* Version (\d[\w.]*)")),
    ("mpich", re.compile(r"HYDRA build details:\s+Version:\s+(\d[\w.]*)")),
)

#: Sonames: Open MPI 4 and 5; MPICH on Debian; MPICH's ABI, which Intel MPI shares.
_SONAMES: tuple[tuple[str, MpiKind], ...] = (
    ("libmpi.so.40", "openmpi"), ("libmpich.so.12", "mpich"), ("libmpi.so.12", "mpich"),
    (STANDARD_ABI, "mpich"),
)  # fmt: skip

#: Folders of libfabric's providers below an Intel MPI: 2021.13 and later, up to 2021.12, and PyPI's
#: impi-rt. libfabric searches only the first named folder.
_PROVIDERS = ("opt/mpi/libfabric/lib/prov", "libfabric/lib/prov", "lib/prov", "lib")

ASK_TIMEOUT_S = 30.0


def find_mpis() -> tuple[Mpi, ...]:
    """Return all MPIs of this machine that can build C++, the embedded MPI first.

    Wrappers that are the same file count as one MPI. Unknown wrappers are left out.
    """
    return _describe_all((_embedded_wrapper(), *_find_programs(WRAPPERS)), describe_mpi)


def _find_programs(names: Iterable[str]) -> Iterator[Path]:
    """Yield the paths of the programs that are on PATH."""
    return map(Path, filter(None, map(shutil.which, names)))


def _describe_all(programs: Iterable[Path], describe: Callable[[Path], Mpi]) -> tuple[Mpi, ...]:
    mpis: dict[Path, Mpi] = {}
    for program in programs:
        identity = program.resolve()
        if identity not in mpis and program.exists():
            with suppress(CannotRun):
                mpis[identity] = describe(program)
    return tuple(mpis.values())


def describe_mpi(mpicxx: Path) -> Mpi:
    """Return kind, version and launcher of the MPI of a compiler wrapper.

    Raises:
        ToolMissing: no such program.
        CannotRun: it is no C++ wrapper of MPICH, Open MPI or Intel MPI, or it has no launcher.
    """
    wrapper = _absolute(mpicxx)
    for argument, kind, sign in SIGNS:
        completed = process.run([str(wrapper), argument], timeout_s=ASK_TIMEOUT_S)
        answer = sign.search(completed.stdout + completed.stderr)
        if answer:
            launcher = _find_launcher(wrapper, kind)
            env = intel_variables(wrapper.resolve().parent.parent) if kind == "intelmpi" else {}
            is_embedded = wrapper == _embedded_wrapper()
            return Mpi(kind, answer.group(1), wrapper, launcher, is_embedded, env)
    raise CannotRun(
        f"{wrapper} is not the C++ compiler wrapper of MPICH, Open MPI or Intel MPI; "
        "name the mpicxx of one of these"
    )


def find_runtimes() -> tuple[Mpi, ...]:
    """Return the MPIs of this machine by their launchers; they may have no compiler wrapper."""
    folders = [
        folder
        for pattern in USUAL_FOLDERS
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)
    ]
    usual = (folder / name for folder in folders for name in RUNTIME_LAUNCHERS)
    return _describe_all((*_find_programs(RUNTIME_LAUNCHERS), *usual), describe_launcher)


def describe_launcher(mpiexec: Path) -> Mpi:
    """Return kind and version of the MPI of a launcher, which needs no compiler wrapper.

    Raises:
        ToolMissing: no such program.
        CannotRun: it is no launcher of MPICH, Open MPI or Intel MPI.
    """
    launcher = _absolute(mpiexec)
    completed = process.run([str(launcher), "--version"], timeout_s=ASK_TIMEOUT_S)
    for kind, sign in LAUNCHER_SIGNS:
        if match := sign.search(completed.stdout + completed.stderr):
            home = launcher.resolve().parent.parent
            env = intel_variables(home) if kind == "intelmpi" else {}
            # Debian's wrapper without suffix may be another MPI's.
            wrapper = launcher.parent / f"mpicxx.{kind}"
            wrapper = wrapper if wrapper.exists() else launcher.parent / "mpicxx"
            return Mpi(kind, match[1], wrapper, launcher, env=env)
    raise CannotRun(
        f"{launcher} is not the launcher of MPICH, Open MPI or Intel MPI; name the mpiexec of one"
        " of these"
    )


def embedded_mpi() -> Mpi:
    """Return the MPI that is installed with this program.

    Raises:
        CannotRun: it is not installed.
    """
    if not _embedded_wrapper().exists():
        raise CannotRun(
            f"no MPI is installed with this program ({_embedded_wrapper()} does not exist); install"
            " it with `pip install 'fabricgauge[mpi]'`, or name one with --mpi (--mpicxx of engine"
            " build)"
        )
    return describe_mpi(_embedded_wrapper())


def _embedded_wrapper() -> Path:
    return Path(sys.prefix) / "bin" / "mpicxx"


def _absolute(program: Path) -> Path:
    """Return the wrapper's path without following links: its name determines what it does."""
    path = shutil.which(program)
    if path is None:
        raise ToolMissing(f"{program} is not a program; name the path of an MPI's mpicxx")
    return Path(path).absolute()


def _find_launcher(wrapper: Path, kind: MpiKind) -> Path:
    suffix = _suffix(wrapper) or _suffix(wrapper.resolve())
    for folder in dict.fromkeys((wrapper.parent, wrapper.resolve().parent)):
        for name in LAUNCHERS[kind]:
            launcher = folder / name.format(suffix=suffix)
            if launcher.exists():
                return launcher
    raise CannotRun(
        f"{wrapper} is {kind}, but its folder has no launcher "
        f"({' or '.join(LAUNCHERS[kind]).format(suffix=suffix)}); install the MPI's run-time part"
    )


def _suffix(wrapper: Path) -> str:
    return wrapper.suffix if wrapper.suffix in {".mpich", ".openmpi"} else ""


def intel_variables(home: Path) -> dict[str, str]:
    """Return the variables of Intel's vars.sh, which compiler wrappers and ranks need.

    ``bin`` and ``lib`` are below ``home``.
    """
    providers = [home / name for name in _PROVIDERS if any((home / name).glob("lib*-fi.so"))]
    libraries = [home / name for name in ("lib", "lib/release") if (home / name).is_dir()]
    return {
        "I_MPI_ROOT": str(home),
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        **({"FI_PROVIDER_PATH": str(providers[0])} if providers else {}),
    }


def mpi_of(program: Path, known: Sequence[Mpi]) -> Mpi:
    """Return the MPI that a program is linked with.

    Versions share a soname (Open MPI 4 and 5; MPICH and Intel MPI), so the folders above the loaded
    library decide. If no MPI is installed there, the first ``known`` MPI of the kind is used.

    Raises:
        CannotRun: it is linked with no known MPI, or ldd cannot read it.
    """
    libraries = _linked_libraries(program)
    for soname, kind in _SONAMES:
        if soname not in libraries:
            continue
        # Search above the library, or above the program if the library is missing.
        standard, library = soname == STANDARD_ABI, libraries[soname]
        kinds: tuple[MpiKind, ...] = ("mpich", "openmpi") if standard else (kind,)
        for possible in kinds:
            if mpi := _find_above((library or program).resolve(), possible, known):
                return msgspec.structs.replace(mpi, standard_abi=standard)
        if standard and library:  # of any MPI: its launcher is not guessed
            raise CannotRun(f"{library} belongs to no known MPI; name its MPI with --mpi")
        for mpi in known:
            if mpi.kind == kind:
                return msgspec.structs.replace(mpi, standard_abi=standard)
        raise CannotRun(f"{program} needs {soname} of {kind}, which was not found; load its module")
    raise CannotRun(f"{program} {_describe_missing_mpi(program, libraries)}")


def _describe_missing_mpi(program: Path, libraries: Mapping[str, Path | None]) -> str:
    """Return why a program is linked with no MPI, and what to do."""
    with suppress(OSError), program.open("rb") as file:
        head = file.read(4)
        if head.startswith(b"#!"):
            return "is a script: name the MPI of the program that it starts with --mpi"
        if head == b"\x7fELF" and not libraries:
            return "is linked statically, so no library can be loaded into it; link it dynamically"
    return (
        "is linked with no known MPI (Open MPI, MPICH, Intel MPI); if it loads an MPI later, as"
        " Python does, name that MPI with --mpi"
    )


def _find_above(file: Path, kind: MpiKind, known: Sequence[Mpi]) -> Mpi | None:
    """Return the MPI whose prefix is the nearest folder above a file.

    An Intel MPI's run-time has its launcher in ``bin`` below the prefix of the library.
    """
    for home in file.parents[:-1]:
        if kind == "mpich" and (home / "bin" / "impi_info").exists():
            return intel_mpi(home)
        for mpi in known:
            wrappers = (mpi.mpicxx, mpi.mpicxx.resolve())
            if mpi.kind == kind and home in [wrapper.parent.parent for wrapper in wrappers]:
                return mpi
        with suppress(CannotRun):
            mpi = describe_mpi(home / "bin" / "mpicxx")
            if mpi.kind == kind:
                return mpi
    return None


def intel_mpi(home: Path) -> Mpi:
    """Return an Intel MPI's run-time below ``home``."""
    env, bin_ = intel_variables(home), home / "bin"
    completed = process.run(
        [str(bin_ / "mpiexec.hydra"), "--version"], timeout_s=ASK_TIMEOUT_S, env=env
    )
    match = re.search(r"Version (\S+ ?(?:Update \d+)?)", completed.stdout)
    version = match[1].strip() if match else ""
    return Mpi("intelmpi", version, bin_ / "mpiicpx", bin_ / "mpiexec.hydra", env=env)


def _linked_libraries(program: Path) -> dict[str, Path | None]:
    """Return sonames and the files that ldd resolves them to, None for a missing file."""
    completed = process.run(["ldd", str(program)], timeout_s=ASK_TIMEOUT_S)
    pairs = re.findall(r"^\s*(\S+) => (\S+)", completed.stdout, re.MULTILINE)
    return {name: Path(path) if path.startswith("/") else None for name, path in pairs}
