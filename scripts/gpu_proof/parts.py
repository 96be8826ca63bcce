"""Cut items into parts small enough for a transfer, and join what arrived.

A part is a tar file that can be read alone: the manifest, and pieces of items. The order of parts
does not matter. A piece is used only if its SHA-256 is the manifest's.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
PATTERN = "part-*.tar"
#: A tar file's own blocks, and the manifest.
_OVERHEAD = 64 << 10
#: A smaller piece begins a part of its own, if it is not the item's last.
_LEAST = 256 << 10


@dataclass(frozen=True)
class Unpacked:
    """Item files by name, and a sentence for each part or item that is not whole."""

    items: Mapping[str, Path]
    problems: tuple[str, ...]
    missing: Mapping[str, str]


def write_parts(items: Sequence[Path], folder: Path, most_bytes: int) -> list[Path]:
    """Write the item files into numbered parts of at most ``most_bytes`` each."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(PATTERN):
        old.unlink()
    room = most_bytes - _OVERHEAD
    contents: list[list[tuple[str, bytes]]] = [[]]
    free = room
    manifest: dict[str, list[dict[str, object]]] = {}
    for item in sorted(items, key=lambda path: path.stat().st_size):
        data, place, pieces = item.read_bytes(), 0, 0
        while place < len(data) or not pieces:
            if free < min(_LEAST, len(data) - place):
                contents.append([])
                free = room
            piece = data[place : place + free]
            name = f"{item.name}.{pieces}"
            manifest.setdefault(item.name, []).append({
                "part": len(contents), "name": name, "bytes": len(piece),
                "sha256": hashlib.sha256(piece).hexdigest(),
            })  # fmt: skip
            contents[-1].append((name, piece))
            place, pieces, free = place + len(piece), pieces + 1, free - len(piece) - 1024
    description = json.dumps({"parts": len(contents), "items": manifest}, indent=1).encode()
    paths = []
    for number, pieces_of_part in enumerate(contents, 1):
        path = folder / f"part-{number}.tar"
        with tarfile.open(path, "w") as archive:
            for name, data in ((MANIFEST, description), *pieces_of_part):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        paths.append(path)
    return paths


def unpack(folder: Path, into: Path) -> Unpacked:
    """Join the items of all parts; leave out those with a missing or damaged piece."""
    into.mkdir(parents=True, exist_ok=True)
    pieces: dict[str, bytes] = {}
    manifest: dict[str, list[dict[str, object]]] = {}
    problems, part_count, present = [], 0, set()
    for path in sorted(folder.glob(PATTERN)):
        present.add(path.name)
        part_pieces, damage = _read_part(path)
        if MANIFEST in part_pieces:
            try:
                description = json.loads(part_pieces.pop(MANIFEST))
                manifest, part_count = description["items"], description["parts"]
            except (ValueError, KeyError, TypeError):
                damage = damage or "its manifest cannot be read"
        pieces |= part_pieces
        if damage:
            problems.append(f"{path.name} is damaged: {damage}")
    problems += [
        f"part-{number}.tar is missing"
        for number in range(1, part_count + 1)
        if f"part-{number}.tar" not in present
    ]
    if not manifest:
        problems.append(
            f"{folder} has no readable part-*.tar: make the parts with scripts/gpu-proof pack,"
            " and copy them there"
        )
    items, missing = {}, {}
    for name, rows in manifest.items():
        parts = sorted({str(row["part"]) for row in rows if not _is_whole(row, pieces)})
        if parts:
            missing[name] = f"{name} is not whole: a piece in part {' and '.join(parts)} is missing"
            continue
        (into / name).write_bytes(b"".join(pieces[str(row["name"])] for row in rows))
        items[name] = into / name
    return Unpacked(items, tuple(problems), missing)


def _read_part(path: Path) -> tuple[dict[str, bytes], str]:
    part_pieces: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                data = stream.read() if stream else b""
                if len(data) < member.size:
                    return part_pieces, f"it ends within {member.name}"
                part_pieces[member.name] = data
    except (OSError, EOFError, tarfile.TarError) as error:
        return part_pieces, str(error)
    return part_pieces, ""


def _is_whole(row: Mapping[str, object], pieces: Mapping[str, bytes]) -> bool:
    data = pieces.get(str(row["name"]))
    return data is not None and hashlib.sha256(data).hexdigest() == row["sha256"]
