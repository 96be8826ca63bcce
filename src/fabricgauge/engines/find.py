"""Which MPI installations are there, what each of them is, and which a program was built with."""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fabricgauge import process
from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun, ToolMissing

#: Compiler wrappers in the order in which they are looked for. The suffixed names are Debian's
#: (packages libmpich-dev and libopenmpi-dev), the last two Intel's (Developer Reference, "Compiler
#: Commands": mpiicpx replaces mpiicpc since 2021.10).
WRAPPERS = ("mpicxx.mpich", "mpicxx.openmpi", "mpicxx", "mpiicpx", "mpiicpc")

#: Launchers by kind of MPI, the one that is sure to be the library's own first; {suffix} is that
#: of the wrapper's name. A launcher called just `mpiexec` may be another MPI's.
LAUNCHERS: dict[MpiKind, tuple[str, ...]] = {
    "mpich": ("mpiexec{suffix}", "mpiexec.hydra"),
    "openmpi": ("mpirun{suffix}", "mpiexec{suffix}"),
    "intelmpi": ("mpiexec.hydra", "mpirun"),
}

#: Argument that makes a wrapper say what it is, and what the answer looks like. Sources: Open MPI's
#: opal_wrapper(1), MPICH's mpicxx(1), Intel MPI's mpigxx; seen with Open MPI 4.1 and 5.0, MPICH 4.0
#: and 5.0. A wrapper of another MPI hands the argument on to the compiler.
SIGNS: tuple[tuple[str, MpiKind, re.Pattern[str]], ...] = (
    ("--showme:version", "openmpi", re.compile(r"Open MPI v?(\d[\w.]*)")),
    ("-v", "intelmpi", re.compile(r"Intel\(R\) MPI Library (\d[\w.]*)")),
    ("-v", "mpich", re.compile(r"for MPICH version (\d[\w.]*)")),
)

#: Sonames: Open MPI 4 and 5; MPICH as Debian names it; MPICH's ABI, which Intel MPI shares.
_SONAMES: tuple[tuple[str, MpiKind], ...] = (
    ("libmpi.so.40", "openmpi"), ("libmpich.so.12", "mpich"), ("libmpi.so.12", "mpich"),
)  # fmt: skip

#: Where the folders of libfabric's providers are below an Intel MPI: 2021.13 and later, up to
#: 2021.12, and PyPI's impi-rt. Only the first folder that is named is looked into.
_PROVIDERS = ("opt/mpi/libfabric/lib/prov", "libfabric/lib/prov", "lib/prov", "lib")

ASK_TIMEOUT_S = 30.0


def find_mpis() -> tuple[Mpi, ...]:
    """Every MPI of this machine that can build C++, the embedded one first.

    Wrappers that are the same file are one MPI. A wrapper that is not understood is left out.
    """
    found: dict[Path, Mpi] = {}
    for wrapper in _wrappers():
        identity = wrapper.resolve()
        if identity in found:
            continue
        with suppress(CannotRun):
            found[identity] = describe_mpi(wrapper)
    return tuple(found.values())


def describe_mpi(mpicxx: Path) -> Mpi:
    """Kind, version and launcher of the MPI that a compiler wrapper belongs to.

    Raises:
        ToolMissing: there is no such program.
        CannotRun: it is not the C++ wrapper of MPICH, Open MPI or Intel MPI, or there is no
            launcher beside it.
    """
    wrapper = _absolute(mpicxx)
    for argument, kind, sign in SIGNS:
        asked = process.run([str(wrapper), argument], timeout_s=ASK_TIMEOUT_S)
        answer = sign.search(asked.stdout + asked.stderr)
        if answer:
            launcher = _launcher(wrapper, kind)
            env = intel_variables(wrapper.resolve().parent.parent) if kind == "intelmpi" else {}
            return Mpi(kind, answer.group(1), wrapper, launcher, wrapper == _embedded(), env)
    raise CannotRun(
        f"{wrapper} does not say that it is the C++ compiler wrapper of MPICH, Open MPI or "
        "Intel MPI; name the mpicxx of one of these"
    )


def embedded_mpi() -> Mpi:
    """The MPI that was installed with this program.

    Raises:
        CannotRun: it was not installed.
    """
    if not _embedded().exists():
        raise CannotRun(
            f"there is no MPI beside this program ({_embedded()} does not exist); install it with "
            "`pip install 'fabricgauge[mpi]'`, or name one with --mpi (--mpicxx of engine build)"
        )
    return describe_mpi(_embedded())


def _embedded() -> Path:
    return Path(sys.prefix) / "bin" / "mpicxx"


def _wrappers() -> Iterator[Path]:
    if _embedded().exists():
        yield _embedded()
    for name in WRAPPERS:
        path = shutil.which(name)
        if path:
            yield Path(path)


def _absolute(program: Path) -> Path:
    """The wrapper's own path: its name decides what it does, so links are not followed."""
    path = shutil.which(program)
    if path is None:
        raise ToolMissing(f"{program} is not a program; name the path of an MPI's mpicxx")
    return Path(path).absolute()


def _launcher(wrapper: Path, kind: MpiKind) -> Path:
    suffix = _suffix(wrapper) or _suffix(wrapper.resolve())
    for folder in dict.fromkeys((wrapper.parent, wrapper.resolve().parent)):
        for name in LAUNCHERS[kind]:
            launcher = folder / name.format(suffix=suffix)
            if launcher.exists():
                return launcher
    raise CannotRun(
        f"{wrapper} is {kind}, but there is no launcher beside it "
        f"({' or '.join(LAUNCHERS[kind]).format(suffix=suffix)}); install the MPI's run-time part"
    )


def _suffix(wrapper: Path) -> str:
    return wrapper.suffix if wrapper.suffix in {".mpich", ".openmpi"} else ""


def intel_variables(home: Path) -> dict[str, str]:
    """What Intel's vars.sh sets: without it neither its compiler wrappers nor its ranks run.

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
    """The MPI that a program is linked with.

    Versions share a soname (Open MPI 4 and 5; MPICH and Intel MPI): the folders around the library
    that the loader takes decide. Where none of them is an MPI's, the first known one of its kind is
    taken.

    Raises:
        CannotRun: it is linked with no MPI that is known, or cannot be asked.
    """
    linked = _linked(program)
    for soname, kind in _SONAMES:
        if soname not in linked:
            continue
        # Around the library, or the program where the library is not found.
        if mpi := _around((linked[soname] or program).resolve(), kind, known):
            return mpi
        for mpi in known:
            if mpi.kind == kind:
                return mpi
        raise CannotRun(f"{program} needs {soname} of {kind}, which was not found; load its module")
    raise CannotRun(f"{program} {_without_mpi(program, linked)}")


def _without_mpi(program: Path, linked: Mapping[str, Path | None]) -> str:
    """Why a program is linked with no MPI, and what to do."""
    with suppress(OSError), program.open("rb") as file:
        head = file.read(4)
        if head.startswith(b"#!"):
            return "is a script: name the MPI of what it starts with --mpi"
        if head == b"\x7fELF" and not linked:
            return "is linked statically: nothing can be loaded into it; link it with shared ones"
    return (
        "is linked with no MPI that is known (Open MPI, MPICH, Intel MPI); if it loads one later,"
        " as Python does, name that with --mpi"
    )


def _around(file: Path, kind: MpiKind, known: Sequence[Mpi]) -> Mpi | None:
    """The MPI of the nearest folder above that is one's prefix.

    An Intel MPI's run-time has its launcher in ``bin`` of the prefix that has the library.
    """
    for home in file.parents[:-1]:
        if kind == "mpich" and (home / "bin" / "impi_info").exists():
            return intel_mpi(home)
        for mpi in known:
            wrappers = (mpi.mpicxx, mpi.mpicxx.resolve())
            if mpi.kind == kind and home in [one.parent.parent for one in wrappers]:
                return mpi
        with suppress(CannotRun):
            found = describe_mpi(home / "bin" / "mpicxx")
            if found.kind == kind:
                return found
    return None


def intel_mpi(home: Path) -> Mpi:
    """An Intel MPI's run-time below ``home``."""
    env, bin_ = intel_variables(home), home / "bin"
    asked = process.run(
        [str(bin_ / "mpiexec.hydra"), "--version"], timeout_s=ASK_TIMEOUT_S, env=env
    )
    told = re.search(r"Version (\S+ ?(?:Update \d+)?)", asked.stdout)
    version = told[1].strip() if told else ""
    return Mpi("intelmpi", version, bin_ / "mpiicpx", bin_ / "mpiexec.hydra", env=env)


def _linked(program: Path) -> dict[str, Path | None]:
    """Sonames and the files they resolve to, None where one is not found, as ldd says."""
    asked = process.run(["ldd", str(program)], timeout_s=ASK_TIMEOUT_S)
    pairs = re.findall(r"^\s*(\S+) => (\S+)", asked.stdout, re.MULTILINE)
    return {name: Path(path) if path.startswith("/") else None for name, path in pairs}
