"""A description file, read: TOML → its tables and keys. What they hold is not looked at yet.

What they mean, with examples, is in docs/reference/network-description.md. ``None`` stands for a
key that is not there, and nowhere else. What the plan takes just as it is written is a table of
``configure/description.py``.
"""

import difflib
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from fabricgauge.configure.description import Head, Image, Mount
from fabricgauge.model.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


#: Addresses of 100,000 nodes, one by one; what is larger is no description.
MOST_BYTES = 4 * 1024**2

#: What msgspec 0.18 and later say of a value that does not fit, and where.
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(.*)`, got `(.*)`", re.DOTALL)

_WORDS = {"int": "a whole number", "str": "a text in quotes", "array": "a list",
          "object": "a table", "bool": "true or false", "float": "a number"}  # fmt: skip


class AdapterTable(msgspec.Struct, forbid_unknown_fields=True):
    product: str = ""
    driver: str = ""
    kind: str = ""
    bus: str = ""
    rate: str = ""


class NetworkTable(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    subnet: str
    kind: str = "ethernet"
    nodes: str = ""
    interface: str | dict[str, str] = ""
    adapter: AdapterTable = msgspec.field(default_factory=AdapterTable)
    rate: str = ""
    mtu: int | None = None
    suffix: str = ""
    first: str = ""
    addresses: dict[str, str] = {}
    lane_mode: str = ""
    plain: bool = False
    exclusive: bool = False


class ExportTable(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    client: str = "*"
    options: tuple[str, ...] = ("ro", "no_subtree_check")
    file: str = "/etc/exports"
    fsid: int | None = None


class ServicesTable(msgspec.Struct, forbid_unknown_fields=True):
    enable: tuple[str, ...]
    node: str = "head"


class DescriptionFile(msgspec.Struct, forbid_unknown_fields=True):
    network: tuple[NetworkTable, ...] = ()
    backend: str = ""
    nodes: str = ""
    management: str = ""
    qcu: str = "qcu64e"
    head: Head = Head()
    image: Image | None = None
    export: ExportTable | None = None
    services: tuple[ServicesTable, ...] = ()


#: The keys of each table that a file may have.
_KEYS: dict[str, type[msgspec.Struct]] = {
    "": DescriptionFile, "network": NetworkTable, "network.adapter": AdapterTable,
    "head": Head, "image": Image, "image.mounts": Mount,
    "export": ExportTable, "services": ServicesTable,
}  # fmt: skip


def read_file(path: Path) -> DescriptionFile:
    """The tables of a description file.

    Raises:
        UsageError: no such file, no TOML, or a key or type that is not expected.
    """
    content = _content(path)
    try:
        return msgspec.convert(content, DescriptionFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {_sentence(str(error), content)}") from error


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise UsageError(
                f"{path} is longer than {MOST_BYTES // 1024**2} MiB: no description of networks"
            )
        content: dict[str, Any] = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    return content


def _sentence(said: str, content: dict[str, Any]) -> str:
    """What msgspec says of a value, in the words of the file."""
    found = _PLACE.fullmatch(said)
    what, place = (found[1], found[2] or "") if found else (said, "")
    table = re.sub(r"\[[^\]]*\]", "", place)
    where = _where(place, content)
    if unknown := _UNKNOWN.fullmatch(what):
        return f"{where} has an unknown key {unknown[1]:.80}; {_known(table, unknown[1])}"
    if missing := _MISSING.fullmatch(what):
        return f"{where} has no {missing[1]}, which is required"
    if expected := _EXPECTED.fullmatch(what):
        kinds = (kind for kind in expected[1].split(" | ") if kind != "null")
        wanted = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
        return f"{where} is {_WORDS.get(expected[2], expected[2])}; expected {wanted}"
    return f"{where}: {what}"


def _where(place: str, content: Any) -> str:
    """``network[0].mtu`` as ``network 1 (net40).mtu``: people count from 1, and know it by name."""
    said = ""
    for word, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        content = _inside(content, word or int(index))
        name = content.get("name") if index and isinstance(content, dict) else None
        if word:
            said += f".{word}" if said else word
        else:
            said += f" {int(index) + 1}" + (f" ({name:.40})" if isinstance(name, str) else "")
    return said or "the file"


def _inside(content: Any, key: str | int) -> Any:
    try:
        return content[key]
    except (KeyError, IndexError, TypeError):
        return None


def _known(table: str, wrong: str) -> str:
    """The key that was meant, or all that there are."""
    names = sorted(field.encode_name for field in msgspec.structs.fields(_KEYS[table]))
    close = difflib.get_close_matches(wrong, names, 1)
    return f"is {close[0]} meant?" if close else f"there is {', '.join(names)}"
