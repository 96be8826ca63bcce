"""Check the transports that carry the engine's data instead of MPI, and build their options.

MPI still starts the ranks and carries control messages over an IP network: the measured one, or one
that joins the same nodes as the measured RDMA ports.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import PlannedLaunch

MPI, SOCKETS, OFI, VERBS = "mpi", "sockets", "ofi", "verbs"
#: Technologies with verbs that need no connection manager; iWARP needs one.
TECHNOLOGIES = ("infiniband", "omni-path", "roce-v1", "roce-v2")
#: Providers of libfabric that use RDMA ports, by the word before the first ``;``: true if their
#: domains have the names of the ports' devices (fi_verbs(7), fi_efa(7), fi_cxi(7)).
_PORT_PROVIDERS: Mapping[str, bool] = MappingProxyType({
    "verbs": True, "efa": True, "cxi": True, "psm2": False, "psm3": False, "opx": False,
})  # fmt: skip
#: Names of libfabric's providers and domains.
_NAME = "[A-Za-z0-9_][A-Za-z0-9_;.-]{0,63}"
#: Keys of ``TRANSPORT:KEY=VALUE,…``, which are options of the engine, each with its range, its
#: values, or a pattern.
KEYS: Mapping[str, Mapping[str, range | tuple[str, ...] | str]] = MappingProxyType({
    SOCKETS: {"traffic-class": range(256)},
    OFI: {"provider": _NAME, "domain": _NAME, "messages": ("tagged", "plain")},
    VERBS: {
        "queue-pair": ("rc", "uc", "ud", "xrc"),
        "queue-pairs": range(1, 16_385),
        "gid-index": range(256),
        "inline": range(65_537),
        "path-mtu": ("256", "512", "1024", "2048", "4096"),
        "signal-interval": range(1, 65_537),
        "traffic-class": range(256),
        "service-level": range(16),
        "messages-by": ("send", "write-imm", "write"),
        "shared-receives": ("yes", "no"),
    },
})  # fmt: skip


def known_transport(text: str) -> str:
    """Return the transport that ``--transport`` names; empty for MPI.

    Raises:
        UsageError: unknown transport, key or value; the message lists the known ones.
    """
    name, colon, pairs = text.strip().partition(":")
    if name not in (MPI, *KEYS) or (colon and not KEYS.get(name)):
        choices = ", ".join((MPI, *KEYS))
        raise UsageError(
            f"no transport {text!r}; choose from {choices}, each but mpi with KEY=VALUE,…"
        )
    for pair in pairs.split(",") if colon else ():
        _check_pair(name, pair)
    return "" if name == MPI else text.strip()


def _check_pair(name: str, pair: str) -> None:
    key, _, value = pair.partition("=")
    if key not in KEYS[name]:
        raise UsageError(f"{name} has no key {key!r}; choose from {', '.join(KEYS[name])}")
    if pair == "queue-pair=dc":
        raise UsageError(
            f"{name}: dynamically connected queue pairs (dc) need the library of one vendor's"
            " adapters; use xrc, which also saves connections, or ud"
        )
    allowed = KEYS[name][key]
    if isinstance(allowed, tuple):
        valid, expected = value in allowed, f"one of {', '.join(allowed)}"
    elif isinstance(allowed, str):
        valid, expected = bool(re.fullmatch(allowed, value)), "a name like tcp;ofi_rxm"
    else:
        valid = bool(re.fullmatch("[0-9]{1,6}", value)) and int(value) in allowed
        expected = f"a number from {allowed[0]} to {allowed[-1]}"
    if not valid:
        raise UsageError(f"{name}: {pair!r} is not valid; expected {expected}")


def transport_values(transport: str) -> dict[str, str]:
    """Return the values of a known transport by their keys."""
    pairs = transport.partition(":")[2]
    return dict(pair.split("=", 1) for pair in pairs.split(",")) if pairs else {}


def _provider(transport: str) -> str:
    return transport_values(transport).get("provider", "").partition(";")[0]


def needs_ports(transport: str) -> bool:
    """Check whether a transport uses RDMA ports and no addresses."""
    return transport.partition(":")[0] == VERBS or _provider(transport) in _PORT_PROVIDERS


def can_use(transport: str, network: Network) -> bool:
    """Check whether a transport can use a network: by one port of each node, or by addresses."""
    if not needs_ports(transport):
        return not network.has_rdma_ports
    has_verbs = transport.partition(":")[0] != VERBS or network.technology in TECHNOLOGIES
    return network.has_rdma_ports and has_verbs and network.rails == 1


def split_launch(
    transport: str, fabric: Fabric, launch: PlannedLaunch
) -> tuple[PlannedLaunch, tuple[str, ...]]:
    """Return MPI's part of a launch, and the engine's options for the transport."""
    name, values = transport.partition(":")[0], transport_values(transport)
    words = ["--transport", name]
    if launch.ports:
        control_network = _find_control_network(fabric, launch)
        if name == VERBS:
            words += ["--rdma-ports", ",".join(launch.ports)]
            words += ["--gid-subnet", control_network.subnet] if control_network else []
        elif _PORT_PROVIDERS.get(_provider(transport)) and "domain" not in values:
            devices = dict.fromkeys(port.partition(":")[0] for port in launch.ports)
            words += ["--domain", ",".join(devices)]
        launch = msgspec.structs.replace(launch, ports=(), technology="").pinned_to(control_network)
    return launch, (*words, *(word for key in values for word in (f"--{key}", values[key])))


def _find_control_network(fabric: Fabric, launch: PlannedLaunch) -> Network | None:
    """Return the IP network for MPI, preferably on the wire of the measured network."""
    wire = next((net.wire for net in fabric.networks if net.name == launch.network), "")
    nodes = {*launch.nodes}
    joining = [
        network
        for network in fabric.ip_networks
        if nodes <= {member.node for member in network.members}
    ]
    return min(joining, key=lambda network: not wire or network.wire != wire, default=None)
