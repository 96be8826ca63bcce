"""An InfiniBand subnet as its diagnostic tools print it: links of all ports, and their errors.

Rates are per direction, in bit/s of one lane on the wire, as in ``RdmaPort``.
"""

import msgspec


class SubnetPort(msgspec.Struct, frozen=True):
    """A port by its node's GUID in hexadecimal, its description (``n2 mlx5_0``) and its number.

    The GUID is empty if the tool does not print it.
    """

    guid: str
    description: str
    number: int
    switch: bool = False

    @property
    def name(self) -> str:
        """``n2 mlx5_0 port 1``."""
        return f"{self.description or self.guid} port {self.number}"


class SubnetLink(msgspec.Struct, frozen=True):
    """A link that is up, from ``port`` to ``peer``.

    The supported values are those that both ends support, if larger than the active ones; otherwise
    they equal the active ones.
    """

    port: SubnetPort
    peer: SubnetPort
    lanes: int
    lane_bit_s: float
    lanes_supported: int
    lane_bit_s_supported: float

    @property
    def rate_bit_s(self) -> float:
        return self.lanes * self.lane_bit_s

    @property
    def rate_supported_bit_s(self) -> float:
        return self.lanes_supported * self.lane_bit_s_supported


class PortErrors(msgspec.Struct, frozen=True):
    """A port's counts since its counters were cleared, by the tool's names."""

    port: SubnetPort
    counters: dict[str, int]


class Subnet(msgspec.Struct, frozen=True):
    """All links and errors that were read; each link once for each printed end.

    ``read`` are the kinds of printout that were read (``links``, ``errors``). They distinguish a
    subnet without errors from one whose errors are unknown.
    """

    links: tuple[SubnetLink, ...] = ()
    errors: tuple[PortErrors, ...] = ()
    read: frozenset[str] = frozenset()
