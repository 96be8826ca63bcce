"""A description file: TOML → its tables, every value checked as it was written → ``Description``.

What the keys mean, with examples, is in docs/reference/network-description.md. ``None`` stands for
a key that is not there, and nowhere else. What the plan takes just as it is written is a table of
``configure/description.py``.
"""

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from fabricgauge import settings
from fabricgauge.configure import description
from fabricgauge.configure.description import (
    OPEN,
    AbsolutePath,
    Description,
    Export,
    Head,
    Image,
    Match,
    Mount,
    NetworkDescription,
    Services,
    Word,
)
from fabricgauge.files.reading import read_bytes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.run.launchers.nodes import expand, require_host_names

#: Addresses of 100,000 nodes, one by one; what is larger is no description.
MOST_BYTES = 4 * 1024**2

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z"
_SUFFIX = r"^([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?\Z"
_LANES = r"^([1-9]x[1-9][0-9]{0,2})?\Z"
_INTERFACE, _INTERFACE_IF_ANY = (rf"^[^\s/\x00]{{{least},15}}\Z" for least in (1, 0))

Kind = Literal["ethernet", "infiniband", "omni-path"]

#: What was expected, by the form of a text or by msgspec's own words. An MTU is what IPv4 needs
#: (RFC 791), up to the largest of InfiniBand's connected mode and of jumbo frames.
_EXPECTED = {
    **{f"Expected `str` matching regex {form!r}": expected for form, expected in (
        *description.EXPECTED.items(),
        (_NAME, "letters, digits, dots, underscores, hyphens"),
        (_SUFFIX, "letters, digits and hyphens, e.g. -eth40"),
        (_LANES, "1x40 or 4x10"),
        (_INTERFACE, "an interface's name"),
        (_INTERFACE_IF_ANY, "an interface's name"),
    )},
    "Expected `int` >= 576": "576 to 65520 bytes",
    "Expected `int` <= 65520": "576 to 65520 bytes",
    "Expected `int` >= 1": "a number from 1",
}  # fmt: skip


class AdapterTable(msgspec.Struct, forbid_unknown_fields=True):
    product: str = ""
    driver: str = ""
    kind: Kind | Literal[""] = ""
    bus: str = ""
    rate: str = ""


class NetworkTable(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern=_NAME)]
    subnet: str
    kind: Kind = "ethernet"
    nodes: str = ""
    interface: (
        Annotated[str, Meta(pattern=_INTERFACE_IF_ANY)]
        | dict[str, Annotated[str, Meta(pattern=_INTERFACE)]]
    ) = ""
    adapter: AdapterTable = msgspec.field(default_factory=AdapterTable)
    rate: str = ""
    mtu: Annotated[int, Meta(ge=576, le=65520)] | None = None
    suffix: Annotated[str, Meta(pattern=_SUFFIX)] = ""
    first: str = ""
    addresses: dict[str, str] = {}
    lane_mode: Annotated[str, Meta(pattern=_LANES)] = ""
    plain: bool = False
    exclusive: bool = False


class ExportTable(msgspec.Struct, forbid_unknown_fields=True):
    path: AbsolutePath
    client: Word = "*"
    options: tuple[Word, ...] = ("ro", "no_subtree_check")
    file: AbsolutePath = "/etc/exports"
    fsid: Annotated[int, Meta(ge=1)] | None = None


class ServicesTable(msgspec.Struct, forbid_unknown_fields=True):
    enable: tuple[Word, ...]
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
        raw = read_bytes(path, most_bytes=MOST_BYTES)
        content: dict[str, Any] = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    return content


#: What msgspec 0.18 and later say of a value that does not fit, and where.
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_KINDS = re.compile(r"Expected `(.*)`, got `(.*)`", re.DOTALL)

_WORDS = {"int": "a whole number", "str": "a text in quotes", "array": "a list",
          "object": "a table", "bool": "true or false", "float": "a number"}  # fmt: skip


def _sentence(said: str, content: dict[str, Any]) -> str:
    """What msgspec says of a value, in the words of the file."""
    found = _PLACE.fullmatch(said)
    what, place = (found[1], found[2] or "") if found else (said, "")
    table = re.sub(r"\[[^\]]*\]", "", place)
    where, value = _where(place, content)
    fitting = ", ".join(get_args(Kind)) if what.startswith("Invalid enum") else _EXPECTED.get(what)
    if fitting:
        return f"{where} is {value!r:.200}; expected {fitting}"
    if unknown := _UNKNOWN.fullmatch(what):
        return f"{where} has an unknown key {unknown[1]:.80}; {_known(table, unknown[1])}"
    if missing := _MISSING.fullmatch(what):
        return f"{where} has no {missing[1]}, which is required"
    if expected := _KINDS.fullmatch(what):
        kinds = (kind for kind in expected[1].split(" | ") if kind != "null")
        wanted = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
        return f"{where} is {_WORDS.get(expected[2], expected[2])}; expected {wanted}"
    return f"{where}: {what}"


def _where(place: str, content: Any) -> tuple[str, Any]:
    """``network[0].mtu`` as ``network 1 (net40).mtu``: people count from 1, and know it by name;
    and what stands there, where that can be told."""
    said = ""
    for word, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        content = _inside(content, word or int(index))
        name = content.get("name") if index and isinstance(content, dict) else None
        if word:
            said += f".{word}" if said else word
        else:
            said += f" {int(index) + 1}" + (f" ({name:.40})" if isinstance(name, str) else "")
    return said or "the file", content


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


def description_of(
    origin: str,
    found: DescriptionFile,
    nodes: tuple[str, ...] = (),
    *,
    backend: str = "",
    otherwise: tuple[str, ...] = (),
    without: Collection[str] = (),
) -> Description:
    """The description that a file's tables make; ``nodes`` and ``backend`` are the command line's,
    if any.

    ``otherwise`` are the nodes where neither the command line nor the file names any; those in
    ``without`` are left out, however they are named. Neither -w nor -x changes a node's place among
    those that the file names, and with it its address.

    Raises:
        UsageError: file, key and what was expected.
    """
    places = Places(nodes, _nodes(origin, "nodes", found.nodes), otherwise)
    networks = tuple(_network(origin, one, places, without) for one in found.network)
    if not networks:
        raise UsageError(f"{origin}: no network is described; write [[network]] with name, subnet")
    names = [one.name for one in networks]
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise UsageError(f"{origin}: two networks are named {twice[0]}; names must differ")
    return Description(
        origin=origin,
        backend=backend or found.backend,
        networks=networks,
        head=found.head,
        image=OPEN if found.image is None else _image(origin, found.image),
        export=OPEN if found.export is None else _export(found.export),
        services=tuple(Services(_service_node(one.node), one.enable) for one in found.services),
        management=_management(origin, found.management),
        qcu=found.qcu,
    )


class Places(msgspec.Struct, frozen=True):
    """Nodes as the command line has them, the file, and who else there is; empty where none are."""

    wanted: tuple[str, ...]
    described: tuple[str, ...]
    otherwise: tuple[str, ...]

    def of(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """A network's nodes: its own, as far as the command line or the file have them."""
        everybody = self.wanted or self.described
        if own:
            return tuple(node for node in own if not everybody or node in everybody)
        return everybody or self.otherwise

    def counted(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """All nodes that the network has, planned for or not."""
        return own or self.described or self.wanted or self.otherwise


def _network(
    origin: str, one: NetworkTable, places: Places, without: Collection[str]
) -> NetworkDescription:
    where = f"network {one.name}"
    own = _nodes(origin, f"{where}.nodes", one.nodes)
    nodes = tuple(node for node in places.of(own) if node not in without)
    if not nodes:
        none = f"has nodes {one.nodes:.200}, but none is chosen" if own else "has no nodes"
        raise UsageError(f'{origin}: {where} {none}; write nodes = "c[1-2]", or use -w')
    match = one.adapter
    rate = _rate(origin, f"{where}.adapter", match.rate)
    return NetworkDescription(
        name=one.name, subnet=one.subnet, kind=one.kind, nodes=nodes,
        interfaces=_by_node(origin, f"{where}.interface", one.interface, nodes),
        match=Match(match.product, match.driver, match.kind, match.bus, rate),
        rate_bit_s=_rate(origin, where, one.rate),
        mtu_bytes=OPEN if one.mtu is None else one.mtu, first=one.first, suffix=one.suffix,
        addresses=_by_node(origin, f"{where}.addresses", one.addresses, nodes),
        lane_mode=one.lane_mode, plain=one.plain, exclusive=one.exclusive,
        counted=places.counted(own),
    )  # fmt: skip


def _image(origin: str, one: Image) -> Image:
    """Without its last slash; the head's own root is no image, nor is what leads out of one."""
    root = one.root.rstrip("/")
    if not root.strip("/.") or ".." in root.split("/"):
        raise UsageError(
            f"{origin}: image.root is {one.root!r:.200}; expected an image's directory"
        )
    return msgspec.structs.replace(one, root=root)


def _export(one: ExportTable) -> Export:
    fsid = OPEN if one.fsid is None else one.fsid
    return Export(one.path, one.client, one.options, one.file, fsid)


def _service_node(node: str) -> str:
    return "" if node in ("", "head") else require_host_names((node,))[0]


@contextmanager
def _at(origin: str, key: str, expected: str = "") -> Iterator[None]:
    """What is wrong there is told with its place."""
    try:
        yield
    except (UsageError, ValueError) as error:
        raise UsageError(f"{origin}: {key}: {error}{expected}") from error


def _management(origin: str, text: str) -> str:
    with _at(origin, "management", "; expected e.g. 10.10.1.0/24"):
        return text and str(ipaddress.IPv4Network(text, strict=False))


def _nodes(origin: str, key: str, text: str) -> tuple[str, ...]:
    with _at(origin, key):
        return expand(text) if text else ()


def _by_node(
    origin: str, key: str, value: str | Mapping[str, str], nodes: Iterable[str]
) -> dict[str, str]:
    """One value for all ``nodes``, or values by node or node set, which may name further nodes."""
    if isinstance(value, str):
        return dict.fromkeys(nodes, value) if value else {}
    return {node: text for names, text in value.items() for node in _nodes(origin, key, names)}


def _rate(origin: str, where: str, text: str) -> float | Skipped:
    with _at(origin, f"{where}.rate"):
        return settings.rate_bit_s(text) if text else OPEN
