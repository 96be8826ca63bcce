"""Identify the sources of the ready-made programs; the standard library is enough."""

import hashlib
import json
from pathlib import Path

#: Folders of the engine whose files the programs are compiled from.
FOLDERS = ("src", "include", "calls", "connect", "path", "profile")


def digest_programs(engine: Path) -> str:
    """Return the SHA-256 of the names and contents of all files that ready-made programs hold."""
    content = hashlib.sha256()
    for file in sorted(path for name in FOLDERS for path in (engine / name).rglob("*.?pp")):
        content.update(f"{file.relative_to(engine).as_posix()}\0".encode())
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()


def find_stale(programs: Path, engine: Path) -> str:
    """Return why a wheel must not hold the programs of a folder; empty if it may."""
    manifest = programs / "programs.json"
    try:
        rows = json.loads(manifest.read_bytes())
    except FileNotFoundError:
        return f"{manifest} does not exist"
    now = digest_programs(engine)
    stale = [row["file"] for row in rows if row.get("sources") != now]
    if not stale:
        return ""
    return (
        f"{len(stale)} of {len(rows)} programs in {programs} were built from other sources than"
        f" those in {engine}, e.g. {stale[0]}"
    )
