"""What carries the engine's data beside MPI: what can be asked for, and a launch's own words.

MPI starts the ranks and carries what controls them, over an IP network: the one that is meant, or
one beside the ports that are.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import PlannedLaunch

MPI, OFI, VERBS = "mpi", "ofi", "verbs"
#: Technologies whose ports have verbs and need no connection manager, as those of iWARP do.
TECHNOLOGIES = ("infiniband", "omni-path", "roce-v1", "roce-v2")
#: Providers of libfabric that use ports by themselves, by the word before the first ``;``: whether
#: they call their domains by the port's device (fi_verbs(7), fi_efa(7), fi_cxi(7)).
_OF_PORTS: Mapping[str, bool] = MappingProxyType({
    "verbs": True, "efa": True, "cxi": True, "psm2": False, "psm3": False, "opx": False,
})  # fmt: skip
#: What libfabric calls providers and domains.
_NAME = "[A-Za-z0-9_][A-Za-z0-9_;.-]{0,63}"
#: Keys of ``TRANSPORT:KEY=VALUE,…`` are options of the engine: the range of each, its values, or
#: what it is made of.
KEYS: Mapping[str, Mapping[str, range | tuple[str, ...] | str]] = MappingProxyType({
    "sockets": {},
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
    """The transport as ``--transport`` names it; empty for MPI.

    Raises:
        UsageError: there is no such transport, key or value; the message says what there is.
    """
    name, colon, rest = text.strip().partition(":")
    if name not in (MPI, *KEYS) or (colon and not KEYS.get(name)):
        keyed = " and ".join(f"{one}:KEY=VALUE,…" for one, keys in KEYS.items() if keys)
        there = f"{', '.join((MPI, *KEYS))}, and {keyed}"
        raise UsageError(f"no transport {text!r}; there is {there}")
    for word in rest.split(",") if colon else ():
        _require(name, word)
    return "" if name == MPI else text.strip()


def _require(name: str, word: str) -> None:
    key, _, value = word.partition("=")
    if key not in KEYS[name]:
        raise UsageError(f"{name} have no key {key!r}; there is {', '.join(KEYS[name])}")
    if word == "queue-pair=dc":
        raise UsageError(
            f"{name}: dynamically connected queue pairs (dc) need the library of one vendor's"
            " adapters; take xrc, which saves connections as well, or ud"
        )
    known = KEYS[name][key]
    if isinstance(known, tuple):
        fine, expected = value in known, f"one of {', '.join(known)}"
    elif isinstance(known, str):
        fine, expected = bool(re.fullmatch(known, value)), "a name like tcp;ofi_rxm"
    else:
        fine = bool(re.fullmatch("[0-9]{1,6}", value)) and int(value) in known
        expected = f"a number from {known[0]} to {known[-1]}"
    if not fine:
        raise UsageError(f"{name}: {word!r} is not understood; expected {expected}")


def values_of(transport: str) -> dict[str, str]:
    """The values by their keys, of a transport that is known."""
    said = transport.partition(":")[2]
    return dict(word.split("=", 1) for word in said.split(",")) if said else {}


def _provider(transport: str) -> str:
    return values_of(transport).get("provider", "").partition(";")[0]


def needs_ports(transport: str) -> bool:
    """Whether it uses RDMA ports and no addresses."""
    return transport.partition(":")[0] == VERBS or _provider(transport) in _OF_PORTS


def carries(transport: str, network: Network) -> bool:
    """Whether the transport can use a network: one port of each node, or addresses."""
    if not needs_ports(transport):
        return not network.of_ports
    fine = transport.partition(":")[0] != VERBS or network.technology in TECHNOLOGIES
    return network.of_ports and fine and network.rails == 1


def beside_mpi(
    transport: str, fabric: Fabric, launch: PlannedLaunch
) -> tuple[PlannedLaunch, tuple[str, ...]]:
    """The launch as MPI is to make it, and the engine's options for the transport."""
    name, said = transport.partition(":")[0], values_of(transport)
    words = ["--transport", name]
    if launch.ports:
        beside = _beside(fabric, launch)
        if name == VERBS:
            words += ["--rdma-ports", ",".join(launch.ports)]
            words += ["--gid-subnet", beside.subnet] if beside else []
        elif _OF_PORTS.get(_provider(transport)) and "domain" not in said:
            words += [
                "--domain",
                ",".join(dict.fromkeys(p.partition(":")[0] for p in launch.ports)),
            ]
        launch = msgspec.structs.replace(launch, ports=(), technology="").pinned_to(beside)
    return launch, (*words, *(part for key in said for part in (f"--{key}", said[key])))


def _beside(fabric: Fabric, launch: PlannedLaunch) -> Network | None:
    """The IP network for MPI: of the same wire where there is one."""
    wire = next((one.wire for one in fabric.networks if one.name == launch.network), "")
    nodes = {*launch.nodes}
    joining = [
        one for one in fabric.ip_networks if nodes <= {member.node for member in one.members}
    ]
    return min(joining, key=lambda one: not wire or one.wire != wire, default=None)
