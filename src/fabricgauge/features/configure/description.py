"""Describe networks, and what belongs to them on head, image and nodes.

Values are checked when they are read (``apply/read_description.py``). Rates are in bit/s per
direction, sizes in bytes. An empty text means that the description leaves it open. ``Head``,
``Image`` and ``Mount`` are tables of the file; ``EXPECTED`` has the meaning of each text pattern in
them.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from fabricgauge.model.absence import Skipped

OPEN = Skipped("the description leaves it open")

_WORD = r"^[A-Za-z0-9_@*/.][^\s\x00]*\Z"
_WORD_IF_ANY = r"^([A-Za-z0-9_@*/.][^\s\x00]*)?\Z"
_MEMLOCK = r"^(unlimited|[0-9]+)?\Z"
_PATH = r"^/[^\x00]*\Z"
_SOURCE = r"^[^\x00-][^\x00]*\Z"
_URL = r"^(https?|file)://[^\s\x00]+\Z"
_KEY = r"^((https?|file)://[^\s\x00]+|/[^\s\x00]+)?\Z"
_FINGERPRINT = r"^([0-9A-Fa-f]{4} *){0,16}\Z"

EXPECTED = {
    _WORD: "one word that does not begin with a hyphen",
    _WORD_IF_ANY: "one word that does not begin with a hyphen",
    _MEMLOCK: "unlimited, or a number of KiB",
    _PATH: "an absolute path",
    _SOURCE: "SERVER:/PATH or a device",
    _URL: "the URL of a repository's directory: http, https or file",
    _KEY: "a URL or an absolute path",
    _FINGERPRINT: "40 hexadecimal digits, as gpg --show-keys prints them",
}

Word = Annotated[str, Meta(pattern=_WORD)]
Memlock = Annotated[str, Meta(pattern=_MEMLOCK)]
AbsolutePath = Annotated[str, Meta(pattern=_PATH)]


class Match(msgspec.Struct, frozen=True):
    """Properties of a node's adapter; empty fields match any.

    ``product`` is a part of the product's name in any case; ``driver`` and ``bus`` are complete.
    """

    product: str = ""
    driver: str = ""
    kind: str = ""
    bus: str = ""
    rate_bit_s: float | Skipped = OPEN


class NetworkTraits(msgspec.Struct, frozen=True):
    """A network as a person describes it, whatever its nodes.

    ``kind`` is ``ethernet``, ``infiniband`` or ``omni-path``. A node's name with ``suffix``
    (``-eth40``) names its end; if ``plain``, the bare name of the node means this end too. If
    ``exclusive``, its interfaces have addresses of no other subnet.
    """

    name: str
    subnet: str
    kind: str
    rate_bit_s: float | Skipped = OPEN
    mtu_bytes: int | Skipped = OPEN
    suffix: str = ""
    plain: bool = False
    exclusive: bool = False


class NetworkDescription(NetworkTraits, frozen=True, kw_only=True):
    """One network. ``interfaces`` and ``addresses`` are by node; those of other nodes are chosen.

    ``subnet`` is as it was written and may have host bits set. ``first`` is the first node's
    address; the others follow it in the order of ``counted``. These are all nodes of the network,
    while ``nodes`` may be some of them. An empty ``counted`` stands for ``nodes``.
    """

    nodes: tuple[str, ...]
    interfaces: dict[str, str] = msgspec.field(default_factory=dict)
    match: Match = Match()
    first: str = ""
    addresses: dict[str, str] = msgspec.field(default_factory=dict)
    lane_mode: str = ""
    counted: tuple[str, ...] = ()


class Mount(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "type"}):
    """A line of an image's fstab."""

    source: Annotated[str, Meta(pattern=_SOURCE)]
    target: AbsolutePath
    kind: Word = "nfs"
    options: Word = "nfsvers=3,nodev,nosuid"


class Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A repository of RPM packages; ``key`` signs them, and ``fingerprint`` proves the key."""

    url: Annotated[str, Meta(pattern=_URL)]
    key: Annotated[str, Meta(pattern=_KEY)] = ""
    fingerprint: Annotated[str, Meta(pattern=_FINGERPRINT)] = ""

    def __post_init__(self) -> None:
        if self.url.endswith(".repo"):
            raise ValueError(f"{self.url} is a file; write the baseurl that it names")
        if self.key and len(self.fingerprint.replace(" ", "")) < _FINGERPRINT_DIGITS:
            raise ValueError("key needs its fingerprint: gpg --show-keys prints it")


#: Digits of the fingerprint of an OpenPGP key of version 4 (RFC 4880).
_FINGERPRINT_DIGITS = 40


class FabricSuite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fabric suite that was downloaded by hand; ``folder`` is where it is unpacked."""

    archive: AbsolutePath
    folder: AbsolutePath = "/opt/fabric-suite"
    node: Word = "head"


class Osu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """OSU's benchmarks: the archive, the MPI's folder of mpicc, the folder to install into."""

    archive: AbsolutePath
    mpi: AbsolutePath
    prefix: AbsolutePath


class Image(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes' image: ``root`` is its directory on the head, ``osimage`` its name."""

    root: AbsolutePath
    osimage: Annotated[str, Meta(pattern=_WORD_IF_ANY)] = ""
    packages: tuple[Word, ...] = ()
    memlock: Memlock = ""
    mounts: tuple[Mount, ...] = ()
    services: tuple[Word, ...] = ()
    repositories: tuple[Repository, ...] = ()


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages, their repositories, and limits of the head itself."""

    packages: tuple[Word, ...] = ()
    memlock: Memlock = ""
    repositories: tuple[Repository, ...] = ()


class Export(msgspec.Struct, frozen=True):
    """A directory of the head that the nodes mount; without ``fsid`` the lowest free one."""

    path: str
    client: str = "*"
    options: tuple[str, ...] = ("ro", "no_subtree_check")
    file: str = "/etc/exports"
    fsid: int | Skipped = Skipped("the lowest free one is taken")


class Services(msgspec.Struct, frozen=True):
    """Services that ``node`` shall run from now on; empty for the head."""

    node: str = ""
    names: tuple[str, ...] = ()


class Description(msgspec.Struct, frozen=True):
    """A whole description, read from ``origin``.

    ``management`` is the subnet whose host numbers the new addresses keep, unless they are given
    otherwise. ``qcu`` is the program that sets the lanes of QSFP+ adapters.
    """

    origin: str
    backend: str
    networks: tuple[NetworkDescription, ...]
    head: Head = Head()
    image: Image | Skipped = Skipped("the description has no [image]")
    export: Export | Skipped = Skipped("the description has no [export]")
    services: tuple[Services, ...] = ()
    fabric_suite: FabricSuite | Skipped = Skipped("the description has no [fabric_suite]")
    osu: Osu | Skipped = Skipped("the description has no [osu]")
    management: str = ""
    qcu: str = "qcu64e"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return every node of any network, each once."""
        return tuple(dict.fromkeys(node for network in self.networks for node in network.nodes))
