"""Keep an index of a directory's runs in one SQLite file, which can be deleted at any time.

The index is never written in place. A writer copies it, adds the runs that are new, and renames the
copy over it; readers open it as an immutable file. SQLite's locks, its write-ahead log and shared
memory are therefore never used, which file systems over a network do not support well. Two writers
cannot damage it: the last rename wins, and the runs that only the other one had are added next
time, since each use compares the index with the directory. A killed writer leaves a draft, which a
later one removes.

    run      one row for each run directory, with its settings
    panel    figures of a run: network, part, pattern; places, sizes; values and half-widths
    text     all long texts once, by their hash: settings, lists of nodes, places and sizes
"""

import gc
import hashlib
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np

from fabricgauge.features.history.reading import read_run
from fabricgauge.features.history.values import StoredRun
from fabricgauge.model.errors import StoreError
from fabricgauge.store.files.ownership import place
from fabricgauge.store.files.writing import make_folder, reporting
from fabricgauge.store.run_directory import PARTIAL

#: A file of another format is built again. It rises with each change of tables or of ``reading``.
FORMAT = 4

_TABLES = """
CREATE TABLE text (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, content TEXT);
CREATE TABLE run (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE, state TEXT, started_s REAL, complete INTEGER,
    outcome TEXT, headline TEXT, place TEXT, nodes INTEGER, networks TEXT, mpi TEXT,
    setting INTEGER, node_setting INTEGER, shares TEXT, trouble TEXT
);
CREATE TABLE panel (
    run INTEGER, network TEXT, part TEXT, pattern TEXT, variant TEXT, tool TEXT,
    places INTEGER, sizes INTEGER, figures BLOB, halves BLOB
);
CREATE INDEX panel_run ON panel (run);
"""

#: Runs between two publications: a killed build keeps what it published.
BATCH = 1000
#: With fewer runs to read, starting processes takes longer than it saves.
FEWEST_FOR_PROCESSES = 64
#: Age at which a draft belongs to a writer that was killed.
STALE_S = 24 * 3600.0

Report = Callable[[int, int], None]


def index_file(root: Path) -> Path:
    """Return the index of a directory of runs; no other user can write there."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return place("XDG_CACHE_HOME") / "history" / f"{digest}.sqlite"


@contextmanager
def open_index(
    root: Path, file: Path | None = None, *, rebuild: bool = False,
    report: Report = lambda _done, _total: None,
) -> Iterator[sqlite3.Connection]:  # fmt: skip
    """Bring the index up to date with a directory of runs, and open it to read.

    Raises:
        StoreError: the directory cannot be read, or the index cannot be written.
    """
    path = file or index_file(root)
    if rebuild:
        with reporting("remove", path), suppress(FileNotFoundError):
            path.unlink()
    _update(root, path, report)
    for attempt in range(3):
        try:
            connection = _open_published(path)
            break
        except sqlite3.Error:  # another writer replaced the file just now (ESTALE on NFS)
            if attempt == 2:
                raise StoreError(f"{path} cannot be read; delete it, it is built again") from None
            _update(root, path, report)
    with closing(connection):
        yield connection


def _open_published(path: Path) -> sqlite3.Connection:
    """Open a published index; it never changes, so that SQLite needs no lock."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        if connection.execute("PRAGMA user_version").fetchone() != (FORMAT,):
            raise sqlite3.DatabaseError("another format")
        connection.execute("SELECT count(*) FROM run").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _update(root: Path, path: Path, report: Report) -> None:
    states = _run_states(root)
    known = _known_states(path)
    removed = [name for name in known or () if name not in states]
    new = [name for name, state in states.items() if (known or {}).get(name) != state]
    if known is not None and not new and not removed:
        return
    with reporting("create", path.parent):
        make_folder(path.parent)
    for draft in path.parent.glob(f".{path.name}.*.new"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > STALE_S:
                draft.unlink()
    for start in range(0, max(1, len(new)), BATCH):
        batch = new[start : start + BATCH]
        runs = _read_runs([root / name for name in batch])
        with _draft_of(path, fresh=known is None and start == 0) as connection:
            for name in (*removed, *batch):
                _delete(connection, name.removesuffix(PARTIAL))
            for done, (name, run) in enumerate(zip(batch, runs, strict=True), start + 1):
                _insert(connection, run, states[name])
                report(done, len(new))


def _run_states(root: Path) -> dict[str, str]:
    """Return each run's directory name with a state that differs when its files do.

    A complete run never changes; another one of the same name has another time. The state of an
    incomplete one has the size and time of its records too.
    """
    states: dict[str, str] = {}
    remedy = "name the directory of runs with --output"
    with reporting("list", root, remedy), os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        if name[:1] == ".":
            continue
        files = ("run.json", "results.jsonl") if name.endswith(PARTIAL) else ("run.json",)
        with suppress(OSError):
            statuses = [os.stat(f"{root}/{name}/{file}") for file in files]  # noqa: PTH116 -- twice as fast
            times = " ".join(f"{status.st_size} {status.st_mtime_ns}" for status in statuses)
            # SQLite keeps text. A name that is none is listed as a run that cannot be read.
            readable = name.encode("utf-8", "backslashreplace").decode()
            states[readable] = f"{readable}/{times}"
    return states


def _known_states(path: Path) -> dict[str, str] | None:
    """Return the state of each indexed run; None without a readable index."""
    try:
        with closing(_open_published(path)) as connection:
            rows = connection.execute("SELECT state FROM run")
            return {state.partition("/")[0]: state for (state,) in rows}
    except sqlite3.Error:
        return None


def _read_runs(paths: Sequence[Path]) -> Iterator[StoredRun]:
    processes = len(os.sched_getaffinity(0))
    if processes < 2 or len(paths) < FEWEST_FOR_PROCESSES:
        yield from map(read_run, paths)
        return
    with ProcessPoolExecutor(processes, initializer=_collect_garbage_rarely) as pool:
        yield from pool.map(read_run, paths, chunksize=16)


def _collect_garbage_rarely() -> None:
    """Let a process that reads runs search less often for cycles, which their values do not have.

    It saves a third of the time that a run of 1,000 nodes takes.
    """
    gc.freeze()
    gc.set_threshold(100_000)


@contextmanager
def _draft_of(path: Path, fresh: bool) -> Iterator[sqlite3.Connection]:
    """Yield a writable copy of the index; it replaces the index when the block ends well."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        with reporting("write", draft):
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            os.close(descriptor)
            if not fresh:
                with suppress(FileNotFoundError):
                    shutil.copyfile(path, draft)
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            # Most rows of 1,000 nodes fit into a page of this size; it holds for a new file.
            connection.execute("PRAGMA page_size = 16384")
            # The draft has one writer and is thrown away after a crash.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            if connection.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                connection.executescript(_TABLES)
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        with reporting("write", path), draft.open("rb+") as file:
            os.fsync(file)
            draft.replace(path)
    except sqlite3.Error as error:
        raise StoreError(f"cannot write {draft}: {error}; free some space, or name another index"
                         " with --index") from error  # fmt: skip
    finally:
        draft.unlink(missing_ok=True)


def _delete(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("DELETE FROM panel WHERE run = (SELECT id FROM run WHERE name = ?)", (name,))
    connection.execute("DELETE FROM run WHERE name = ?", (name,))


def _insert(connection: sqlite3.Connection, run: StoredRun, state: str) -> None:
    _delete(connection, run.name)
    number = connection.execute(
        "INSERT INTO run (name, state, started_s, complete, outcome, headline, place, nodes,"
        " networks, mpi, setting, node_setting, shares, trouble)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.name, state, run.started_s, run.complete, run.outcome, run.headline, run.place,
            _text(connection, run.nodes), _json(run.networks),
            run.settings.get("MPI", "").partition(" ")[0],
            _text(connection, run.settings), _text(connection, run.node_settings),
            _json(run.shares), run.trouble,
        ),
    ).lastrowid  # fmt: skip
    connection.executemany(
        "INSERT INTO panel VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                number, panel.network, panel.part, panel.pattern, panel.variant, panel.tool,
                _text(connection, panel.places), _text(connection, panel.sizes),
                panel.values.astype("<f4").tobytes(),
                np.minimum(panel.halves, 60000).astype("<f2").tobytes(),
            )
            for panel in run.panels
        ],
    )  # fmt: skip


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _text(connection: sqlite3.Connection, value: object) -> int:
    """Return the id of a value's text, which is stored once."""
    content = _json(value)
    digest = hashlib.blake2b(content.encode(), digest_size=16).digest()
    row = connection.execute("SELECT id FROM text WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        insert = "INSERT INTO text (digest, content) VALUES (?, ?)"
        return connection.execute(insert, (digest, content)).lastrowid or 0
    number: int = row[0]
    return number
