"""Build the profiling library, run a user's program under it, and read its profiles."""

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge import __version__
from fabricgauge.check.programs import named_mpi
from fabricgauge.features.application.other_profilers import (
    IPM,
    MPIP,
    SENT_SECTION,
    ipm_profile,
    mpip_profile,
    reference_profile,
)
from fabricgauge.features.application.profile_reader import MAGIC, profiles_of
from fabricgauge.features.application.profile_values import ApplicationProfile
from fabricgauge.logs.references.interface import REFERENCE_PREFIX, is_reference, reference
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.progress import Progress
from fabricgauge.model.words.sentences import counted
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import (
    DEFINITIONS,
    FLAGS,
    cached_files,
    digest_files,
    identity_of,
    link_line,
    run_all,
    source_folder,
)
from fabricgauge.nodes.engines.find import (
    STANDARD_ABI,
    embedded_mpi,
    find_library,
    find_mpis,
    mpi_of,
)
from fabricgauge.nodes.engines.ready_made import checked_path, find_program, ready_programs
from fabricgauge.store.files.reading import opened, read_bytes, shown
from fabricgauge.store.run_directory import RunDirectory, find, now_utc
from fabricgauge.store.run_files import About

#: The folder of the ranks' records, and the variable that names it.
FOLDER = "profile"
FOLDER_VARIABLE = "FABRICGAUGE_PROFILE"

#: Launchers' own names. Sources: output of Open MPI 4.1, 5.0 (PRRTE), MPICH 4.0, 5.0 and Intel MPI
#: 2021; srun(1) forwards the environment by itself, and knows no MPI.
_OPEN_MPI = re.compile(r"Open MPI|PRRTE|prterun", re.IGNORECASE)
_LAUNCHERS = re.compile(r"(?:mpirun|mpiexec|orterun|prterun|srun)")

#: Bytes of the head of a report in which mpiP or IPM name themselves.
_HEAD_BYTES = 400

SUFFIXES = ("*.profile", "*.rank")


def mpi_of_command(argv: Sequence[str], named: str) -> Mpi:
    """Return the MPI of a command: the named one, or that of the first program linked with one.

    Raises:
        CannotRun: the command has no such program; the message describes the last one.
    """
    if named:
        return named_mpi(named)
    mpis = find_mpis()
    why = CannotRun(f"no program found in `{shlex.join(argv)}`; give the path of the program")
    for place, word in enumerate(argv):
        program = shutil.which(word)
        if program and not (place == 0 and is_launcher(word)):
            try:
                return mpi_of(Path(program), mpis)
            except CannotRun as error:
                why = error
    raise why


def is_launcher(word: str) -> bool:
    return _LAUNCHERS.match(Path(word).name) is not None


def variables(mpi: Mpi, folder: Path) -> dict[str, str]:
    """Return the variables that make each rank record."""
    before = os.environ.get("LD_PRELOAD", "")
    library = str(profile_library(mpi))
    return {
        "LD_PRELOAD": f"{library}:{before}" if before else library, FOLDER_VARIABLE: str(folder)
    }  # fmt: skip


def forward_variables(argv: Sequence[str]) -> tuple[str, ...]:
    """Add options so that the launcher forwards the variables: only Open MPI's needs them."""
    if is_launcher(argv[0]) and shutil.which(argv[0]):
        version = process.run([argv[0], "--version"], timeout_s=30.0)
        if _OPEN_MPI.search(version.stdout + version.stderr):
            words = [word for name in ("LD_PRELOAD", FOLDER_VARIABLE) for word in ("-x", name)]
            return (argv[0], *words, *argv[1:])
    return tuple(argv)


def run_profiled(
    argv: Sequence[str], named: str, directory: RunDirectory, progress: Progress
) -> tuple[tuple[ApplicationProfile, ...], int]:
    """Run a command on this terminal under the library; return its profiles and exit status.

    Raises:
        CannotRun: no MPI is known that it could use.
        ToolMissing: the program is not installed.
    """
    mpi = mpi_of_command(argv, named)
    progress.stage(f"profiling for {mpi.kind} {mpi.version}")
    folder = directory.raw(FOLDER).absolute()
    command, env = forward_variables(argv), variables(mpi, folder)
    environment = {"fabricgauge": __version__, "MPI": f"{mpi.kind} {mpi.version}", **env}
    directory.write("run.json", About(now_utc(), tuple(map(shown, command)), environment))
    status = process.run_in_foreground(command, env)
    return read_profiles(folder), status


def read_profiles(place: Path) -> tuple[ApplicationProfile, ...]:
    """Read the profiles of a file, or of all the library's files in a folder.

    Raises:
        CannotRun: a file is no profile, or it cannot be read.
    """
    files = [place] if place.is_file() else _profile_files(place)
    return profiles_of(map(_content, files)) if files else ()


def _profile_files(folder: Path) -> list[Path]:
    return sorted(file for suffix in SUFFIXES for file in folder.glob(suffix))


def has_profile(directory: RunDirectory) -> bool:
    return bool(_profile_files(directory.raw(FOLDER)))


def _content(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError as error:
        raise CannotRun(f"cannot read {file}: {error.strerror}") from error


def is_profile(place: Path) -> bool:
    """Check if a file, or a run's folder, holds the output of a profiler: ours, mpiP or IPM."""
    if place.is_dir():
        return (place / "raw" / FOLDER).is_dir()
    with suppress(OSError), opened(place) as file:
        head = file.read(_HEAD_BYTES)
        signs = (MPIP, IPM, SENT_SECTION)
        return head.startswith(MAGIC) or any(sign.encode() in head for sign in signs)
    return False


def profiles_at(place: Path) -> tuple[ApplicationProfile, ...]:
    """Read the profiles of a file or folder that ``is_profile``.

    Raises:
        CannotRun: it cannot be read or understood.
    """
    if place.is_dir():
        folder = place / "raw" / FOLDER
        reports = [file for file in sorted(folder.glob("*.txt")) if is_profile(file)]
        return profiles_at(reports[0]) if reports else read_profiles(folder)
    content = _content(place)
    if content.startswith(MAGIC):
        return profiles_of([content])
    text = content.decode("utf-8", "replace")
    return (ipm_profile(text) if IPM in text[:_HEAD_BYTES] else mpip_profile(text),)


def import_profile(place: Path, directory: RunDirectory) -> ApplicationProfile:
    """Copy a profiler's file into a run so that it can be shown again."""
    profile = require_recorded(profiles_at(place), 0)
    suffix = ".profile" if profile.source == "fabricgauge" else ".txt"
    directory.raw(FOLDER)
    directory.write_bytes(f"raw/{FOLDER}/imported{suffix}", _content(place))
    about = About(now_utc(), ("fabricgauge", "import", shown(str(place))), {"from": profile.source})
    directory.write("run.json", about)
    return profile


def find_profile(named: str, root: Path) -> ApplicationProfile:
    """Return the profile of a file, or of a run by its directory or identity.

    A published table of call sites is a profile too.

    Raises:
        UsageError: it holds none.
        StoreError: there is no such run.
    """
    if not Path(named).exists() and is_reference(named):
        return reference_profile(reference(named.removeprefix(REFERENCE_PREFIX)))
    place = Path(named) if Path(named).is_file() else find(root, named).path
    if not is_profile(place):
        raise UsageError(f"{place} holds no profile; fabricgauge profile makes one")
    return require_recorded(profiles_at(place), 0)


def require_recorded(profiles: tuple[ApplicationProfile, ...], status: int) -> ApplicationProfile:
    """Return the profile with the most calls.

    Raises:
        CannotRun: nothing was recorded.
    """
    if profiles:
        more_profiles = len(profiles) - 1
        count = counted(more_profiles, "more program")
        note = f"{count} left a profile in the run's raw/{FOLDER}; this profile has the most calls"
        first = profiles[0]
        return (
            msgspec.structs.replace(first, notes=(*first.notes, note)) if more_profiles else first
        )
    raise CannotRun(
        f"no rank reached MPI_Init (exit status {status}). Possible reasons: the program has no"
        " MPI, ended earlier, is linked statically, or uses another MPI than --mpi; or its launcher"
        " does not forward LD_PRELOAD to other nodes. If the library reports that the profile"
        " cannot be written, free some space or name another place with -o"
    )


LIBRARY = "libfabricgauge-profile.so"

#: The library is loaded into programs without MPI or with another C++ library, so it needs neither.
#: It exists from a program's start, so that its thread-local memory needs no function call.
LIBRARY_FLAGS = (
    "-fPIC", "-shared", "-ftls-model=initial-exec", "-static-libstdc++", "-static-libgcc",
    "-Wl,--exclude-libs,ALL",
)  # fmt: skip
#: Words of an MPI's wrapper that link with that MPI.
_LINKING = ("-l", "-L", "-Wl")


def profile_library(mpi: Mpi) -> Path:
    """Return the library for programs of that MPI: ready-made, or cached, or new.

    Raises:
        CannotRun: this installation has no sources, or the compiler could not build them.
    """
    if ready := _ready_library(mpi):
        return ready
    if mpi.kind == "intelmpi" and not (mpi.mpicxx.exists() and shutil.which(_compiler(mpi)[0])):
        mpi = embedded_mpi()  # for a run-time without compiler; both have MPICH's ABI
    folder = source_folder() / "profile"
    units, content = sorted(folder.glob("*.cpp")), digest_files(folder.glob("*.?pp"))
    abi = ["-DMPI_ABI"] if mpi.standard_abi else []
    compiler = [*_compiler(mpi), *abi, *FLAGS, *DEFINITIONS, *LIBRARY_FLAGS]
    identity = identity_of([str(mpi.mpicxx), mpi.kind, mpi.version, content, *compiler])

    def compile_library(folder: Path) -> None:
        run_all([[*compiler, *map(str, units), "-o", str(folder / LIBRARY)]], mpi.env)

    (library,) = cached_files(f"profile-{identity}", [LIBRARY], compile_library)
    return library


def _ready_library(mpi: Mpi) -> Path | None:
    with suppress(CannotRun):  # an unknown ABI: compile for it
        if not ready_programs():
            return None
        soname = STANDARD_ABI if mpi.standard_abi else find_library(mpi).soname
        program = find_program("profile", soname)
        return checked_path(program) if program else None
    return None


def _compiler(mpi: Mpi) -> list[str]:
    return [word for word in shlex.split(link_line(mpi, mpi.env)) if not word.startswith(_LINKING)]
