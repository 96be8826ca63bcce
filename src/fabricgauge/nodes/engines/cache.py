"""Cache builds: one folder per build, which appears complete or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.writing import make_folder

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
        _replace(complete, final)
    finally:
        shutil.rmtree(complete, ignore_errors=True)


def _replace(complete: Path, final: Path) -> None:
    for _ in range(3):
        with suppress(OSError):  # rename refuses a target folder that is not empty
            complete.rename(final)
            return
        shutil.rmtree(final, ignore_errors=True)
    complete.rename(final)
