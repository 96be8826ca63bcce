"""Expectations of nodes: classes of like nodes, as a file for review; pure.

version = 1
[severity]                   # optional: another severity for a check
mtu = "fail"
[limits.flaps]               # optional: other limits for a kind of event; "never" is none
warn = 0
fail = 2
[[class]]
nodes = "c[1-2]"
[class.net.eth0]
link = "up"
rate_mbit_s = 1000
"""

import json
import re
from collections.abc import Mapping

import msgspec
from ClusterShell.NodeSet import NodeSet, NodeSetException

from fabricgauge.features.health.checks import CHECKS, LIMITS, SEVERITIES, Severity
from fabricgauge.model.errors import UsageError
from fabricgauge.store.files.toml import TOMLDecodeError, loads

VERSION = 1

#: Part of a node: its kind and the kernel's name, such as ("net", "eth0").
Part = tuple[str, str]
#: A part's values by field.
Values = dict[str, str]

#: Fields of each kind of part, and their keys in the file.
KEYS: dict[str, dict[str, str]] = {
    "net": {
        "link": "link", "rate": "rate_mbit_s", "limit": "limit_bit_s", "mtu": "mtu_bytes",
        "driver": "driver", "firmware": "firmware", "pcie": "pcie",
    },
    "rdma": {"firmware": "firmware", "driver": "driver", "pcie": "pcie"},
    "port": {"link": "link", "rate": "rate", "layer": "layer", "manager": "manager"},
    "node": {"memlock": "memlock_bytes", "gpus": "gpus", "gpu-driver": "gpus_of_driver"},
}  # fmt: skip
#: The only part of the kind ``node``.
NODE: Part = ("node", "-")
_GID = re.compile(r"gid (\d{1,3})")
_COUNT = re.compile(r"0|[1-9]\d{0,17}")
_PCIE = re.compile(r"\d{1,3}\.\d GT/s x[1-9]\d?")
_PORT_RATE = re.compile(r"\d+(?:\.\d)? Gb/sec(?: \(.*\))?")
#: Fields whose value the script compares as a number or takes apart.
_FORMS = {
    ("net", "rate"): re.compile(r"[1-9]\d{0,8}"),
    ("net", "limit"): re.compile(r"none|[1-9]\d{0,14}"),
    ("net", "mtu"): re.compile(r"[1-9]\d{0,6}"),
    ("net", "pcie"): _PCIE,
    ("rdma", "pcie"): _PCIE,
    ("port", "rate"): _PORT_RATE,
    ("node", "memlock"): re.compile(r"unlimited|0|[1-9]\d{0,17}"),
    ("node", "gpus"): re.compile(r"[1-9]\d{0,3}"),
    ("node", "gpu-driver"): re.compile(r"[1-9]\d{0,3}"),
    ("net", "link"): re.compile("up"),
    ("port", "link"): re.compile("up"),
}
#: Names that the kernel can give to a device; a port has its number behind a colon.
_NAME = re.compile(r"[^\s/:]{1,63}")
_PORT_NAME = re.compile(r"[^\s/:]{1,63}:[1-9]\d{0,2}")
_TEXT = re.compile(r"[ -~]{1,120}")


class NodeClass(msgspec.Struct, frozen=True):
    """Like nodes, folded (``c[1-2]``), and what each of them should have, part by part."""

    nodes: str
    parts: dict[Part, Values]
    remarks: tuple[str, ...] = ()


class Expectations(msgspec.Struct, frozen=True):
    """The classes, and what a site changed: severities by check, limits (warn, fail) by kind."""

    classes: tuple[NodeClass, ...]
    severities: dict[str, Severity] = {}
    limits: dict[str, tuple[int | None, int | None]] = {}


def write_expectations(expectations: Expectations, head: tuple[str, ...]) -> str:
    """Return the file's text; ``head`` are comments at its top."""
    lines = [*_comments(head), f"version = {VERSION}"]
    for node_class in expectations.classes:
        lines += ["", *_comments(node_class.remarks), "[[class]]"]
        lines.append(f"nodes = {_text(node_class.nodes)}")
        for part, values in node_class.parts.items():
            lines += ["", f"[class.{_path(part)}]"]
            keys = KEYS[part[0]]
            lines += [
                f"{keys[field]} = {value if _COUNT.fullmatch(value) else _text(value)}"
                for field, value in values.items()
                if field in keys
            ]
            matches = ((_GID.fullmatch(field), value) for field, value in values.items())
            gids = [(match[1], value) for match, value in matches if match]
            if gids:
                lines += ["", f"[class.{_path(part)}.gid]"]
                lines += [f"{index} = {_text(value)}" for index, value in gids]
    return "\n".join(lines) + "\n"


def _comments(lines: tuple[str, ...]) -> list[str]:
    return [f"# {''.join(sign if sign.isprintable() else '?' for sign in line)}" for line in lines]


def _path(part: Part) -> str:
    kind, name = part
    if part == NODE:
        return kind
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return f"{kind}.{name if bare else _text(name)}"


def _text(text: str) -> str:
    """Return a TOML string: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def read_expectations(text: str, file: str) -> Expectations:
    """Return the expectations of a file.

    Raises:
        UsageError: no TOML, an unknown key or an invalid value; the message names the place.
    """
    try:
        content = loads(text)
    except TOMLDecodeError as error:
        raise UsageError(f"{file}: not TOML: {error}") from error
    unknown = content.keys() - {"version", "severity", "limits", "class"}
    if unknown:
        raise UsageError(
            f"{file}: unknown key {sorted(unknown)[0]!r}; use version, severity, limits and class"
        )
    if content.get("version") != VERSION:
        raise UsageError(
            f"{file}: version {content.get('version')!r} cannot be read, only version {VERSION};"
            " write the file again: fabricgauge health --learn"
        )
    tables = content.get("class", [])
    if not isinstance(tables, list):
        raise UsageError(f"{file}: write [[class]], not [class]")
    classes = tuple(
        _read_class(file, number, _table(file, "class", table))
        for number, table in enumerate(tables, 1)
    )
    _refuse_repeats(file, classes)
    return Expectations(
        classes,
        {
            check: _read_severity(file, check, value)
            for check, value in _table(file, "severity", content.get("severity", {})).items()
        },
        {
            kind: _read_limits(file, kind, value)
            for kind, value in _table(file, "limits", content.get("limits", {})).items()
        },
    )


def _table(file: str, place: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UsageError(f"{file}: {place} = {value!r} is not a table")
    return value


def _read_severity(file: str, check: str, value: object) -> Severity:
    known = [row.id for row in CHECKS]
    if check not in known:
        raise UsageError(f"{file}: [severity] has no check {check!r}; known are {', '.join(known)}")
    for severity in SEVERITIES:
        if value == severity:
            return severity
    raise UsageError(f"{file}: [severity] {check} = {value!r}; use {', '.join(SEVERITIES)}")


def _read_limits(file: str, kind: str, value: object) -> tuple[int | None, int | None]:
    rows = {row.kind: row for row in LIMITS}
    if kind not in rows:
        raise UsageError(f"{file}: [limits] has no kind {kind!r}; known are {', '.join(rows)}")
    table = _table(file, f"limits.{kind}", value)
    if unknown := table.keys() - {"warn", "fail"}:
        raise UsageError(
            f"{file}: [limits.{kind}] has no key {sorted(unknown)[0]!r}; use warn, fail"
        )
    numbers = []
    for key in ("warn", "fail"):
        default = rows[kind].warn_over if key == "warn" else rows[kind].fail_over
        number = table.get(key, default)
        if number == "never":
            number = None
        elif number is not None and not (type(number) is int and 0 <= number < 10**15):
            raise UsageError(
                f"{file}: [limits.{kind}] {key} = {number!r}; write a number of events in an hour,"
                ' or "never"'
            )
        numbers.append(number)
    return numbers[0], numbers[1]


def _read_class(file: str, number: int, table: Mapping[str, object]) -> NodeClass:
    place = f"{file}: class {number}"
    nodes = table.get("nodes")
    if not isinstance(nodes, str) or not nodes.strip():
        raise UsageError(f'{place}: nodes = {nodes!r}; write names such as "c[1-2]"')
    parts: dict[Part, Values] = {}
    for kind, content in table.items():
        if kind == "nodes":
            continue
        if kind not in KEYS:
            raise UsageError(f"{place}: unknown key {kind!r}; known are nodes, {', '.join(KEYS)}")
        if kind == NODE[0]:
            parts[NODE] = _read_part(place, NODE, _table(file, f"class.{kind}", content))
            continue
        for name, values in _table(file, f"class.{kind}", content).items():
            pattern = _PORT_NAME if kind == "port" else _NAME
            if not pattern.fullmatch(name):
                raise UsageError(f"{place}: {name!r} cannot be the name of a part of kind {kind}")
            part = (kind, name)
            parts[part] = _read_part(place, part, _table(file, f"class.{kind}.{name}", values))
    try:
        return NodeClass(str(NodeSet(nodes)), parts)
    except NodeSetException as error:
        raise UsageError(f"{place}: nodes = {nodes!r}: {error}") from error


def _read_part(place: str, part: Part, table: Mapping[str, object]) -> Values:
    fields = {key: field for field, key in KEYS[part[0]].items()}
    where = f"{place}, [class.{_path(part)}]"
    values: Values = {}
    for key, value in table.items():
        if key == "gid" and part[0] == "port":
            for index, text in _table(place, f"{where} gid", value).items():
                field = f"gid {index}"
                if not _GID.fullmatch(field):
                    raise UsageError(f"{where}: {index!r} cannot be the index of a GID")
                values[field] = _read_value(where, part[0], field, text)
            continue
        if key not in fields:
            raise UsageError(f"{where}: unknown key {key!r}; known are {', '.join(fields)}")
        values[fields[key]] = _read_value(where, part[0], fields[key], value)
    return values


def _read_value(where: str, kind: str, field: str, value: object) -> str:
    text = str(value) if isinstance(value, str) or type(value) is int else ""
    form = _FORMS.get((kind, field), _TEXT)
    if not form.fullmatch(text):
        key = KEYS[kind].get(field, field)
        raise UsageError(f"{where}: {key} = {value!r} is not valid; see docs/reference/health.md")
    return text


def _refuse_repeats(file: str, classes: tuple[NodeClass, ...]) -> None:
    known = NodeSet()
    for number, node_class in enumerate(classes, 1):
        nodes = NodeSet(node_class.nodes)
        if repeated := known & nodes:
            raise UsageError(
                f"{file}: class {number}: {repeated} belongs to a former class as well"
            )
        known |= nodes


def list_nodes(node_class: NodeClass) -> list[str]:
    return [str(node) for node in NodeSet(node_class.nodes)]
