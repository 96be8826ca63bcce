"""The output of iproute2's ``ip -j``: a node's interfaces with their addresses."""

import ipaddress
from typing import Annotated, TypeVar

import msgspec

_T = TypeVar("_T")

#: Larger sizes or indices are damaged data.
Number = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class IpAddress(msgspec.Struct, frozen=True, rename={"ip": "local", "prefix_length": "prefixlen"}):
    """An address with all values that are needed to add it again unchanged."""

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
        """The subnet in CIDR form; empty if this is not an IPv4 address."""
        try:
            return str(ipaddress.IPv4Interface(self.cidr).network)
        except ValueError:
            return ""


class IpLinkInfo(msgspec.Struct, frozen=True):
    """A driver's data on a link above other links; ``info_kind`` is the type in ip-link(8)."""

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
    ``most_mtu_bytes`` is 0 if the driver does not report it.
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
        """A tunnel's lower interface and its local address, each empty if it is not bound."""
        data = self.info.info_data
        ends = (data.get("link"), data.get("local") or data.get("local6"))
        interface, address = (end if isinstance(end, str) else "" for end in ends)
        return interface, address

    @property
    def up(self) -> bool:
        """True if it is switched on, with or without a cable."""
        return "UP" in self.flags

    @property
    def ipv4(self) -> tuple[IpAddress, ...]:
        return tuple(
            address
            for address in self.addresses
            if address.family == "inet" and address.ipv4_subnet
        )


def read_ip_json(json: bytes, kind: type[_T]) -> _T:
    """Decode JSON as ``kind``; a null field, such as the ``link`` of tunl0, counts as missing.

    Raises:
        msgspec.DecodeError: the text is not output of ``ip -j``.
        RecursionError: the lists are nested too deeply.
    """
    return msgspec.convert(_without_null(msgspec.json.decode(json)), kind)


def _without_null(value: object) -> object:
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return value
