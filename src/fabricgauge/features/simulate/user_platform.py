"""Read a user's platform file: its hosts, and the rate of their links."""

import re
from pathlib import Path
from xml.etree import ElementTree

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.simulation import Platform
from fabricgauge.store.files.reading import read_bytes

#: The cost of a message in both ends' software, as in the shipped single switch.
OVERHEAD_S = 0.3e-6

#: A platform of 10,240 nodes in explicit routes is larger than this; SimGrid would not load it.
MOST_BYTES = 256 * 2**20

_BIT_S = {
    "": 8.0, "bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "tbps": 1e12,
    "Bps": 8.0, "kBps": 8e3, "MBps": 8e6, "GBps": 8e9, "TBps": 8e12,
    "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12, "KBps": 8e3,
}  # fmt: skip
_RATE = re.compile(r"([0-9.eE+-]+?)\s*([kKMGTmgt]?[bB]ps)?")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")


def is_path(platform: str) -> bool:
    """Check whether a platform is named by its file."""
    return "/" in platform or platform.endswith(".xml")


def user_platform(path: str) -> Platform:
    """Return the platform of a file in SimGrid's XML.

    Raises:
        UsageError: it cannot be read, is no XML platform, or has fewer than two hosts.
    """
    root = _root(path)
    nodes = tuple(name for element in root.iter() for name in _hosts(path, element))
    if len(set(nodes)) < 2 or len(set(nodes)) < len(nodes):
        raise UsageError(f"{path} needs two or more hosts with different names")
    for node in nodes:
        if not _NODE.fullmatch(node):
            raise UsageError(f"{path}: {node!r:.100} cannot be a host's name here")
    return Platform(
        name=Path(path).stem, nodes=nodes, rate_bit_s=_rate(root), origin=path,
        overhead_s=OVERHEAD_S, path=str(Path(path).absolute()),
    )  # fmt: skip


def _root(path: str) -> ElementTree.Element:
    try:
        # The file is the user's own, and SimGrid reads it next.
        root = ElementTree.fromstring(read_bytes(Path(path), most_bytes=MOST_BYTES))  # noqa: S314
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}; a platform file was expected") from error
    if root.tag != "platform":
        raise UsageError(f"{path} is no platform file: it begins with <{root.tag}>")
    return root


def _hosts(path: str, element: ElementTree.Element) -> list[str]:
    """Return the hosts of an element: one, or those of a whole cluster."""
    if element.tag == "host":
        return [element.get("id", "")]
    if element.tag != "cluster":
        return []
    prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
    names: list[str] = []
    for part in element.get("radical", "").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or int(match[2] or match[1]) - int(match[1]) > 10**6:
            raise UsageError(f"{path}: radical {part!r:.100} is not of the form 0-31")
        last = int(match[2] or match[1])
        names += [f"{prefix}{number}{suffix}" for number in range(int(match[1]), last + 1)]
    return names


def _rate(root: ElementTree.Element) -> float | Skipped:
    """Return the rate of all links, if they agree; bandwidths without a unit are bytes/s."""
    written = {
        value
        for element in root.iter()
        for value in (element.get("bw"), element.get("bandwidth"))
        if value and element.tag in ("cluster", "link")
    }
    rates = {_bit_s(value) for value in written}
    if len(rates) != 1 or None in rates:
        return Skipped(f"the platform file states {len(rates)} rates for its links, not one")
    return next(rate for rate in rates if rate is not None)


def _bit_s(text: str) -> float | None:
    match = _RATE.fullmatch(text.strip())
    factor = _BIT_S.get(match[2] or "") if match else None
    try:
        return float(match[1]) * factor if match and factor else None
    except ValueError:
        return None
