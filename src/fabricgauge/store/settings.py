"""Configuration files: the site's, then the user's; each key of the later file wins.

[check]                   any long option of `check`, e.g. profile = "standard"
[import], [compare],
[report]                  the same for these verbs, e.g. tolerance = "3%"
[thresholds]              any threshold, e.g. "fraction.pass" = 0.97, and their origin in words
[[network]]               name, subnet, rate (e.g. "25G") that the driver does not report
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.reading import read_bytes

if TYPE_CHECKING:  # most programs read no file that declares one
    from fabricgauge.model.fabric import DeclaredNetwork

SITE_FILE = Path("/etc/fabricgauge/config.toml")
#: Variable that names another site file, e.g. for commands inside a lab.
SITE_FILE_VARIABLE = "FABRICGAUGE_SITE_FILE"

#: A configuration file has about a hundred lines; larger files are refused.
MOST_BYTES = 1 << 20

_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:bit/s|b/s|bps|be|bit)?", re.IGNORECASE)
_SIZE = re.compile(r"(\d+)\s*(?:([km])(?:ib)?|b)?", re.IGNORECASE)
_POWERS = {None: 1, "k": 1024, "m": 1024**2}


class Settings(msgspec.Struct, frozen=True):
    """The options, thresholds and networks of all configuration files, and their origins.

    ``verbs`` are options by the verb's name, ``option_files`` the file of each by (verb, option).
    """

    verbs: dict[str, dict[str, Any]]
    option_files: dict[tuple[str, str], Path]
    thresholds: dict[str, float]
    thresholds_origin: str
    networks: "tuple[DeclaredNetwork, ...]"


#: Verbs whose options a file can set.
VERBS = ("check", "import", "compare", "report")


def site_file() -> Path:
    return Path(os.environ.get(SITE_FILE_VARIABLE) or SITE_FILE)


def user_file() -> Path:
    return place("XDG_CONFIG_HOME") / "config.toml"


def run_root() -> Path:
    """Return the default folder of runs, without ``--output``."""
    return place("XDG_DATA_HOME") / "runs"


def path_root() -> Path:
    return place("XDG_DATA_HOME") / "paths"


def load(files: tuple[Path, ...] | None = None) -> Settings:
    """Read the files that exist, in order of growing precedence.

    Raises:
        UsageError: a file is not TOML, or has an unknown key or an invalid value.
    """
    verbs: dict[str, dict[str, Any]] = {verb: {} for verb in VERBS}
    option_files: dict[tuple[str, str], Path] = {}
    thresholds: dict[str, float] = {}
    networks: dict[str, DeclaredNetwork] = {}
    origins = []
    for path in files if files is not None else (site_file(), user_file()):
        content = _read(path)
        for verb, options in verbs.items():
            options |= _table(path, content, verb)
            option_files |= {(verb, option): path for option in content.get(verb, ())}
        table = dict(_table(path, content, "thresholds"))
        source = table.pop("origin", "")
        thresholds |= {key: _number(path, key, value) for key, value in table.items()}
        origins += [f"{path} ({source})" if source else str(path)] if table else []
        networks |= {n.name: n for n in _networks(path, content)}
    return Settings(verbs, option_files, thresholds, ", ".join(origins), tuple(networks.values()))


def rate_bit_s(text: str) -> float:
    """Return a rate such as ``1G``, ``100M`` or ``25Gb/s`` in bit/s.

    Raises:
        UsageError: the text is not a rate.
    """
    match = _RATE.fullmatch(text.strip())
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{text!r} is not a link rate; write e.g. 1G, 100M or 25Gb/s")
    return float(match[1]) * _PREFIXES[match[2].lower()]


def size_bytes(text: str) -> int:
    """Return a size such as ``0``, ``8``, ``64K`` or ``4MiB`` in bytes; K is 1024, M is K².

    Raises:
        UsageError: the text is not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a message size; write e.g. 0, 8, 64K or 4MiB")
    return int(match[1]) * _POWERS[match[2].lower() if match[2] else None]


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = read_bytes(path, most_bytes=MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if foreign := not_own(path, or_roots=True):
        raise UsageError(
            f"{path} is not used because other users can change it: {foreign}; make yourself"
            " or root its only owner and writer"
        )
    from fabricgauge.store.files import toml

    try:
        content: dict[str, Any] = toml.loads(raw.decode("utf-8"))
    except (toml.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    keys = (*VERBS, "thresholds", "network")
    unknown = sorted(set(content) - set(keys))
    if unknown:
        raise UsageError(f"{path}: unknown key {unknown[0]!r}; known: {', '.join(keys)}")
    return content


def _table(path: Path, content: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [{key}] must be a table")
    return table


def _number(path: Path, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{path}: threshold {key!r} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError as error:
        raise UsageError(f"{path}: threshold {key!r} is too large") from error


def _networks(path: Path, content: Mapping[str, Any]) -> "list[DeclaredNetwork]":
    tables = content.get("network", [])
    if not isinstance(tables, list):
        raise UsageError(f"{path}: write each network as [[network]]")
    if not tables:
        return []
    from fabricgauge.model.fabric import DeclaredNetwork

    networks = []
    for table in tables:
        try:
            entry = {key: str(table[key]) for key in ("name", "subnet", "rate")}
        except (KeyError, TypeError) as error:
            raise UsageError(
                f"{path}: a [[network]] needs name, subnet and rate; missing {error}"
            ) from error
        try:
            rate = rate_bit_s(entry["rate"])
        except UsageError as error:
            raise UsageError(f"{path}: network {entry['name']!r}: {error}") from error
        origin = f"declared in {path}"
        networks.append(DeclaredNetwork(entry["name"], entry["subnet"], rate, origin))
    return networks
