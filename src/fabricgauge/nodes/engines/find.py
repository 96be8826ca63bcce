"""Find MPI installations, describe them, and find the library of an MPI and the MPI of a program.

The library decides which programs an MPI can run: MPICH, Intel MPI, MVAPICH and HPE Cray share one
ABI (MPICH ABI Compatibility Initiative), Open MPI 4 and 5 another, and the standard has a third
(MPI 5.0, chapter 20).

ELF: System V Application Binary Interface, "Object Files" and "Program Loading and Dynamic
Linking"; Linux Standard Base Core 5.0, "Symbol Versioning".
"""

import os
import platform
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes import process

#: Names of the library by kind of MPI, in the order of the search. ``libmpich.so.12`` is Debian's
#: name for MPICH's ABI; ``libmpi_abi.so.1`` is that of the standard's.
STANDARD_ABI = "libmpi_abi.so.1"
SONAMES: dict[MpiKind, tuple[str, ...]] = {
    "mpich": ("libmpi.so.12", "libmpich.so.12", STANDARD_ABI),
    "intelmpi": ("libmpi.so.12", STANDARD_ABI),
    "openmpi": ("libmpi.so.40", STANDARD_ABI),
}

#: Folders that the loader searches by itself (ld.so(8)); Debian has one for each architecture.
_TRIPLET = f"{platform.machine()}-linux-gnu"
SYSTEM_FOLDERS = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", f"/lib/{_TRIPLET}", f"/usr/lib/{_TRIPLET}",
)  # fmt: skip

#: Folders below an MPI's prefix; ``lib/release`` is Intel MPI's up to 2021.12.
_FOLDERS = ("lib", "lib64", "lib/release", f"lib/{_TRIPLET}")

#: Largest library that is read: Intel MPI's has 70 MB.
_MOST_BYTES = 1 << 28


class MpiLibrary(msgspec.Struct, frozen=True):
    """The file, and the name by which programs are linked with it."""

    path: Path
    soname: str


def find_library(mpi: Mpi) -> MpiLibrary:
    """Return the library of an MPI: one whose ABI is known if there is one.

    Raises:
        CannotRun: there is none for this processor; the message names the folders.
    """
    wanted = SONAMES.get(mpi.kind, ())
    homes = dict.fromkeys((mpi.mpiexec.parent.parent, mpi.mpiexec.resolve().parent.parent))
    folders = [home / name for home in homes for name in _FOLDERS if (home / name).is_dir()]
    names = [*wanted, *(f"libmpi.so.{number}" for number in range(60))]
    files = (folder / name for name in dict.fromkeys(names) for folder in folders)
    others = []
    for file in filter(Path.is_file, files):
        elf = parse_elf(file.read_bytes()) if file.stat().st_size < _MOST_BYTES else None
        if elf is None or elf.machine != platform.machine():
            continue
        if elf.soname in wanted:
            return MpiLibrary(file, elf.soname)
        others.append(MpiLibrary(file, elf.soname or file.name))
    if others:
        return others[0]
    raise CannotRun(
        f"the library of the MPI at {mpi.mpiexec} was found in none of"
        f" {', '.join(map(str, folders))} ({' or '.join(wanted)}); name the MPI by the path of its"
        " mpiexec: --mpi PATH"
    )


def library_path(mpi: Mpi, library: MpiLibrary) -> tuple[str, ...]:
    """Return the folders in which ranks must look for the library; none for the system's."""
    folder = str(library.path.parent)
    present = mpi.env.get("LD_LIBRARY_PATH") or os.environ.get("LD_LIBRARY_PATH", "")
    folders = () if folder in SYSTEM_FOLDERS else (folder,)
    return tuple(dict.fromkeys((*folders, *filter(None, present.split(":"))))) if folders else ()


#: ``e_machine`` by the names of uname(2).
MACHINES = {62: "x86_64", 183: "aarch64"}

_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29
_VERSIONS_NEEDED, _VERSIONS_COUNT = 0x6FFFFFFE, 0x6FFFFFFF
#: Longest text that is read: PATH_MAX of Linux.
_LONGEST = 4096


class Elf(msgspec.Struct, frozen=True):
    """``versions`` are the symbol versions that each needed library must have.

    ``interpreter`` is the loader; empty for a static program or a library.
    """

    machine: str
    soname: str = ""
    needed: tuple[str, ...] = ()
    runpath: str = ""
    interpreter: str = ""
    versions: dict[str, tuple[str, ...]] = {}

    def highest(self, prefix: str) -> tuple[int, ...]:
        """Return the highest needed version with a prefix: (2, 17) for GLIBC_2.17, else ()."""
        texts = (text for texts in self.versions.values() for text in texts)
        numbers = (text.removeprefix(prefix) for text in texts if text.startswith(prefix))
        versions = (
            tuple(map(int, number.split(".")))
            for number in numbers
            if number.replace(".", "").isdecimal()
        )
        return max(versions, default=())


def parse_elf(content: bytes) -> Elf | None:
    """Return what the loader reads; None if the content is no such file of 64 bits."""
    try:
        return _parse(content)
    except (struct.error, IndexError, ValueError):
        return None


def _parse(content: bytes) -> Elf | None:
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    (number,) = struct.unpack_from("<H", content, 18)
    machine = MACHINES.get(number, f"machine {number}")
    segments = [*_segments(content)]
    interpreter = next(
        (_text(content, offset) for kind, offset, *_ in segments if kind == _INTERPRETER), ""
    )
    tags = [
        tag
        for kind, offset, _, size in segments
        if kind == _DYNAMIC
        for tag in struct.iter_unpack("<QQ", content[offset : offset + size - size % 16])
    ]
    places = {tag: _offset(segments, value) for tag, value in tags if tag in _ADDRESSES}
    if _STRINGS not in places:
        return Elf(machine, interpreter=interpreter)
    strings = places[_STRINGS]
    texts = {tag: _text(content, strings + value) for tag, value in tags if tag in _TEXTS}
    needed = tuple(_text(content, strings + value) for tag, value in tags if tag == _NEEDED)
    versions = {}
    if _VERSIONS_NEEDED in places:
        count = dict(tags).get(_VERSIONS_COUNT, 0)
        versions = dict(_versions(content, places[_VERSIONS_NEEDED], count, strings))
    runpath = texts.get(_RUNPATH) or texts.get(_RPATH, "")
    return Elf(machine, texts.get(_SONAME, ""), needed, runpath, interpreter, versions)


_ADDRESSES = frozenset({_STRINGS, _VERSIONS_NEEDED})
_TEXTS = frozenset({_SONAME, _RPATH, _RUNPATH})


def _segments(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield kind, offset in the file, address in memory and size in the file of each segment."""
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(table, table + size * count, size or 1):
        kind, _, offset, address, _, file_size = struct.unpack_from("<IIQQQQ", content, at)
        yield kind, offset, address, file_size


def _offset(segments: list[tuple[int, int, int, int]], address: int) -> int:
    for kind, offset, start, size in segments:
        if kind == _LOAD and start <= address < start + size:
            return offset + address - start
    raise ValueError(f"no segment has the address {address:#x}")


def _text(content: bytes, at: int) -> str:
    end = content.index(b"\0", at, at + _LONGEST)
    return content[at:end].decode("utf-8", "replace")


def _versions(
    content: bytes, at: int, count: int, strings: int
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for _ in range(count):
        _, entries, file, first, following = struct.unpack_from("<HHIII", content, at)
        names, place = [], at + first
        for _ in range(entries):
            _, _, _, name, step = struct.unpack_from("<IHHII", content, place)
            names.append(_text(content, strings + name))
            place += step
        yield _text(content, strings + file), tuple(names)
        at += following


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
_KIND_BY_SONAME: tuple[tuple[str, MpiKind], ...] = (
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
    for soname, kind in _KIND_BY_SONAME:
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
