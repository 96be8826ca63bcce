"""What ``ip -j`` of iproute2 prints: a node's interfaces with their addresses."""

import ipaddress
from typing import Annotated, TypeVar

import msgspec

_T = TypeVar("_T")

#: A size or index above this is not a fact about a machine.
Number = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class IpAddress(msgspec.Struct, frozen=True, rename={"ip": "local", "prefix_length": "prefixlen"}):
    """An address with all that is needed to add it again just so."""

    family: str = ""
    ip: str = ""
    prefix_length: Number = 0
    broadcast: str = ""
    label: str = ""
    scope: str = "global"

    @property
    def cidr(self) -> str:
        return f"{self.ip}/{self.prefix_length}"

    @property
    def ipv4_subnet(self) -> str:
        """Empty for what is no IPv4 address."""
        try:
            return str(ipaddress.IPv4Interface(self.cidr).network)
        except ValueError:
            return ""


class IpLinkInfo(msgspec.Struct, frozen=True):
    """What a driver says of a link that is made of others; ``info_kind`` is ip-link(8)'s word."""

    info_kind: str = ""
    info_data: dict[str, object] = {}


_NAMES = {
    "name": "ifname", "index": "ifindex", "mtu_bytes": "mtu", "mac": "address",
    "addresses": "addr_info", "medium": "link_type", "parent": "link", "info": "linkinfo",
    "most_mtu_bytes": "max_mtu",
}  # fmt: skip


class IpLink(msgspec.Struct, frozen=True, rename=_NAMES):
    """An interface of ``ip -d -j addr``; old versions print empty objects too.

    ``flags`` are the kernel's words, ``operstate`` in capital letters, ``medium`` the kind of link:
    ``ether``, ``infiniband``, ``loopback``. ``master`` and ``parent`` are as in ``Interface``.
    ``most_mtu_bytes`` is 0 where the driver says nothing of it.
    """

    name: str = ""
    index: Number = 0
    flags: tuple[str, ...] = ()
    mtu_bytes: Number = 0
    operstate: str = "UNKNOWN"
    mac: str = ""
    addresses: tuple[IpAddress, ...] = ()
    medium: str = ""
    master: str = ""
    parent: str = ""
    info: IpLinkInfo = IpLinkInfo()
    most_mtu_bytes: Number = 0

    @property
    def kind(self) -> str:
        """``bond``, ``vlan``; empty for an adapter's own interface."""
        return self.info.info_kind

    @property
    def tunnel_ends(self) -> tuple[str, str]:
        """A tunnel's interface and its own address, each empty where it is bound to none."""
        data = self.info.info_data
        ends = (data.get("link"), data.get("local") or data.get("local6"))
        interface, address = (one if isinstance(one, str) else "" for one in ends)
        return interface, address

    @property
    def up(self) -> bool:
        """Whether it is switched on, with or without a cable."""
        return "UP" in self.flags

    @property
    def ipv4(self) -> tuple[IpAddress, ...]:
        return tuple(one for one in self.addresses if one.family == "inet" and one.ipv4_subnet)


def read_ip_json(json: bytes, kind: type[_T]) -> _T:
    """The JSON as ``kind``; what is null, as the ``link`` of tunl0, is as if it were left out.

    Raises:
        msgspec.DecodeError: not what ``ip -j`` prints.
        RecursionError: lists within lists, without end.
    """
    return msgspec.convert(_without_null(msgspec.json.decode(json)), kind)


def _without_null(value: object) -> object:
    if isinstance(value, list):
        return [_without_null(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_null(one) for key, one in value.items() if one is not None}
    return value
