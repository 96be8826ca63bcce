"""A program of the user's own under the profiling library, and what it left."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge import __version__, process
from fabricgauge.app.programs import named_mpi
from fabricgauge.app.progress import Progress
from fabricgauge.engines.find import find_mpis, mpi_of
from fabricgauge.engines.profiler import profile_library
from fabricgauge.files.reading import opened, read_bytes, shown
from fabricgauge.model.application import ApplicationProfile
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.parse.mpi_profile import MAGIC, profiles_of
from fabricgauge.parse.other_profilers import IPM, MPIP, ipm_profile, mpip_profile
from fabricgauge.store.run_directory import RunDirectory, find, now_utc
from fabricgauge.store.run_files import About
from fabricgauge.words.sentences import counted

#: Where a rank keeps what it records, and what says so to it.
FOLDER = "profile"
FOLDER_VARIABLE = "FABRICGAUGE_PROFILE"

#: What launchers say of themselves. Sources: seen of Open MPI 4.1, 5.0 (PRRTE), MPICH 4.0, 5.0 and
#: Intel MPI 2021; srun(1) hands the environment on by itself, and knows no MPI.
_OPEN_MPI = re.compile(r"Open MPI|PRRTE|prterun", re.IGNORECASE)
_LAUNCHERS = re.compile(r"(?:mpirun|mpiexec|orterun|prterun|srun)")

#: Where a report of mpiP or IPM says what it is.
_HEAD_BYTES = 400

SUFFIXES = ("*.profile", "*.rank")


def mpi_under(argv: Sequence[str], named: str) -> Mpi:
    """The MPI of a command: the one that is named, or that of the first program linked with one.

    Raises:
        CannotRun: the command names no such program; the message is of the last one.
    """
    if named:
        return named_mpi(named)
    known = find_mpis()
    why = CannotRun(f"no program was found in `{shlex.join(argv)}`; give the path of the program")
    for program in _programs(argv):
        try:
            return mpi_of(program, known)
        except CannotRun as error:
            why = error
    raise why


def is_launcher(word: str) -> bool:
    """Whether a word of a command is what starts ranks."""
    return _LAUNCHERS.match(Path(word).name) is not None


def _programs(argv: Sequence[str]) -> Iterator[Path]:
    """Words that name programs; a launcher is none that is meant."""
    for place, word in enumerate(argv):
        path = shutil.which(word)
        if path and not (place == 0 and is_launcher(word)):
            yield Path(path)


def variables(mpi: Mpi, folder: Path) -> dict[str, str]:
    """What makes each rank record."""
    before = os.environ.get("LD_PRELOAD", "")
    library = str(profile_library(mpi))
    return {
        "LD_PRELOAD": f"{library}:{before}" if before else library, FOLDER_VARIABLE: str(folder)
    }  # fmt: skip


def handed_on(argv: Sequence[str]) -> tuple[str, ...]:
    """The command whose launcher hands the variables on: Open MPI's has to be told, others do."""
    if is_launcher(argv[0]) and shutil.which(argv[0]):
        said = process.run([argv[0], "--version"], timeout_s=30.0)
        if _OPEN_MPI.search(said.stdout + said.stderr):
            words = [word for name in ("LD_PRELOAD", FOLDER_VARIABLE) for word in ("-x", name)]
            return (argv[0], *words, *argv[1:])
    return tuple(argv)


def profiled(
    argv: Sequence[str], named: str, directory: RunDirectory, progress: Progress
) -> tuple[tuple[ApplicationProfile, ...], int]:
    """Run a command on this terminal under the library; its profiles, and its exit status.

    Raises:
        CannotRun: no MPI is known that it could use.
        ToolMissing: the program is not there.
    """
    mpi = mpi_under(argv, named)
    progress.stage(f"profiling for {mpi.kind} {mpi.version}; the library is built once")
    folder = directory.raw(FOLDER).absolute()
    command, env = handed_on(argv), variables(mpi, folder)
    environment = {"fabricgauge": __version__, "MPI": f"{mpi.kind} {mpi.version}", **env}
    directory.write("run.json", About(now_utc(), tuple(map(shown, command)), environment))
    status = process.run_in_foreground(command, env)
    return read_profiles(folder), status


def read_profiles(place: Path) -> tuple[ApplicationProfile, ...]:
    """The profiles of a file, or of all files of a folder that the library wrote.

    Raises:
        CannotRun: a file is no profile, or it cannot be read.
    """
    files = [place] if place.is_file() else _written(place)
    return profiles_of(map(_content, files)) if files else ()


def _written(folder: Path) -> list[Path]:
    return sorted(file for suffix in SUFFIXES for file in folder.glob(suffix))


def recorded(directory: RunDirectory) -> bool:
    """Whether a rank left anything in a run's directory."""
    return bool(_written(directory.raw(FOLDER)))


def _content(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError as error:
        raise CannotRun(f"cannot read {file}: {error.strerror}") from error


def is_profile(place: Path) -> bool:
    """Whether a file, or a run's folder, holds what a profiler wrote: ours, mpiP or IPM."""
    if place.is_dir():
        return (place / "raw" / FOLDER).is_dir()
    with suppress(OSError), opened(place) as file:
        head = file.read(_HEAD_BYTES)
        return head.startswith(MAGIC) or any(sign.encode() in head for sign in (MPIP, IPM))
    return False


def profiles_at(place: Path) -> tuple[ApplicationProfile, ...]:
    """The same of what ``is_profile``.

    Raises:
        CannotRun: it cannot be read or understood.
    """
    if place.is_dir():
        folder = place / "raw" / FOLDER
        theirs = [one for one in sorted(folder.glob("*.txt")) if is_profile(one)]
        return profiles_at(theirs[0]) if theirs else read_profiles(folder)
    content = _content(place)
    if content.startswith(MAGIC):
        return profiles_of([content])
    text = content.decode("utf-8", "replace")
    return (ipm_profile(text) if IPM in text[:_HEAD_BYTES] else mpip_profile(text),)


def imported(place: Path, directory: RunDirectory) -> ApplicationProfile:
    """A profiler's file, copied into a run so that it is shown again."""
    found = require_recorded(profiles_at(place), 0)
    suffix = ".profile" if found.source == "fabricgauge" else ".txt"
    directory.raw(FOLDER)
    directory.write_bytes(f"raw/{FOLDER}/imported{suffix}", _content(place))
    about = About(now_utc(), ("fabricgauge", "import", shown(str(place))), {"from": found.source})
    directory.write("run.json", about)
    return found


def profile_named(named: str, root: Path) -> ApplicationProfile:
    """The profile of a file, or of a run by its directory or identity.

    Raises:
        UsageError: it holds none.
        StoreError: there is no such run.
    """
    place = Path(named) if Path(named).is_file() else find(root, named).path
    if not is_profile(place):
        raise UsageError(f"{place} holds no profile; fabricgauge profile makes one")
    return require_recorded(profiles_at(place), 0)


def require_recorded(profiles: tuple[ApplicationProfile, ...], status: int) -> ApplicationProfile:
    """The one with the most calls.

    Raises:
        CannotRun: nothing was recorded.
    """
    if profiles:
        others = len(profiles) - 1
        told = counted(others, "more program")
        note = f"{told} left a profile, in the run's raw/{FOLDER}; this is the one with most calls"
        first = profiles[0]
        return msgspec.structs.replace(first, notes=(*first.notes, note)) if others else first
    raise CannotRun(
        f"no rank came to MPI_Init (exit status {status}): the program has no MPI or ended before"
        " it, is linked statically, is of another MPI than --mpi names, or its launcher does not"
        " hand LD_PRELOAD on to other nodes. If the library says that the profile cannot be"
        " written, make room or name another place by -o"
    )
