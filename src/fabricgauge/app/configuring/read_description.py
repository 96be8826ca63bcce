"""The tables of a description file → ``Description``, every value checked as it was written."""

import ipaddress
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import msgspec

from fabricgauge import settings
from fabricgauge.app.configuring import description_file as tables
from fabricgauge.configure.description import (
    Description,
    Export,
    Head,
    Image,
    Match,
    NetworkDescription,
    Services,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.run.launchers.nodes import checked, expand

KINDS = ("ethernet", "infiniband", "omni-path")

_OPEN = Skipped("the description leaves it open")
_WORD = re.compile(r"[A-Za-z0-9_@*/.][^\s\x00]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_SUFFIX = re.compile(r"[A-Za-z0-9.-]{0,62}[A-Za-z0-9]")
_MEMLOCK = re.compile(r"(unlimited|[0-9]+)?")
_LANES = re.compile(r"[1-9]x[1-9][0-9]{0,2}")
_INTERFACE = re.compile(r"[^\s/\x00]{1,15}")

#: What IPv4 needs (RFC 791), and the largest of InfiniBand's connected mode and of jumbo frames.
_MTU = (576, 65520)


def description_of(
    origin: str,
    found: tables.DescriptionFile,
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
    _distinct(origin, (one.name for one in networks))
    _checked_head(origin, found.head)
    return Description(
        origin=origin,
        backend=backend or found.backend,
        networks=networks,
        head=found.head,
        image=_OPEN if found.image is None else _image(origin, found.image),
        export=_OPEN if found.export is None else _export(origin, found.export),
        services=tuple(_services(origin, one) for one in found.services),
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
    origin: str, one: tables.NetworkTable, places: Places, without: Collection[str]
) -> NetworkDescription:
    own = _nodes(origin, f"network {one.name}.nodes", one.nodes)
    nodes = tuple(node for node in places.of(own) if node not in without)
    if not nodes:
        none = f"is of {one.nodes:.200}, of which none is left" if own else "has no nodes"
        raise UsageError(f'{origin}: network {one.name} {none}; write nodes = "c[1-2]", or use -w')
    where = f"network {one.name}"
    _fits(origin, "network.name", one.name, _NAME, "letters, digits, dots, underscores, hyphens")
    _one_of(origin, f"{where}.kind", one.kind, KINDS)
    interfaces = _by_node(origin, f"{where}.interface", one.interface, nodes)
    for name in interfaces.values():
        _fits(origin, f"{where}.interface", name, _INTERFACE, "an interface's name")
    return NetworkDescription(
        name=one.name, subnet=one.subnet, kind=one.kind, nodes=nodes, interfaces=interfaces,
        match=_match(origin, where, one.adapter), rate_bit_s=_rate(origin, where, one.rate),
        mtu_bytes=_mtu(origin, where, one.mtu), first=one.first,
        suffix=one.suffix and _fits(origin, f"{where}.suffix", one.suffix, _SUFFIX,
                                    "letters, digits and hyphens, e.g. -eth40"),
        addresses=_by_node(origin, f"{where}.addresses", one.addresses, nodes),
        lane_mode=one.lane_mode and _fits(origin, f"{where}.lane_mode", one.lane_mode, _LANES,
                                          "1x40 or 4x10"),
        plain=one.plain, exclusive=one.exclusive, counted=places.counted(own),
    )  # fmt: skip


def _match(origin: str, where: str, one: tables.AdapterTable) -> Match:
    if one.kind:
        _one_of(origin, f"{where}.adapter.kind", one.kind, KINDS)
    rate = _rate(origin, f"{where}.adapter", one.rate)
    return Match(one.product, one.driver, one.kind, one.bus, rate)


def _checked_head(origin: str, one: Head) -> None:
    _words(origin, "head.packages", one.packages)
    _memlock(origin, "head.memlock", one.memlock)


def _image(origin: str, one: Image) -> Image:
    for mount in one.mounts:
        _text(origin, "image.mounts.source", mount.source)
        _path(origin, "image.mounts.target", mount.target)
        _word(origin, "image.mounts.type", mount.kind)
        _word(origin, "image.mounts.options", mount.options)
    if one.osimage:
        _word(origin, "image.osimage", one.osimage)
    _words(origin, "image.packages", one.packages)
    _words(origin, "image.services", one.services)
    _memlock(origin, "image.memlock", one.memlock)
    return msgspec.structs.replace(one, root=_root(origin, one.root))


def _export(origin: str, one: tables.ExportTable) -> Export:
    if one.fsid is not None and one.fsid < 1:
        raise UsageError(f"{origin}: export.fsid is {one.fsid}; expected a number from 1")
    return Export(
        _path(origin, "export.path", one.path), _word(origin, "export.client", one.client),
        _words(origin, "export.options", one.options), _path(origin, "export.file", one.file),
        _OPEN if one.fsid is None else one.fsid,
    )  # fmt: skip


def _services(origin: str, one: tables.ServicesTable) -> Services:
    node = "" if one.node in ("", "head") else checked((one.node,))[0]
    return Services(node, _words(origin, "services.enable", one.enable))


def _management(origin: str, text: str) -> str:
    try:
        return text and str(ipaddress.IPv4Network(text, strict=False))
    except ValueError as error:
        raise UsageError(f"{origin}: management: {error}; expected e.g. 10.10.1.0/24") from error


def _nodes(origin: str, key: str, text: str) -> tuple[str, ...]:
    try:
        return expand(text) if text else ()
    except UsageError as error:
        raise UsageError(f"{origin}: {key}: {error}") from error


def _by_node(
    origin: str, key: str, value: str | Mapping[str, str], nodes: Iterable[str]
) -> dict[str, str]:
    """A value for all nodes, or by node or node set, of which others may be described as well."""
    if isinstance(value, str):
        return dict.fromkeys(nodes, value) if value else {}
    return {node: text for names, text in value.items() for node in _nodes(origin, key, names)}


def _rate(origin: str, where: str, text: str) -> float | Skipped:
    if not text:
        return _OPEN
    try:
        return settings.rate_bit_s(text)
    except UsageError as error:
        raise UsageError(f"{origin}: {where}.rate: {error}") from error


def _mtu(origin: str, where: str, value: int | None) -> int | Skipped:
    if value is None:
        return _OPEN
    low, high = _MTU
    if not low <= value <= high:
        raise UsageError(f"{origin}: {where}.mtu is {value}; expected {low} to {high} bytes")
    return value


def _memlock(origin: str, key: str, text: str) -> str:
    return _fits(origin, key, text, _MEMLOCK, "unlimited, or a number of KiB")


def _path(origin: str, key: str, text: str) -> str:
    if not text.startswith("/") or "\0" in text:
        raise UsageError(f"{origin}: {key} is {text!r:.200}; expected an absolute path")
    return text


def _root(origin: str, text: str) -> str:
    """Without its last slash; the head's own root is no image, nor is what leads out of one."""
    path = _path(origin, "image.root", text).rstrip("/")
    if not path.strip("/.") or ".." in path.split("/"):
        raise UsageError(f"{origin}: image.root is {text!r:.200}; expected an image's directory")
    return path


def _text(origin: str, key: str, text: str) -> str:
    if not text or "\0" in text or text.startswith("-"):
        raise UsageError(f"{origin}: {key} is {text!r:.200}; expected SERVER:/PATH or a device")
    return text


def _word(origin: str, key: str, text: str) -> str:
    return _fits(origin, key, text, _WORD, "one word that does not begin with a hyphen")


def _words(origin: str, key: str, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(_word(origin, key, text) for text in texts)


def _fits(origin: str, key: str, text: str, form: "re.Pattern[str]", expected: str) -> str:
    if not form.fullmatch(text):
        raise UsageError(f"{origin}: {key} is {text!r:.200}; expected {expected}")
    return text


def _one_of(origin: str, key: str, text: str, known: tuple[str, ...]) -> None:
    if text not in known:
        raise UsageError(f"{origin}: {key} is {text!r:.80}; expected {', '.join(known)}")


def _distinct(origin: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(f"{origin}: two networks are named {name}; names must differ")
