"""Broken runs, bundles and journals: what is stored is read, or refused in a sentence."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutations import FIXTURES, NUMBERS, TEXTS, broken

from fabricgauge.check.conclude import conclude
from fabricgauge.doctor.survey import read_bundle
from fabricgauge.features.configure import journal
from fabricgauge.features.configure.apply.making import steps_to_undo
from fabricgauge.features.configure.files import NoFile, write_change
from fabricgauge.features.configure.job import Configuration
from fabricgauge.features.configure.journal import JournalEntry, Planned
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.report.formats import report
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

#: A file's name stands before its content, with this between them.
SEPARATOR = b"\0"
#: Reading takes a millisecond, judging and a report a hundred: some runs only are judged.
_JUDGED_EACH = 20
_ODD: tuple[object, ...] = (
    None, True, -1, 0, 1e308, -1e-300, 2**63, 10**30, "", "\x1b[31m", "../../etc/passwd", "\ud7ff",
    "-oProxyCommand=x", "c[1-9999999]", [], {}, [[[]]], {"": None}, "1" * 5000,
)  # fmt: skip


@cache
def runs() -> tuple[Path, ...]:
    """The smallest stored runs, one of each kind."""
    found = [file.parent for file in (FIXTURES / "runs").rglob("run.json")]
    return tuple(sorted(found, key=lambda one: (_bytes(one), one.name))[:8])


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@cache
def bundles() -> tuple[Path, ...]:
    """A bundle of two nodes, and printouts put together by hand."""
    root = Path(tempfile.mkdtemp(prefix="fuzz-bundles-"))
    sources = sorted((FIXTURES / "survey").glob("*.out"))[:2]
    for number, source in enumerate(sources, 1):
        (root / "written" / f"c{number}").mkdir(parents=True)
        shutil.copyfile(source, root / "written" / f"c{number}" / "survey.txt")
    (root / "written" / "bundle.json").write_text('{"nodes": ["c1", "c2"], "virtual": false}')
    (root / "by-hand" / "c1").mkdir(parents=True)
    shutil.copyfile(next((FIXTURES / "lshw").glob("*.out")), root / "by-hand" / "c1" / "lshw.txt")
    (root / "by-hand" / "ethtool.txt").write_text("c1: Settings for eth0:\nc1: \tSpeed: 1000Mb/s\n")
    return root / "written", root / "by-hand"


@cache
def journals() -> tuple[Path, ...]:
    """A journal of a plan of two steps, of which one was made."""
    root = Path(tempfile.mkdtemp(prefix="fuzz-journals-"))
    steps = tuple(
        write_change(node, "/etc/hosts", "a\nb\n", "a\n" if node else NoFile()).step("t", "r")
        for node in ("", "c1")
    )
    planned = Planned(Configuration("ip", (), steps, ()), "", ("fabricgauge",))
    one = journal.begin(planned, root)
    for event in ("begun", "starting", "command", "made"):
        one.write(JournalEntry(event, 1, node="c1", argv=("true",), stdout="said\n"))
    one.close()
    return (one.path,)


#: By what is stored: where it is, and how it is read.
SOURCES: dict[str, Callable[[], tuple[Path, ...]]] = {
    "runs": runs, "bundles": bundles, "journals": journals,
}  # fmt: skip


def input_of(kind: str, seed: int, number: int) -> bytes:
    """A directory's number, a file of it, and its broken content."""
    random = Random(f"{kind}:{seed}:{number}")  # noqa: S311
    folders = SOURCES[kind]()
    place = random.randrange(len(folders))
    files = sorted(one for one in folders[place].rglob("*") if one.is_file())
    stored = [one for one in files if "raw" not in one.relative_to(folders[place]).parts]
    file = random.choice(stored)
    content = file.read_bytes()
    if file.suffix in (".json", ".jsonl") and random.random() < 0.8:
        content = _json(random, content, lines=file.suffix == ".jsonl")
    elif len(content) > 4096 and random.random() < 0.5:
        at = random.randrange(len(content))
        content = content[:at] + random.choice((*TEXTS, *NUMBERS)) + content[at + 1 :]
    else:
        content = broken(random, (content.splitlines(keepends=True),))
    name = f"{place}/{file.relative_to(folders[place])}"
    return name.encode() + SEPARATOR + content


def _json(random: Random, content: bytes, lines: bool) -> bytes:
    """The same with some values lost, doubled or odd."""
    texts = content.splitlines() if lines else [content]
    at = random.randrange(len(texts)) if texts else 0
    try:
        value: Any = json.loads(texts[at]) if texts else {}
    except ValueError:
        return content
    for _ in range(random.choice((1, 1, 2, 5))):
        value = _odd(random, value)
    changed = json.dumps(value).encode()
    return b"\n".join((*texts[:at], changed, *texts[at + 1 :])) + b"\n"


def _odd(random: Random, value: Any) -> Any:
    if not isinstance(value, (dict, list)) or not value or random.random() < 0.1:
        return random.choice(_ODD)
    key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if random.random() < 0.1:
        return type(value)() if random.random() < 0.2 else _without(value, key)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _odd(random, value[key])
    return copy


def _without(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name != key}
    return [*value[:key], *value[key + 1 :]]


def complaints(kind: str, content: bytes) -> Iterator[str]:
    """What is wrong with the reading of a directory in which one file is so."""
    name, _, text = content.partition(SEPARATOR)
    place, _, inside = name.decode().partition("/")
    folder = _copy(kind, int(place))
    file = folder / inside
    whole = file.read_bytes()
    try:
        file.write_bytes(text)
        with suppress(FabricgaugeError):
            yield from _READ[kind](folder, len(text))
    finally:
        file.write_bytes(whole)


@cache
def _copy(kind: str, place: int) -> Path:
    """A copy for this process alone, in memory where that is possible."""
    shared = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="fuzz-", dir=shared if shared.is_dir() else None))
    source = SOURCES[kind]()[place]
    return Path(shutil.copytree(source, root / source.name))


def _run(folder: Path, length: int) -> Iterator[str]:
    run = load(RunDirectory(folder))
    if length % _JUDGED_EACH == 0:
        judged = conclude(run, DEFAULTS)
        for verdict in judged.verdicts:
            if "could not be applied" in verdict.summary:
                yield f"rule {verdict.rule}: {verdict.summary[:200]}"
        report(judged, "terminal").encode()


def _bundle(folder: Path, _length: int) -> Iterator[str]:
    inventories = read_bundle(folder).inventories
    if not inventories:
        yield "a bundle without nodes"


def _journal(folder: Path, _length: int) -> Iterator[str]:
    planned, entries = journal.read(folder)
    count = len(planned.configuration.steps)
    if not all(1 <= number <= count for number in steps_to_undo(entries)):
        yield "a step that there is not would be undone"


_READ: dict[str, Callable[[Path, int], Iterator[str]]] = {
    "runs": _run, "bundles": _bundle, "journals": _journal,
}  # fmt: skip
