"""The data files beside this module: one per document, each read when first needed."""

import sys
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from fabricgauge.model.errors import FabricgaugeError
from fabricgauge.model.reference import Document
from fabricgauge.references.entry import ReferenceEntry, check

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class ReferenceFile(msgspec.Struct, frozen=True):
    """One file: the document and its entries by name, in the file's order."""

    document: Document
    entries: dict[str, ReferenceEntry]


@cache
def stems() -> tuple[str, ...]:
    """Names of the files without ``.toml``; each reference's name begins with its file's."""
    found = (file.name for file in (files(__package__) / "data").iterdir())
    return tuple(sorted(name[:-5] for name in found if name.endswith(".toml")))


@cache
def content(stem: str) -> ReferenceFile:
    """What the file ``stem`` says, checked.

    Raises:
        FabricgaugeError: the file is not what it should be; file and entry are named.
    """
    file = f"{stem}.toml"
    return read(stem, (files(__package__) / "data" / file).read_text(encoding="utf-8"))


def read(stem: str, text: str) -> ReferenceFile:
    """The content of a file of this name; pure.

    Raises:
        FabricgaugeError: as for ``content``.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _broken(stem, "", f"not TOML: {error}") from error
    unknown = set(raw) - {"document", "reference"}
    if unknown:
        raise _broken(stem, "", f"unknown key {sorted(unknown)[0]!r}")
    try:
        document = msgspec.convert(raw.get("document"), Document)
    except msgspec.ValidationError as error:
        raise _broken(stem, "[document]", str(error)) from error
    entries: dict[str, ReferenceEntry] = {}
    for entry in _entries(stem, raw.get("reference", [])):
        if entry.name in entries:
            raise _broken(stem, entry.name, "the name is used twice")
        entries[entry.name] = entry
    return ReferenceFile(document, entries)


def _entries(stem: str, raw: Any) -> Iterator[ReferenceEntry]:
    if not isinstance(raw, list):
        raise _broken(stem, "", "write each reference as [[reference]]")
    for place, one in enumerate(raw, 1):
        name = str(one.get("name", f"number {place}")) if isinstance(one, dict) else f"{place}"
        try:
            entry = msgspec.convert(one, ReferenceEntry)
            check(entry)
        except (msgspec.ValidationError, ValueError) as error:
            raise _broken(stem, name, str(error)) from error
        if not name.startswith(f"{stem}-"):
            raise _broken(stem, name, f"the name must begin with {stem}-")
        yield entry


def _broken(stem: str, entry: str, what: str) -> FabricgaugeError:
    place = f"references/data/{stem}.toml" + (f", {entry}" if entry else "")
    return FabricgaugeError(
        f"{place}: {what}; mend the entry, or reinstall fabricgauge if you did not change it"
    )
