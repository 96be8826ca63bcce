"""Say how a transport or an MPI takes a traffic class or a service level; pure.

Sources: sockets ip(7) and ipv6(7), IP_TOS and IPV6_TCLASS; UCX 1.20, ``ucx_info -cf`` (UCX_IB_SL,
UCX_IB_TRAFFIC_CLASS); fi_opx(7) of libfabric 1.21, the first with FI_OPX_SL; psm_context.c of PSM2
(HFI_SL) and of PSM3 (PSM3_NIC_SL). Open MPI's btl_openib_ib_service_level has no effect: a launch
on ports has no such BTL.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.nodes.launch.transports import KEYS, MPI, OFI, transport_values

Kind = Literal["traffic-class", "service-level"]

_RANGES: Mapping[Kind, range] = MappingProxyType({
    "traffic-class": range(256), "service-level": range(16),
})  # fmt: skip


class TrafficClass(msgspec.Struct, frozen=True):
    """A traffic class (TOS byte, 0 to 255), or a service level of InfiniBand or Omni-Path."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{self.kind.replace('-', ' ')} {self.number}"


class Variables(msgspec.Struct, frozen=True):
    """Variables of the ``libraries`` that take a class; an MPI uses one library of them."""

    names: tuple[str, ...]
    libraries: tuple[str, ...]


class ClassSetting(msgspec.Struct, frozen=True):
    """A class as a launch gets it: a transport's words, or variables of the ranks.

    A launch heeds variables only if it loads one of ``libraries``.
    """

    transport: str
    variables: tuple[tuple[str, str], ...] = ()
    libraries: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.variables:
            return f"--transport {self.transport}"
        return " ".join(f"{name}={value}" for name, value in self.variables)


_UCX_SL = Variables(("UCX_IB_SL",), ("libucp",))
_UCX_CLASS = Variables(("UCX_IB_TRAFFIC_CLASS",), ("libucp",))
#: By technology of a network of RDMA ports: InfiniBand's queues follow the service level, RoCE's
#: the traffic class, or the priority in a VLAN's tag, which UCX takes from the service level.
_OF_MPI: Mapping[str, Mapping[Kind, Variables]] = MappingProxyType({
    "infiniband": {"service-level": _UCX_SL},
    "roce-v1": {"service-level": _UCX_SL, "traffic-class": _UCX_CLASS},
    "roce-v2": {"service-level": _UCX_SL, "traffic-class": _UCX_CLASS},
    "omni-path": {
        "service-level": Variables(("FI_OPX_SL", "HFI_SL"), ("libfabric", "libpsm2")),
    },
})  # fmt: skip
#: By provider of libfabric, which has no such setting for its other providers.
_OF_PROVIDERS: Mapping[str, str] = MappingProxyType({
    "opx": "FI_OPX_SL", "psm2": "HFI_SL", "psm3": "PSM3_NIC_SL",
})  # fmt: skip


def parse_class(text: str) -> TrafficClass:
    """Return the class of ``184``, ``traffic-class=184`` or ``service-level=3``.

    Raises:
        UsageError: unknown kind, or a number out of its range.
    """
    match = re.fullmatch(r"(?:(traffic-class|service-level)=)?([0-9]{1,3})", text.strip())
    kind: Kind = "service-level" if match and match[1] == "service-level" else "traffic-class"
    if match is None or int(match[2]) not in _RANGES[kind]:
        raise UsageError(
            f"{text!r} is no class: write traffic-class=184 (0 to 255, a TOS byte) or"
            " service-level=3 (0 to 15)"
        )
    return TrafficClass(kind, int(match[2]))


def set_class(wanted: TrafficClass, transport: str, network: Network | None) -> ClassSetting:
    """Return how a launch over ``transport`` (empty for MPI) on a network takes a class.

    Raises:
        UsageError: the transport, or MPI on that network, has no such setting.
    """
    name, kind = transport.partition(":")[0] or MPI, wanted.kind
    if kind in KEYS.get(name, {}):
        if kind in transport_values(transport):
            raise UsageError(f"state the {kind} once: leave it out of --transport {transport}")
        sign = "," if ":" in transport else ":"
        return ClassSetting(f"{transport}{sign}{kind}={wanted.number}")
    if name == OFI:
        provider = transport_values(transport).get("provider", "").partition(";")[0]
        library = _OF_PROVIDERS.get(provider)
        row: Mapping[Kind, Variables] = (
            {"service-level": Variables((library,), ("libfabric",))} if library else {}
        )
        return _set_variables(wanted, transport, row, transport)
    if name != MPI:
        known = " and ".join(known for known in _RANGES if known in KEYS.get(name, {}))
        raise UsageError(f"--transport {name} has no {kind}; it has {known}")
    if network is None or not network.has_rdma_ports:
        raise UsageError(
            "no MPI sets the class of its TCP connections: measure with --transport sockets, or on"
            " a network of RDMA ports (--network)"
        )
    rows = _OF_MPI.get(network.technology, {})
    where = f"MPI on {network.name} ({network.technology})"
    return _set_variables(wanted, transport, rows, where)


def _set_variables(
    wanted: TrafficClass, transport: str, rows: Mapping[Kind, Variables], where: str
) -> ClassSetting:
    row = rows.get(wanted.kind)
    if row is None:
        known = f"; it has {' and '.join(rows)}" if rows else ""
        raise UsageError(f"{where} has no known setting of a {wanted.kind}{known}")
    variables = tuple((name, str(wanted.number)) for name in row.names)
    return ClassSetting(transport, variables, row.libraries)


def find_unheeded(setting: ClassSetting, loaded: Sequence[str]) -> str:
    """Return why a launch cannot have heeded the setting's variables; empty if it may have.

    ``loaded`` are the paths of the libraries that its rank 0 had loaded.
    """
    if not setting.libraries:
        return ""
    names = [path.rpartition("/")[2] for path in loaded]
    if any(name.startswith(library) for name in names for library in setting.libraries):
        return ""
    return f"MPI loaded no {' or '.join(setting.libraries)}, which {setting} is for"
