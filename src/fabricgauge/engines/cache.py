"""Where builds are kept: a folder per build, which appears complete or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from fabricgauge.files.ownership import not_own
from fabricgauge.files.places import place
from fabricgauge.files.writing import make_folder
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun

PROGRAM = "fabricgauge-engine"
DESCRIPTION = "engine.json"


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/fabricgauge/engines``, by default below ~/.cache."""
    return place("XDG_CACHE_HOME") / "engines"


def kept(identity: str) -> Engine | None:
    """The build of that identity, if it is there, whole, and no other user can have changed it."""
    folder = cache_folder() / identity
    if not_own(folder / PROGRAM, or_roots=True) or not_own(folder / DESCRIPTION, or_roots=True):
        return None
    try:
        raw = (folder / DESCRIPTION).read_bytes()
        engine = msgspec.json.decode(raw, type=Engine, dec_hook=lambda kind, said: kind(said))
    except (OSError, msgspec.MsgspecError):
        return None
    return engine if os.access(engine.path, os.X_OK) else None


def all_kept() -> Iterator[Engine]:
    """Every whole build, newest first."""
    with suppress(FileNotFoundError):
        folders = [entry for entry in cache_folder().iterdir() if (entry / DESCRIPTION).exists()]
        for folder in sorted(folders, key=lambda entry: entry.stat().st_mtime, reverse=True):
            engine = kept(folder.name)
            if engine:
                yield engine


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder beside the kept builds, on the same file system, removed in the end.

    Raises:
        CannotRun: others could change what is built there before it is started.
    """
    make_folder(cache_folder())
    if why := not_own(cache_folder()):
        raise CannotRun(
            f"no program is built in {cache_folder()}: {why}; let only yourself change it, or set"
            " XDG_CACHE_HOME to a directory of your own"
        )
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache_folder()) as folder:
        yield Path(folder)


def kept_or_made(
    engine: Engine, make: Callable[[Path], Sequence[Path]], *, force: bool = False
) -> Engine:
    """The kept build of the engine's identity, else a new one.

    ``make`` leaves it in a folder: the program, and files that lie beside it.
    """
    found = None if force else kept(engine.identity)
    if found:
        return found
    with workshop() as folder:
        made = make(folder)
        # Somebody else may have built the same meanwhile, and be running it.
        return (None if force else kept(engine.identity)) or keep(engine, *made)


def keep(engine: Engine, program: Path, *beside: Path) -> Engine:
    """Put a built program, and files that lie beside it, in their place.

    Returns the engine with its final path.

    Two builds of the same identity may end at the same time: either is as good.
    """
    final = cache_folder() / engine.identity
    placed = msgspec.structs.replace(engine, path=final / PROGRAM)
    with workshop() as folder:
        program.rename(folder / PROGRAM)
        for file in beside:
            file.rename(folder / file.name)
        (folder / DESCRIPTION).write_bytes(msgspec.json.encode(placed, enc_hook=str))
        keep_folder(folder, final)
    return placed


def kept_files(
    identity: str, names: Sequence[str], make: Callable[[Path], object]
) -> tuple[Path, ...]:
    """The kept files of a build, in the order of their names.

    Where one is missing, or others can have changed it, ``make`` leaves new ones in a folder.
    """
    final = cache_folder() / identity
    found = tuple(final / name for name in names)
    if not all(file.exists() and not not_own(file, or_roots=True) for file in found):
        with workshop() as folder:
            make(folder)
            keep_folder(folder, final)
    return found


def keep_folder(made: Path, final: Path) -> None:
    """Put a folder's files in their place, all or none; what is there already is replaced."""
    whole = Path(tempfile.mkdtemp(prefix=".whole-", dir=cache_folder()))
    try:
        whole.chmod(0o755)
        for file in made.iterdir():
            file.chmod(file.stat().st_mode & 0o755)  # whatever the umask: only its owner changes it
            file.rename(whole / file.name)
        _replace(whole, final)
    finally:
        shutil.rmtree(whole, ignore_errors=True)


def _replace(whole: Path, final: Path) -> None:
    for _ in range(3):
        with suppress(OSError):  # the place is taken: rename refuses a folder that is not empty
            whole.rename(final)
            return
        shutil.rmtree(final, ignore_errors=True)
    whole.rename(final)
