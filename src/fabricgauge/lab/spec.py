"""The specification of a virtual cluster, checked before anything is made, and kinds of faults."""

import ipaddress
import re

import msgspec

from fabricgauge.model.errors import UsageError

#: The node that every network reaches and where ``mpiexec`` is started.
HEAD = "head"

#: Names with another meaning in a lab or in its hosts file.
_RESERVED = frozenset({HEAD, "switch", "localhost", "ip6-localhost"})

#: Linux's HOST_NAME_MAX (limits.h).
_HOSTNAME_LIMIT = 64

#: Nodes have the addresses .11 and up, the head has .1, in a subnet of 254 hosts.
_FIRST_NODE_HOST, _HEAD_HOST, _NODES_LIMIT = 11, 1, 128

_NETWORKS_LIMIT = 16
_RATE_BIT_S = (1e6, 400e9)
#: 576 is the packet that every IPv4 host must accept (RFC 791); 65535 is veth's maximum.
_MTU_BYTES = (576, 65535)
_GUEST_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")
_NETWORK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


class NetworkSpec(msgspec.Struct, frozen=True):
    """One network: line rate per direction in bit/s and MTU in bytes."""

    name: str
    rate_bit_s: float
    mtu_bytes: int = 1500


#: Network that joins virtual machines with the head, for Slurm and for starting ranks.
MANAGEMENT = NetworkSpec("mgmt", 1e9)


class LabSpec(msgspec.Struct, frozen=True):
    """The name of a lab, its nodes and networks in order, and whether Slurm runs on it.

    With ``rdma`` (``roce`` or ``iwarp``) the nodes are virtual machines with such devices. With
    Slurm too, their RDMA ports have no IPv4, and the lab adds the network ``MANAGEMENT``.
    """

    name: str = "lab"
    nodes: tuple[str, ...] = ("c1", "c2")
    networks: tuple[NetworkSpec, ...] = (NetworkSpec("net1", 1e9),)
    slurm: bool = False
    rdma: str = ""


def all_networks(spec: LabSpec) -> tuple[NetworkSpec, ...]:
    """Return the networks of a lab, the management network included."""
    return (MANAGEMENT, *spec.networks) if spec.rdma and spec.slurm else spec.networks


def numbered_nodes(count: int) -> tuple[str, ...]:
    """Return the default names c1, c2, … of ``count`` nodes."""
    return tuple(f"c{number}" for number in range(1, count + 1))


def subnet(network: int) -> str:
    """Return the subnet of the network with that index from 0, in CIDR form."""
    return f"10.77.{network}.0/24"


def address(network: int, node: int) -> str:
    """Return the address of a node in a network; indices start at 0, and node 0 is the head."""
    host = _HEAD_HOST if node == 0 else _FIRST_NODE_HOST + node - 1
    return str(ipaddress.ip_network(subnet(network)).network_address + host)


def subnet_v6(network: int) -> str:
    """Return the IPv6 subnet of the network with that index."""
    return f"fd77:0:0:{network:x}::/64"


def address_v6(network: int, node: int) -> str:
    """Return the IPv6 address of a node: its last group reads as the last byte of the IPv4 one."""
    host = address(network, node).rpartition(".")[2]
    return f"fd77:0:0:{network:x}::{host}"


def check_spec(spec: LabSpec) -> None:
    """Check that the lab can be made.

    Raises:
        UsageError: a name, count, rate or MTU that the lab cannot have.
    """
    networks = all_networks(spec)
    names = {"node": spec.nodes, "network": tuple(network.name for network in networks)}
    for kind, limit in (("node", _NODES_LIMIT), ("network", _NETWORKS_LIMIT)):
        if not 1 <= len(names[kind]) <= limit:
            raise UsageError(f"a lab has 1 to {limit} {kind}s, not {len(names[kind])}")
    for node in spec.nodes:
        _check_node_name(node)
    for network in spec.networks:
        _check_network(network)
    for kind, kind_names in names.items():
        compared = [name.lower() if kind == "node" else name for name in kind_names]
        for name in compared:
            if compared.count(name) > 1:
                raise UsageError(f"two {kind}s are named {name!r}; names must differ")
    if spec.rdma:
        _check_guests(spec)


def _check_guests(spec: LabSpec) -> None:
    if len(spec.nodes) != 2:
        raise UsageError(
            f"a lab with RDMA has two nodes, not {len(spec.nodes)}: one cable joins them"
        )
    if spec.slurm and spec.rdma == "iwarp":
        raise UsageError(
            "a lab with RDMA and Slurm has RoCE: use --rdma roce, or leave --slurm out"
        )
    for name in spec.nodes:
        if not _GUEST_NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name a virtual machine: use up to 63 letters, digits and "
                "hyphens, beginning with a letter"
            )


def check_mtu(mtu_bytes: float, link: str) -> None:
    """Refuse an MTU that a virtual link cannot have, in bytes."""
    low, high = _MTU_BYTES
    if not low <= mtu_bytes <= high:
        raise UsageError(f"MTU {mtu_bytes:g} of {link} is not between {low} and {high} bytes")


def check_rate(rate_bit_s: float, link: str) -> None:
    """Refuse a line rate that the token bucket cannot hold, in bit/s."""
    low, high = _RATE_BIT_S
    if not low <= rate_bit_s <= high:
        raise UsageError(f"rate {rate_bit_s:g} bit/s of {link} is not between 1M and 400G bit/s")


def _check_node_name(name: str) -> None:
    """Refuse a name that cannot be a kernel hostname, a word of /etc/hosts and a file name."""
    reason = ""
    if not 1 <= len(name.encode(errors="replace")) <= _HOSTNAME_LIMIT:
        reason = f"a hostname has 1 to {_HOSTNAME_LIMIT} bytes"
    elif not name.isascii() or not name.isprintable():
        reason = "a hostname is printable ASCII here"
    elif name[0] in "-.":
        reason = "a hostname does not begin with a hyphen or a dot"
    elif bad := set(name) & set(" #/,"):
        reason = f"it contains {', '.join(repr(sign) for sign in sorted(bad))}"
    elif name.lower() in _RESERVED:
        reason = "the lab uses that name itself"
    if reason:
        raise UsageError(f"{name!r} cannot name a node: {reason}; choose another name")


def _check_network(network: NetworkSpec) -> None:
    if not _NETWORK_NAME.fullmatch(network.name):
        raise UsageError(
            f"{network.name!r} cannot name a network: use up to 32 letters, digits, dots, "
            "underscores and hyphens, beginning with a letter or digit"
        )
    check_rate(network.rate_bit_s, f"network {network.name}")
    check_mtu(network.mtu_bytes, f"network {network.name}")


class FaultKind(msgspec.Struct, frozen=True):
    """A kind of fault; ``value`` is the form of its value on the command line, empty for none.

    ``does`` is its effect for the list of kinds. ``wrong`` describes a fault: braces hold its
    fields, and its amount as ``rate`` or ``percent``. ``limits`` bound ``amount``, named ``what``.
    """

    value: str
    does: str
    wrong: str
    what: str = ""
    limits: tuple[float, float] = (0.0, 0.0)


KINDS: dict[str, FaultKind] = {
    "link-down": FaultKind(
        "", "pull the cable: the interface loses its carrier", "link of {where} is down"
    ),
    "link-up": FaultKind("", "put the cable back", ""),
    "rate": FaultKind(
        "RATE", "let the link carry only RATE, both ways; the node still shows the nominal rate",
        "link of {where} carries {rate}",
    ),
    "rate-in": FaultKind(
        "RATE", "the same, only towards the node", "link of {where} carries {rate} towards the node"
    ),
    "rate-out": FaultKind(
        "RATE", "the same, only from the node", "link of {where} carries {rate} from the node"
    ),
    "port-rate": FaultKind(
        "RATE", "let the node's port come up at RATE and show it",
        "port of {where} came up at {rate}",
    ),
    "mtu": FaultKind(
        "BYTES", "give the node's interface another MTU",
        "interface of {where} has MTU {amount:.0f}",
    ),
    "address": FaultKind(
        "IP/LEN", "give the interface another address: a duplicate, a wider netmask",
        "interface of {where} has address {text}",
    ),
    "hosts": FaultKind(
        "NAME=IP", "give NAME the address IP in the node's hosts file",
        "the hosts file of {where} has {text}",
    ),
    "loss": FaultKind(
        "PERCENT", "lose frames at random, in each direction",
        "link of {where} loses {percent:g} % of the frames", "the lost share", (1e-6, 1.0),
    ),
    # A frame every 10 s is no fault, and one process sends at most some thousands a second.
    "drops": FaultKind(
        "PER_S", "send the node PER_S frames per second that it must drop",
        "{where} receives {amount:g} stray frames per second", "the stray frames per second",
        (0.1, 10_000.0),
    ),
    "memlock": FaultKind(
        "BYTES", "limit the memory that programs on the node may lock; takes no NETWORK",
        "programs on {where} may lock {amount:,.0f} bytes of memory", "the memory limit",
        (1024, 2**60),
    ),
}  # fmt: skip

#: Kinds that concern the node and not its links.
ON_A_NODE = frozenset({"memlock"})
