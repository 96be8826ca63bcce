"""Read a description file: TOML → its tables, every value checked as written → ``Description``.

The keys and examples are in docs/reference/network-description.md. ``None`` means a missing key,
and nothing else. Tables that the plan uses as written are in ``features/configure/description.py``.
"""

import difflib
import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from fabricgauge.features.configure import description
from fabricgauge.features.configure.description import (
    OPEN,
    AbsolutePath,
    Description,
    Export,
    FabricSuite,
    Head,
    Image,
    Match,
    Mount,
    NetworkDescription,
    Osu,
    Repository,
    Services,
    Word,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.nodes.launch.launchers.nodes import expand, require_host_names
from fabricgauge.store import settings
from fabricgauge.store.files import toml
from fabricgauge.store.files.reading import read_bytes

#: Largest description file: addresses of 100,000 nodes, one by one.
MAX_FILE_BYTES = 4 * 1024**2

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z"
_SUFFIX = r"^([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?\Z"
_LANES = r"^([1-9]x[1-9][0-9]{0,2})?\Z"
_INTERFACE, _INTERFACE_IF_ANY = (rf"^[^\s/\x00]{{{least},15}}\Z" for least in (1, 0))

Kind = Literal["ethernet", "infiniband", "omni-path"]

#: Expected values, by the form of a text or by msgspec's own words. An MTU is at least what IPv4
#: needs (RFC 791), and at most that of InfiniBand's connected mode and of jumbo frames.
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
    fabric_suite: FabricSuite | None = None
    osu: Osu | None = None


#: The keys of each table that a file may have.
_KEYS: dict[str, type[msgspec.Struct]] = {
    "": DescriptionFile, "network": NetworkTable, "network.adapter": AdapterTable,
    "head": Head, "image": Image, "image.mounts": Mount,
    "export": ExportTable, "services": ServicesTable,
    "head.repositories": Repository, "image.repositories": Repository,
    "fabric_suite": FabricSuite, "osu": Osu,
}  # fmt: skip


def read_file(path: Path) -> DescriptionFile:
    """Read the tables of a description file.

    Raises:
        UsageError: no such file, no TOML, or an unexpected key or type.
    """
    try:
        raw = read_bytes(path, most_bytes=MAX_FILE_BYTES)
        content: dict[str, Any] = toml.loads(raw.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (toml.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    try:
        return msgspec.convert(content, DescriptionFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {_sentence(str(error), content)}") from error


#: Messages of msgspec 0.18 and later about a value that does not fit, with its place.
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_KINDS = re.compile(r"Expected `(.*)`, got `(.*)`", re.DOTALL)

_WORDS = {"int": "a whole number", "str": "a text in quotes", "array": "a list",
          "object": "a table", "bool": "true or false", "float": "a number"}  # fmt: skip


def _sentence(message: str, content: dict[str, Any]) -> str:
    """Translate msgspec's message on a value to the words of the file."""
    match = _PLACE.fullmatch(message)
    problem, place = (match[1], match[2] or "") if match else (message, "")
    table = re.sub(r"\[[^\]]*\]", "", place)
    key_name, value = _key_at(place, content)
    fitting = (
        ", ".join(get_args(Kind)) if problem.startswith("Invalid enum") else _EXPECTED.get(problem)
    )
    if fitting:
        return f"{key_name} is {value!r:.200}; expected {fitting}"
    if unknown := _UNKNOWN.fullmatch(problem):
        names = sorted(field.encode_name for field in msgspec.structs.fields(_KEYS[table]))
        close = difflib.get_close_matches(unknown[1], names, 1)
        hint = f"is {close[0]} meant?" if close else f"the keys are {', '.join(names)}"
        return f"{key_name} has an unknown key {unknown[1]:.80}; {hint}"
    if missing := _MISSING.fullmatch(problem):
        return f"{key_name} has no {missing[1]}, which is required"
    if expected := _KINDS.fullmatch(problem):
        kinds = (kind for kind in expected[1].split(" | ") if kind != "null")
        expected_kinds = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
        return f"{key_name} is {_WORDS.get(expected[2], expected[2])}; expected {expected_kinds}"
    return f"{key_name}: {problem}"


def _key_at(place: str, content: Any) -> tuple[str, Any]:
    """Return ``network[0].mtu`` as ``network 1 (net40).mtu``, and its value, if it can be found.

    People count from 1, and know a network by its name.
    """
    key_name = ""
    for word, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        try:
            content = content[word or int(index)]
        except (KeyError, IndexError, TypeError):
            content = None
        name = content.get("name") if index and isinstance(content, dict) else None
        if word:
            key_name += f".{word}" if key_name else word
        else:
            key_name += f" {int(index) + 1}" + (f" ({name:.40})" if isinstance(name, str) else "")
    return key_name or "the file", content


def description_of(
    origin: str,
    tables: DescriptionFile,
    nodes: tuple[str, ...] = (),
    *,
    backend: str = "",
    otherwise: tuple[str, ...] = (),
    without: Collection[str] = (),
) -> Description:
    """Return the description that a file's tables make.

    ``nodes`` and ``backend`` are those of the command line, if any. ``otherwise`` are the nodes if
    neither the command line nor the file names any. Nodes in ``without`` are always left out.
    Neither -w nor -x changes a node's place among those that the file names, and with it its
    address.

    Raises:
        UsageError: it names file, key and the expected value.
    """
    places = Places(nodes, _nodes(origin, "nodes", tables.nodes), otherwise)
    networks = tuple(_network(origin, table, places, without) for table in tables.network)
    if not networks:
        raise UsageError(f"{origin}: no network; write [[network]] with name and subnet")
    names = [network.name for network in networks]
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise UsageError(f"{origin}: two networks have the name {twice[0]}; names must differ")
    export: Export | Skipped = OPEN
    if (table := tables.export) is not None:
        fsid = OPEN if table.fsid is None else table.fsid
        export = Export(table.path, table.client, table.options, table.file, fsid)
    with _key_errors(origin, "management", "; expected e.g. 10.10.1.0/24"):
        text = tables.management
        management = text and str(ipaddress.IPv4Network(text, strict=False))
    return Description(
        origin=origin,
        backend=backend or tables.backend,
        networks=networks,
        head=tables.head,
        image=OPEN if tables.image is None else _image(origin, tables.image),
        export=export,
        services=tuple(
            Services(_service_node(service.node), service.enable) for service in tables.services
        ),
        fabric_suite=OPEN if tables.fabric_suite is None else _suite(origin, tables.fabric_suite),
        osu=OPEN if tables.osu is None else tables.osu,
        management=management,
        qcu=tables.qcu,
    )


class Places(msgspec.Struct, frozen=True):
    """Nodes of the command line, of the file, and of a fallback; empty if there are none."""

    command_line: tuple[str, ...]
    described: tuple[str, ...]
    otherwise: tuple[str, ...]

    def nodes_of(self, network_nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Return a network's nodes: its own, if the command line or the file have them."""
        all_nodes = self.command_line or self.described
        if network_nodes:
            return tuple(node for node in network_nodes if not all_nodes or node in all_nodes)
        return all_nodes or self.otherwise

    def counted(self, network_nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Return all nodes of the network, planned for or not."""
        return network_nodes or self.described or self.command_line or self.otherwise


def _network(
    origin: str, table: NetworkTable, places: Places, without: Collection[str]
) -> NetworkDescription:
    key_name = f"network {table.name}"
    network_nodes = _nodes(origin, f"{key_name}.nodes", table.nodes)
    nodes = tuple(node for node in places.nodes_of(network_nodes) if node not in without)
    if not nodes:
        none = (
            f"has nodes {table.nodes:.200}, but none is selected"
            if network_nodes
            else "has no nodes"
        )
        raise UsageError(f'{origin}: {key_name} {none}; write nodes = "c[1-2]", or use -w')
    match = table.adapter
    rate = _rate(origin, f"{key_name}.adapter", match.rate)
    return NetworkDescription(
        name=table.name, subnet=table.subnet, kind=table.kind, nodes=nodes,
        interfaces=_by_node(origin, f"{key_name}.interface", table.interface, nodes),
        match=Match(match.product, match.driver, match.kind, match.bus, rate),
        rate_bit_s=_rate(origin, key_name, table.rate),
        mtu_bytes=OPEN if table.mtu is None else table.mtu, first=table.first, suffix=table.suffix,
        addresses=_by_node(origin, f"{key_name}.addresses", table.addresses, nodes),
        lane_mode=table.lane_mode, plain=table.plain, exclusive=table.exclusive,
        counted=places.counted(network_nodes),
    )  # fmt: skip


def _image(origin: str, image: Image) -> Image:
    """Return the image without its last slash; the root is neither / nor out of its folder."""
    root = image.root.rstrip("/")
    if not root.strip("/.") or ".." in root.split("/"):
        raise UsageError(
            f"{origin}: image.root is {image.root!r:.200}; expected an image's directory"
        )
    return msgspec.structs.replace(image, root=root)


def _suite(origin: str, suite: FabricSuite) -> FabricSuite:
    """Return the suite if its node's name is valid; undo removes its folder, so / is invalid."""
    if not suite.folder.strip("/.") or {".", ".."} & set(suite.folder.split("/")):
        raise UsageError(
            f"{origin}: fabric_suite.folder is {suite.folder!r:.200}; expected a folder for the"
            " suite alone, e.g. /opt/fabric-suite"
        )
    with _key_errors(origin, "fabric_suite.node"):
        _service_node(suite.node)
    return suite


def _service_node(node: str) -> str:
    return "" if node in ("", "head") else require_host_names((node,))[0]


@contextmanager
def _key_errors(origin: str, key: str, expected: str = "") -> Iterator[None]:
    try:
        yield
    except (UsageError, ValueError) as error:
        raise UsageError(f"{origin}: {key}: {error}{expected}") from error


def _nodes(origin: str, key: str, text: str) -> tuple[str, ...]:
    with _key_errors(origin, key):
        return expand(text) if text else ()


def _by_node(
    origin: str, key: str, value: str | Mapping[str, str], nodes: Iterable[str]
) -> dict[str, str]:
    """Return one value for all ``nodes``, or values by node or node set, also of more nodes."""
    if isinstance(value, str):
        return dict.fromkeys(nodes, value) if value else {}
    return {node: text for names, text in value.items() for node in _nodes(origin, key, names)}


def _rate(origin: str, key_name: str, text: str) -> float | Skipped:
    with _key_errors(origin, f"{key_name}.rate"):
        return settings.rate_bit_s(text) if text else OPEN
