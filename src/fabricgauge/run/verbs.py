"""Verbs instead of MPI for the engine's data: what can be asked for, and a launch's own words.

MPI starts the ranks and carries what controls them, over an IP network beside the ports.
"""

import re

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.plan import PlannedLaunch

VERBS = "verbs"
#: Technologies whose ports have verbs and need no connection manager, as those of iWARP do.
TECHNOLOGIES = ("infiniband", "omni-path", "roce-v1", "roce-v2")
#: Keys of ``verbs:KEY=VALUE,…`` are options of the engine: the range of each, or its values.
KEYS: dict[str, range | tuple[str, ...]] = {
    "queue-pair": ("rc", "uc", "ud"),
    "queue-pairs": range(1, 16_385),
    "gid-index": range(256),
    "inline": range(65_537),
    "path-mtu": ("256", "512", "1024", "2048", "4096"),
    "signal-interval": range(1, 65_537),
    "traffic-class": range(256),
    "service-level": range(16),
}


def known_transport(text: str) -> str:
    """The transport as ``--transport`` names it; empty for MPI.

    Raises:
        UsageError: there is no such transport, key or value; the message says what there is.
    """
    name, colon, rest = text.strip().partition(":")
    if name not in ("mpi", VERBS) or (name == "mpi" and colon):
        raise UsageError(f"no transport {text!r}; there is mpi, verbs and verbs:KEY=VALUE,…")
    for word in rest.split(",") if colon else ():
        _require(word)
    return "" if name == "mpi" else text.strip()


def _require(word: str) -> None:
    key, _, value = word.partition("=")
    if key not in KEYS:
        raise UsageError(f"verbs have no key {key!r}; there is {', '.join(KEYS)}")
    known = KEYS[key]
    if isinstance(known, tuple):
        fine, expected = value in known, f"one of {', '.join(known)}"
    else:
        fine = bool(re.fullmatch("[0-9]{1,6}", value)) and int(value) in known
        expected = f"a number from {known[0]} to {known[-1]}"
    if not fine:
        raise UsageError(f"verbs: {word!r} is not understood; expected {expected}")


def is_of_verbs(network: Network) -> bool:
    """Whether verbs can use it: one port of each node, whose messages take no other way."""
    return network.of_ports and network.technology in TECHNOLOGIES and network.rails == 1


def over_verbs(
    transport: str, fabric: Fabric, launch: PlannedLaunch
) -> tuple[PlannedLaunch, tuple[str, ...]]:
    """The launch as MPI is to make it, and what the engine is told of the ports."""
    beside = _beside(fabric, launch)
    words = ["--transport", VERBS, "--rdma-ports", ",".join(launch.ports)]
    if beside is not None:
        words += ["--gid-subnet", beside.subnet]
    for word in filter(None, transport.partition(":")[2].split(",")):
        key, _, value = word.partition("=")
        words += [f"--{key}", value]
    bare = msgspec.structs.replace(launch, ports=(), technology="")
    return bare.pinned_to(beside), tuple(words)


def _beside(fabric: Fabric, launch: PlannedLaunch) -> Network | None:
    """The IP network for MPI: of the same wire where there is one."""
    wire = next((one.wire for one in fabric.networks if one.name == launch.network), "")
    nodes = {*launch.nodes}
    joining = [
        one for one in fabric.ip_networks if nodes <= {member.node for member in one.members}
    ]
    return min(joining, key=lambda one: not wire or one.wire != wire, default=None)
