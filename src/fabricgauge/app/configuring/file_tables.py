"""The tables and keys of a description file, as TOML has them.

What they mean, with examples, is in docs/reference/network-description.md. ``None`` stands for a
key that is not there, and nowhere else. What the plan takes just as it is written is a table of
``configure/description.py``.
"""

import msgspec

from fabricgauge.configure.description import Head, Image


class Adapter(msgspec.Struct, forbid_unknown_fields=True):
    product: str = ""
    driver: str = ""
    kind: str = ""
    bus: str = ""
    rate: str = ""


class Network(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    subnet: str
    kind: str = "ethernet"
    nodes: str = ""
    interface: str | dict[str, str] = ""
    adapter: Adapter = msgspec.field(default_factory=Adapter)
    rate: str = ""
    mtu: int | None = None
    suffix: str = ""
    first: str = ""
    addresses: dict[str, str] = {}
    lane_mode: str = ""
    plain: bool = False
    exclusive: bool = False


class Export(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    client: str = "*"
    options: tuple[str, ...] = ("ro", "no_subtree_check")
    file: str = "/etc/exports"
    fsid: int | None = None


class Services(msgspec.Struct, forbid_unknown_fields=True):
    enable: tuple[str, ...]
    node: str = "head"


class File(msgspec.Struct, forbid_unknown_fields=True):
    network: tuple[Network, ...] = ()
    backend: str = ""
    nodes: str = ""
    management: str = ""
    qcu: str = "qcu64e"
    head: Head = Head()
    image: Image | None = None
    export: Export | None = None
    services: tuple[Services, ...] = ()
