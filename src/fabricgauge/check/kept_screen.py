"""Keep what a terminal shows of a judged run, and show it again without judging it.

``screen.json`` has it with a digest: of itself, of every file that a run is judged from, of the
thresholds, and of the installed program. If one of them differs, the run is judged anew. The digest
has a key of the user, so that a run from somebody else is always judged anew. Only light modules
are imported here: with numpy, rich and the rules a report starts several times as slowly.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import fabricgauge
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.reading import opened, read_bytes
from fabricgauge.store.files.writing import make_folder, write_whole
from fabricgauge.store.run_directory import DAMAGED, JUDGED_FROM, RunDirectory

if TYPE_CHECKING:
    from fabricgauge.model.judged import Judged
    from fabricgauge.report.document import Report

NAME = "screen.json"
#: The file of the user's key in the cache folder; without it nothing is kept and nothing shown.
KEY, _KEY_BYTES = "screen.key", 32
#: Longer records take longer to judge than the program to start, so nothing is kept of them.
MOST_BYTES = 1 << 26
_BLOCK_BYTES = 1 << 20
#: The outcomes of the day: if they were edited, the run is judged anew, and that is said.
_OUTCOMES = ("verdicts.json", "report.json")
#: Width and colour of no terminal, of a small one, and of any with 140 columns or more.
USUAL_TERMINALS = ((100, False), (80, True), (140, True))


class Screen(msgspec.Struct, frozen=True):
    """What a terminal shows of a run, without the places of its reports.

    ``texts`` are for usual terminals, by ``name_terminal``; ``document`` is for any other.
    """

    texts: dict[str, str]
    document: msgspec.Raw


class KeptScreen(msgspec.Struct, frozen=True):
    """The run's overall outcome, its encoded ``Screen``, and the digest of all."""

    digest: str
    overall: Outcome
    screen: msgspec.Raw


def name_terminal(width: int, colour: bool) -> str:
    return f"{width} columns, {'colour' if colour else 'plain'}"


def keep_screen(directory: RunDirectory, judged: "Judged", thresholds: Thresholds) -> None:
    """Write what a terminal shows of a judged run.

    Raises:
        StoreError: the file cannot be written; the message has the reason.
    """
    from fabricgauge.report.content import run
    from fabricgauge.report.formats import DEFAULT_SETTING
    from fabricgauge.report.interface import Setting
    from fabricgauge.report.render import terminal

    records = directory.path / "results.jsonl"
    if records.exists() and records.stat().st_size > MOST_BYTES:
        return
    _make_key()
    replace = msgspec.structs.replace
    document = run.document(replace(judged, against=()), DEFAULT_SETTING)
    document = _cut_to_screen(replace(document, places=()))
    texts = {
        name_terminal(width, colour): terminal.render(document, Setting(width, colour))
        for width, colour in USUAL_TERMINALS
    }
    screen = Screen(texts, msgspec.Raw(msgspec.json.encode(document)))
    encoded, complete = msgspec.json.encode(screen), judged.run.complete
    digest = _compute_digest(directory, complete, thresholds, judged.overall, encoded)
    if digest:
        kept = KeptScreen(digest, judged.overall, msgspec.Raw(encoded))
        directory.write_bytes(NAME, msgspec.json.encode(kept))


def read_screen(directory: RunDirectory, thresholds: Thresholds) -> tuple[Outcome, Screen] | None:
    """Return the outcome and what a terminal shows; None if the run must be judged anew."""
    path = directory.path / NAME
    try:
        content = read_bytes(path, directory.path, MOST_BYTES)
        if not_own(path):
            return None
        kept = msgspec.json.decode(content, type=KeptScreen)
        encoded, complete = bytes(kept.screen), directory.complete
        digest = _compute_digest(directory, complete, thresholds, kept.overall, encoded)
        if digest != kept.digest:
            return None
        return kept.overall, msgspec.json.decode(encoded, type=Screen)
    except (OSError, *DAMAGED):
        return None


def render_screen(screen: Screen, width: int, colour: bool) -> str:
    """Return the text for a terminal; an unusual width takes a tenth of a second longer."""
    text = screen.texts.get(name_terminal(width, colour))
    if text is not None:
        return text
    from fabricgauge.report.document import Report
    from fabricgauge.report.interface import Setting
    from fabricgauge.report.render import terminal

    document = msgspec.json.decode(screen.document, type=Report)
    return terminal.render(document, Setting(width, colour))


def _cut_to_screen(document: "Report") -> "Report":
    """Return the document as a terminal shows it; a second cut changes nothing."""
    from fabricgauge.report.document import SCREEN, cut_to_medium

    screen, replace = cut_to_medium(document, SCREEN), msgspec.structs.replace
    return replace(screen, sections=tuple(replace(part, intro="") for part in screen.sections))


def _make_key() -> None:
    """Make the user's key if there is none; without a cache folder there stays none."""
    path = place("XDG_CACHE_HOME") / KEY
    if not path.exists():
        with suppress(OSError):
            make_folder(path.parent)
            write_whole(path, os.urandom(_KEY_BYTES))


def _read_key() -> bytes:
    """Return the user's key.

    Raises:
        OSError: it does not exist, or another user can change it.
    """
    path = place("XDG_CACHE_HOME") / KEY
    if reason := not_own(path):
        raise OSError(reason)
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise OSError(f"{path} has {len(key)} bytes instead of {_KEY_BYTES}")
    return key


def _compute_digest(
    directory: RunDirectory, complete: bool, thresholds: Thresholds, overall: Outcome,
    screen: bytes,
) -> str:  # fmt: skip
    """Return the digest of all that decides what a terminal shows; empty if it has none."""
    try:
        key = _read_key()
        parts = [
            *_program_files(),
            f"{directory.identity} {complete} {overall.value}".encode(),
            msgspec.json.encode(thresholds),
            screen,
            *(_digest_file(directory.path / n, directory.path) for n in (*JUDGED_FROM, *_OUTCOMES)),
        ]
    except OSError:
        return ""
    whole = hashlib.blake2b(key=key, digest_size=32)
    for part in parts:
        whole.update(b"%d " % len(part))
        whole.update(part)
    return whole.hexdigest()


def _digest_file(path: Path, within: Path) -> bytes:
    """Return the digest of a file's content; empty if it does not exist.

    Raises:
        OSError: it cannot be read, or is too long.
    """
    if not os.path.lexists(path):
        return b""
    digest, length = hashlib.sha256(), 0
    with opened(path, within) as file:
        while block := file.read(_BLOCK_BYTES):
            length += len(block)
            if length > MOST_BYTES:
                raise OSError(f"{path} is too long")
            digest.update(block)
    return digest.digest()


def _program_files() -> Iterator[bytes]:
    """Yield place, size and time of each of the program's files: another program differs in one.

    A package that was installed as a whole has a list of its files with their digests, which
    stands for them: one file instead of 700, each a question to the server of a shared folder.

    Raises:
        OSError: they cannot be listed, as in a zip archive.
    """
    package = Path(fabricgauge.__file__).parent
    listed = package.parent / f"fabricgauge-{fabricgauge.__version__}.dist-info" / "RECORD"
    if listed.exists():
        yield os.fsencode(listed) + b" " + listed.read_bytes()
        return
    pending = [str(package)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if not entry.is_dir():
                    state = entry.stat()
                    yield os.fsencode(f"{entry.path} {state.st_size} {state.st_mtime_ns}")
                elif entry.name != "__pycache__":
                    pending.append(entry.path)
