"""Build the engine against an MPI, once for each combination of compiler, MPI and sources.

The compiler is called directly, so that a machine needs only an MPI's C++ wrapper; CMake is for
developers of the engine. Most of the engine knows no MPI: this core is compiled once for each
compiler, and each MPI's build is linked with it. The cache has one folder per build, which appears
complete or not at all.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.find import ASK_TIMEOUT_S
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.writing import make_folder

#: The sources in an installed package, and in a checkout.
INSTALLED = Path(__file__).resolve().parents[2] / "_engine_source"
CHECKOUT = Path(__file__).resolve().parents[4] / "engine"

#: A compiler may define _FORTIFY_SOURCE itself, and warns about a second definition.
FLAGS = (
    "-O2", "-std=c++17", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
)  # fmt: skip

#: glibc before 2.34 has timers and dlopen in separate libraries. Symbols are bound at the start, so
#: that no first call is slower and the table of calls is read-only.
LIBRARIES = ("-pthread", "-lrt", "-ldl", "-Wl,-z,relro,-z,now")

COMPILE_TIMEOUT_S = 600.0

_ERROR_LINE = re.compile("error|undefined reference|not found", re.IGNORECASE)
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def source_folder() -> Path:
    """Return the folder with include/ and src/.

    Raises:
        CannotRun: neither folder has them.
    """
    for folder in (INSTALLED, CHECKOUT):
        if (folder / "src" / "main.cpp").exists():
            return folder
    raise CannotRun(
        f"the engine's sources are in neither {INSTALLED} nor {CHECKOUT}; install fabricgauge again"
    )


def translation_units(folder: Path) -> tuple[Path, ...]:
    """Return the source files to compile, in a fixed order."""
    return tuple(sorted((folder / "src").glob("*.cpp")))


def knows_mpi(unit: Path) -> bool:
    """Check whether a source file is compiled against an MPI; other files need no MPI."""
    return unit.stem == "main" or unit.stem.startswith("mpi_")


def digest(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all compiled files."""
    files = [*(folder / "src").glob("*.?pp"), *(folder / "include").rglob("*.hpp")]
    content = hashlib.sha256()
    for file in sorted(files):
        content.update(f"{file.relative_to(folder)}\0".encode())
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()


def digest_files(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' contents, in the order of their paths."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


#: Headers of transports in a distribution; the engine contains a transport if its header exists.
VERBS_HEADER = Path("/usr/include/infiniband/verbs.h")
OFI_HEADER = Path("/usr/include/rdma/fabric.h")


def identity_of(parts: Sequence[str]) -> str:
    """Return 16 hexadecimal digits that identify the parts, the headers and the processor.

    Machines with different processors may share the home directory of the cache.
    """
    headers = (str(VERBS_HEADER.exists()), str(OFI_HEADER.exists()))
    all_parts = [*parts, *headers, platform.machine()]
    return hashlib.sha256(json.dumps(all_parts).encode()).hexdigest()[:16]


def objects(units: Sequence[Path], folder: Path) -> list[Path]:
    """Return the paths of the sources' object files in ``folder``."""
    return [folder / f"{unit.stem}.o" for unit in units]


def compilations(
    compiler: Sequence[str], units: Sequence[Path], sources: Path, folder: Path
) -> list[list[str]]:
    """Return a command for each of ``units``; ``compiler`` includes its words."""
    flags = f'-DFABRICGAUGE_FLAGS="{" ".join(FLAGS)}"'
    words = [*compiler, flags, f"-I{sources / 'include'}", "-c"]
    pairs = zip(units, objects(units, folder), strict=True)
    return [[*words, str(unit), "-o", str(object_file)] for unit, object_file in pairs]


def run_all(commands: Sequence[Sequence[str]], env: Mapping[str, str] = _NO_VARIABLES) -> None:
    """Run commands in parallel, one per processor at the same time.

    Raises:
        CannotRun: a command failed.
    """

    def run(command: Sequence[str]) -> None:
        completed = process.run(command, timeout_s=COMPILE_TIMEOUT_S, env=env)
        if completed.exit_code != 0:
            lines = completed.stderr.strip().splitlines() or ["no output"]
            first = next((line for line in lines if _ERROR_LINE.search(line)), lines[-1])
            raise CannotRun(f"the compiler failed: {first}; the command was: {' '.join(command)}")

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(run, commands))


PROGRAM = "fabricgauge-engine"
DESCRIPTION = "engine.json"


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/fabricgauge/engines``, by default below ~/.cache."""
    return place("XDG_CACHE_HOME") / "engines"


def cached_engine(identity: str) -> Engine | None:
    """Return the build with that identity if it is complete and no other user can change it."""
    folder = cache_folder() / identity
    if not_own(folder / PROGRAM, or_roots=True) or not_own(folder / DESCRIPTION, or_roots=True):
        return None
    try:
        raw = (folder / DESCRIPTION).read_bytes()
        engine = msgspec.json.decode(raw, type=Engine, dec_hook=lambda kind, text: kind(text))
    except (OSError, msgspec.MsgspecError):
        return None
    return engine if os.access(engine.path, os.X_OK) else None


def cached_engines() -> Iterator[Engine]:
    """Return all complete builds, newest first."""
    with suppress(FileNotFoundError):
        folders = [entry for entry in cache_folder().iterdir() if (entry / DESCRIPTION).exists()]
        for folder in sorted(folders, key=lambda entry: entry.stat().st_mtime, reverse=True):
            engine = cached_engine(folder.name)
            if engine:
                yield engine


@contextmanager
def build_folder() -> Iterator[Path]:
    """Make a temporary folder on the file system of the cache; remove it at the end.

    Raises:
        CannotRun: others could change a program there before it starts.
    """
    make_folder(cache_folder())
    if reason := not_own(cache_folder()):
        raise CannotRun(
            f"no program is built in {cache_folder()}: {reason}; remove the write permission of"
            " others, or set XDG_CACHE_HOME to a directory of your own"
        )
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache_folder()) as folder:
        yield Path(folder)


def cached_or_built(
    engine: Engine, make: Callable[[Path], Sequence[Path]], *, force: bool = False
) -> Engine:
    """Return the cached build with the engine's identity, else a new build.

    ``make`` writes the program and its other files into a folder and returns their paths.
    """
    cached = None if force else cached_engine(engine.identity)
    if cached:
        return cached
    with build_folder() as folder:
        files = make(folder)
        # Another process may have built the same engine in the meantime, and run it now.
        return (None if force else cached_engine(engine.identity)) or store_engine(engine, *files)


def store_engine(engine: Engine, program: Path, *other_files: Path) -> Engine:
    """Move a built program and its other files into the cache; return the engine with its path.

    Two builds of the same identity may end at the same time: they are equivalent.
    """
    final = cache_folder() / engine.identity
    stored = msgspec.structs.replace(engine, path=final / PROGRAM)
    with build_folder() as folder:
        program.rename(folder / PROGRAM)
        for file in other_files:
            file.rename(folder / file.name)
        (folder / DESCRIPTION).write_bytes(msgspec.json.encode(stored, enc_hook=str))
        store_folder(folder, final)
    return stored


def cached_files(
    identity: str, names: Sequence[str], make: Callable[[Path], object]
) -> tuple[Path, ...]:
    """Return the cached files of a build, in the order of their names.

    If a file is missing, or others can change it, ``make`` writes all files into a folder.
    """
    final = cache_folder() / identity
    files = tuple(final / name for name in names)
    if not all(file.exists() and not not_own(file, or_roots=True) for file in files):
        with build_folder() as folder:
            make(folder)
            store_folder(folder, final)
    return files


def store_folder(folder: Path, final: Path) -> None:
    """Move a folder's files to ``final``, all or none; an existing ``final`` is replaced."""
    complete = Path(tempfile.mkdtemp(prefix=".whole-", dir=cache_folder()))
    try:
        complete.chmod(0o755)
        for file in folder.iterdir():
            file.chmod(file.stat().st_mode & 0o755)  # only the owner can write, with any umask
            file.rename(complete / file.name)
        for _ in range(3):
            with suppress(OSError):  # rename refuses a target folder that is not empty
                complete.rename(final)
                return
            shutil.rmtree(final, ignore_errors=True)
        complete.rename(final)
    finally:
        shutil.rmtree(complete, ignore_errors=True)


#: Macros that leave the C++ bindings out of the headers of Open MPI and MPICH.
DEFINITIONS = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")

#: Prefixes of a wrapper's words that change the compiled code; the other words name the MPI.
CODE_FLAGS = ("-f", "-m", "-D")

#: Variables with which a wrapper calls another compiler, by kind of MPI. Sources: MPICH's
#: mpicxx(1), Open MPI's mpicxx(1), Intel MPI Developer Reference, "Compiler Commands".
COMPILER_VARIABLES = {"mpich": "MPICH_CXX", "openmpi": "OMPI_CXX", "intelmpi": "I_MPI_CXX"}


def build(
    mpi: Mpi, *, force: bool = False, compiler: str = "", notify: Callable[[], None] = lambda: None
) -> Engine:
    """Return the engine for that MPI: the cached build if nothing has changed, else a new build.

    ``compiler`` replaces the wrapper's own C++ compiler. ``notify`` is called before a new build,
    which takes up to a minute.

    Raises:
        ToolMissing: the compiler is not installed.
        CannotRun: the compiler could not build the sources.
    """
    if compiler and shutil.which(compiler) is None:
        raise ToolMissing(f"{compiler} is not installed; name a C++ compiler, e.g. g++ or clang++")
    env = {**mpi.env, COMPILER_VARIABLES[mpi.kind]: compiler} if compiler else mpi.env
    version, sources = first_line(mpi.mpicxx, "--version", env), digest(source_folder())
    identity = identity_of([
        str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, link_line(mpi, env),
        version, *FLAGS, *DEFINITIONS, sources,
    ])  # fmt: skip
    engine = Engine(Path(PROGRAM), mpi, identity, FLAGS, version, sources=sources)

    def make(folder: Path) -> list[Path]:
        notify()
        return [_compile(mpi, folder, env, version)]

    return cached_or_built(engine, make, force=force)


def identify_programs(mpi: Mpi, *folders: str) -> tuple[str, str]:
    """Return the identity of what an MPI's wrapper builds from the core and these folders.

    The second value is the version of the wrapper's compiler.

    Raises:
        CannotRun: the wrapper has no compiler.
    """
    sources = source_folder()
    version = first_line(mpi.mpicxx, "--version", mpi.env)
    return identity_of([
        str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, version, *FLAGS,
        *DEFINITIONS, digest(sources),
        digest_files(file for folder in folders for file in (sources / folder).glob("*.?pp")),
    ]), version  # fmt: skip


def link_line(mpi: Mpi, env: Mapping[str, str]) -> str:
    """Return the wrapper's command: the compiler with all its words."""
    return first_line(mpi.mpicxx, "--showme" if mpi.kind == "openmpi" else "-show", env)


def first_line(mpicxx: Path, argument: str, env: Mapping[str, str]) -> str:
    completed = process.run([str(mpicxx), argument], timeout_s=ASK_TIMEOUT_S, env=env)
    if completed.exit_code != 0 or not completed.stdout.strip():
        errors = completed.stderr.strip().splitlines() or ["no output"]
        raise CannotRun(
            f"{mpicxx} {argument} failed: {errors[-1]}; the MPI's C++ wrapper needs a C++ compiler,"
            " e.g. Debian's g++"
        )
    return completed.stdout.splitlines()[0]


def _compile(mpi: Mpi, folder: Path, env: Mapping[str, str], version: str) -> Path:
    """Compile the sources that use MPI, and link them with the core."""
    _, core = compile_core(mpi, env, version)
    sources, program = source_folder(), folder / PROGRAM
    mpi_units = [unit for unit in translation_units(sources) if knows_mpi(unit)]
    compiler = [str(mpi.mpicxx), *FLAGS]
    run_all(compilations([*compiler, *DEFINITIONS], mpi_units, sources, folder), env)
    object_files = map(str, (*objects(mpi_units, folder), *core))
    run_all([[*compiler, *object_files, "-o", str(program), *LIBRARIES]], env)
    return program


def compile_core(
    mpi: Mpi, env: Mapping[str, str], version: str
) -> tuple[list[str], tuple[Path, ...]]:
    """Return the compiler of an MPI's wrapper with its words, and the core's object files.

    Compiles the core unless the cache has it from another build.

    Raises:
        CannotRun: the compiler could not build the sources.
    """
    compiler, sources = _plain_compiler(mpi, env), source_folder()
    units = [unit for unit in translation_units(sources) if not knows_mpi(unit)]

    def compile_units(folder: Path) -> None:
        run_all(compilations(compiler, units, sources, folder), env)

    program = str(Path(shutil.which(compiler[0]) or compiler[0]).resolve())
    # g++ and c++ are two names of one program: its version begins with the name of the call.
    identity = identity_of([program, version.partition(" ")[2], *compiler[1:], digest(sources)])
    names = [file.name for file in objects(units, Path())]
    return compiler, cached_files(f"core-{identity}", names, compile_units)


def _plain_compiler(mpi: Mpi, env: Mapping[str, str]) -> list[str]:
    """Return the wrapper's compiler with its words, without the words that name the MPI."""
    compiler, *words = shlex.split(link_line(mpi, env))
    code_words = (word for word in words if word.startswith(CODE_FLAGS) or _has_transport(word))
    return [compiler, *code_words, *FLAGS]


def _has_transport(word: str) -> bool:
    """Check for a folder with a transport's headers: without it the core does not link."""
    headers = ("rdma/fabric.h", "infiniband/verbs.h")
    return word.startswith("-I") and any((Path(word[2:]) / header).exists() for header in headers)
