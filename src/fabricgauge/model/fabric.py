"""What discovery found: nodes, their interfaces, and the networks that join them."""

from functools import cached_property

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import Adapter, RdmaPort
from fabricgauge.model.topology import Topology

#: What QEMU without KVM calls the processor that it emulates (target/i386/cpu.c, model ``max``).
EMULATED_PROCESSOR = "QEMU TCG CPU"


#: Drivers of interfaces that no cable belongs to: their carrier, rate and addresses are the
#: node's own affair. Linux 6.12: net/bridge/br_device.c; in drivers/net: dummy.c, tun.c, ifb.c,
#: vxlan, geneve.c, wireguard, macvlan.c, ipvlan, vrf.c; net/ipv4/ipip.c, net/openvswitch. veth is
#: left out: containers and labs are joined by it.
NO_CABLE = frozenset(
    {"bridge", "dummy", "tun", "tap", "ifb", "vxlan", "geneve", "wireguard", "macvlan", "ipvlan",
     "loopback", "sit", "ip6tnl", "gre", "ipip", "openvswitch", "vrf"}
)  # fmt: skip
_INSIDE = NO_CABLE | {"veth"}


#: What VXLAN puts around a packet of IP, by the outer IP's version: the inner Ethernet header, its
#: own and UDP's header of 8 bytes each, and the outer IP header (RFC 7348, section 5).
VXLAN_BYTES = {4: 14 + 8 + 8 + 20, 6: 14 + 8 + 8 + 40}

#: A tunnel's packets are at most this many times as many octets below it: an acknowledgement of 66
#: octets (Ethernet, IPv4, TCP with timestamps) with VXLAN's 50 around it.
TUNNEL_OVERHEAD = (66 + 50) / 66


#: Technologies that stand for TCP, whose packets are as large as both ends' interfaces allow.
OVER_TCP = ("ethernet", "ipoib")


class Address(msgspec.Struct, frozen=True):
    """An IP address of an interface with its prefix length, e.g. 10.77.0.11/24."""

    ip: str
    prefix_length: int


class Shaper(msgspec.Struct, frozen=True, tag="shaper"):
    """A token bucket on an interface's way out, as ``tc qdisc`` reports it.

    ``rate_bit_s`` counts frames as the kernel does: with their 14-byte header,
    without preamble, frame check sequence and gap. ``burst_bytes`` may leave at once.
    """

    rate_bit_s: float
    burst_bytes: int


class IpoibPort(msgspec.Struct, frozen=True, tag="ipoib"):
    """What is behind an interface of IP over InfiniBand, or over Omni-Path.

    ``mode`` is ``datagram`` or ``connected``; ``link`` is the port's link as ``Network`` names it.
    """

    mode: str | Skipped
    link: str | Skipped


NO_IPOIB = Skipped("it is no interface of IP over InfiniBand")


class Interface(msgspec.Struct, frozen=True):
    """One network interface of one node.

    ``carrier`` is the kernel's word that a cable's other end is alive.
    ``speed_bit_s`` is what the driver reports; a virtual driver has no such thing.
    ``master`` is the bond or bridge that it is a port of, ``parent`` the interface that it is on,
    as a VLAN is, or a veth's other end; empty where there is none, or it is not known.
    """

    name: str
    driver: str | Skipped
    operstate: str
    carrier: bool | Skipped
    speed_bit_s: float | Skipped
    mtu_bytes: int
    mac: str
    addresses: tuple[Address, ...]
    shaper: Shaper | Skipped
    numa_node: int | Skipped
    ipoib: IpoibPort | Skipped = NO_IPOIB
    master: str = ""
    parent: str = ""


class Node(msgspec.Struct, frozen=True, tag="node", omit_defaults=True):
    """One node as it describes itself.

    ``facts`` holds kernel and tuning facts by the name of their source, e.g.
    ``"net.ipv4.tcp_timestamps": "1"`` or ``"cpu model": "…"``. ``adapters`` are those behind its
    interfaces and RDMA devices.
    """

    name: str
    hostname: str
    boot_id: str
    net_namespace: str
    cpu_count: int
    kernel: str
    interfaces: tuple[Interface, ...]
    facts: dict[str, str]
    adapters: tuple[Adapter, ...] = ()
    rdma_ports: tuple[RdmaPort, ...] = ()

    def interface(self, name: str) -> Interface | Skipped:
        """The interface of that name, or the RDMA port (``mlx5_0:1``) as if it were one."""
        for interface in self.interfaces:
            if interface.name == name:
                return interface
        for port in self.rdma_ports:
            if port.name == name:
                return as_interface(port)
        return Skipped(f"{self.name} has no interface {name}")

    def port_of(self, interface: str) -> RdmaPort | Skipped:
        """The RDMA port on an interface."""
        found = (one for one in self.rdma_ports if one.interface == interface)
        return next(found, Skipped(f"no RDMA device is on {self.name}:{interface}"))

    def adapter_of(self, name: str) -> Adapter | Skipped:
        """The adapter that an interface or an RDMA port is on."""
        device = name.partition(":")[0]
        for one in self.adapters:
            if device in one.interfaces or device in one.rdma_devices:
                return one
        return Skipped(f"no source names the adapter of {self.name}:{name}")

    def parent_of(self, name: str) -> str:
        """The interface that another one is on, as a VLAN is; by its name where nobody said it.

        Empty where there is none: a veth's ``parent`` is its other end.
        """
        own = self.interface(name)
        if isinstance(own, Skipped) or not own.parent:
            return name.rpartition(".")[0]
        other = self.interface(own.parent)
        are_ends = isinstance(other, Interface) and other.parent == name
        return "" if are_ends else own.parent

    def below(self, name: str) -> tuple[str, ...]:
        """All that an interface is on, down to its cables: its parent, a bond's or bridge's ports.

        A bridge's ports to containers and virtual machines are none of them.
        """
        found = [name]
        for upper in found:
            parent = self.parent_of(upper)
            found += [
                one.name
                for one in self.interfaces
                if one.name not in found
                and (one.name == parent or (one.master == upper and one.driver not in _INSIDE))
            ]
        return tuple(found[1:])

    def path_ends(self, octets: dict[str, int]) -> dict[str, int]:
        """Octets of the interfaces that end a path, so that none is counted twice.

        The members of a bond or bridge have no address of their own but IPv6's automatic one, and
        count what it counts; ``eth0`` counts what its VLAN ``eth0.7`` does, with or without an
        address, and a little more than a tunnel on it does. A partition of IP over InfiniBand is
        counted by itself alone.
        """
        partitions = {one.name for one in self.interfaces if isinstance(one.ipoib, IpoibPort)}
        parents = {one.name: self.parent_of(one.name) for one in self.interfaces}
        used = {parent for name, parent in parents.items() if name not in partitions}
        bare = {one.name for one in self.interfaces if self._is_bare(one, one.name in used)}
        left = {name: count for name, count in octets.items() if name not in bare}
        for name in octets.keys() - partitions:
            if (parent := parents.get(name) or self.parent_of(name)) in left:
                own = self.interface(name)
                tunnel = isinstance(own, Interface) and own.driver == "vxlan"
                taken = round(TUNNEL_OVERHEAD * octets[name]) if tunnel else octets[name]
                left[parent] = max(0, left[parent] - taken)
        return left

    def _is_bare(self, one: Interface, used: bool) -> bool:
        """``used``: another interface is on it. A VRF counts nothing that its ports do."""
        if not one.addresses:
            return one.name != "lo"
        master = self.interface(one.master)
        within = isinstance(master, Interface) and master.driver != "vrf"
        automatic = all(address.ip.lower().startswith("fe80:") for address in one.addresses)
        return automatic and (used or within)


def is_adapter_port(name: str) -> bool:
    """Whether a counter is of a host channel adapter's port (``mlx5_0:1``), not of a netdev.

    Such a port may count the octets of the netdev on it once more.
    """
    return ":" in name


def as_interface(port: RdmaPort) -> Interface:
    """What an RDMA port has in common with an interface: link and rate."""
    no_such = Skipped("an RDMA port has none")
    return Interface(
        name=port.name, driver=no_such, operstate=str(port.state),
        carrier=port.state if isinstance(port.state, Skipped) else port.state == "ACTIVE",
        speed_bit_s=port.rate_bit_s, mtu_bytes=0, mac="", addresses=(), shaper=no_such,
        numa_node=no_such,
    )  # fmt: skip


class Unreached(msgspec.Struct, frozen=True, tag="unreached"):
    """A node that discovery could not read, and why."""

    name: str
    reason: str


class DeclaredNetwork(msgspec.Struct, frozen=True):
    """A network as a person, a site file or the lab describes it.

    ``origin`` names who said so; it is quoted wherever the rate is used.
    """

    name: str
    subnet: str
    rate_bit_s: float
    origin: str


class Member(msgspec.Struct, frozen=True):
    """One node's interface in a network."""

    node: str
    interface: str
    ip: str
    mtu_bytes: int


class Network(msgspec.Struct, frozen=True, dict=True):
    """A way that joins at least two of the nodes: a subnet, or RDMA ports that reach each other.

    Without a ``subnet`` its members are RDMA ports (``mlx5_0:1``), without address: it is used
    as MPI uses them by itself. ``wire`` names what carries it: networks of the same wire are ways
    to use the same links. ``slots`` is how many PCI Express slots a node's rails have together,
    0 where each has its own.

    ``rate_bit_s`` is the nominal line rate per direction; ``rate_origin`` says where
    it comes from. ``timestamps`` is whether TCP timestamps are on at every member.
    ``burst_bytes`` is what a token bucket on the members may send above the line rate
    (0 without one). A network stated for figures measured elsewhere has no
    members; ``stated_mtu_bytes`` is its MTU. That of RDMA ports is the path MTU.
    ``rails`` is how many links of that rate a node has in it; ``host_link`` is what the adapter is
    attached by, e.g. ``PCIe 3.0 x8``,
    empty where that is not known. ``link`` is the link's name in its standard, e.g.
    ``4x EDR``, empty where only its rate is known. ``assumed`` names what was not stated or
    found, so that the technology's usual value stands for it: ``mtu``, ``ip``, ``timestamps``;
    ``framing`` if a rate was stated alone, which may be a cap that counts less than a wire carries.
    ``tunnel_bytes`` is what a tunnel below the packets adds to each.
    ``mode`` is IPoIB's, ``datagram`` or ``connected``; empty where the members' differs or is
    not known.
    """

    name: str
    subnet: str
    technology: str
    rate_bit_s: float | Skipped
    rate_origin: str
    members: tuple[Member, ...]
    timestamps: bool = True
    burst_bytes: int = 0
    stated_mtu_bytes: int | Skipped = Skipped("the members say it")
    rails: int = 1
    host_link: str = ""
    link: str = ""
    assumed: tuple[str, ...] = ()
    mode: str = ""
    wire: str = ""
    slots: int = 0
    tunnel_bytes: int = 0

    @property
    def has_rdma_ports(self) -> bool:
        """Whether its members are RDMA ports, and not interfaces with addresses."""
        return bool(self.members) and is_adapter_port(self.members[0].interface)

    @property
    def mtu_bytes(self) -> int:
        """The stated MTU, or the smallest of the members: no larger packet can pass.

        Raises:
            ValueError: there are no members, and nothing was stated.
        """
        if isinstance(self.stated_mtu_bytes, int):
            return self.stated_mtu_bytes
        if not self.members:
            raise ValueError(f"{self.name} has no members and no stated MTU")
        return min(member.mtu_bytes for member in self.members)

    def member(self, node: str) -> Member | Skipped:
        """The node's first one; see ``rails_of``."""
        nothing = Skipped(f"{node} has no interface in {self.name} ({self.subnet or 'RDMA'})")
        return self._members.get(node, nothing)

    def rails_of(self, node: str) -> tuple[Member, ...]:
        """All interfaces or ports that the node has in it."""
        return tuple(member for member in self.members if member.node == node)

    @cached_property
    def _members(self) -> dict[str, Member]:
        return {member.node: member for member in reversed(self.members)}


class Fabric(msgspec.Struct, frozen=True, dict=True):
    """All that discovery found, and what it could not reach.

    ``unjoined`` are networks that were meant for these nodes and do not join them. ``partial`` are
    those that some of the nodes lack and nobody asked for, ``lone`` interfaces with an address that
    is in no network of the nodes.
    ``topology`` is what a file said of switches and groups; empty where it was not stated.
    ``simulated`` says that nodes and networks are a simulator's.
    """

    nodes: tuple[Node, ...]
    unreached: tuple[Unreached, ...]
    networks: tuple[Network, ...]
    virtual: bool = False
    unjoined: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    lone: tuple[str, ...] = ()
    topology: Topology = Topology()
    simulated: bool = False

    @cached_property
    def emulated(self) -> bool:
        """Whether a node says that its processor is emulated: then times mean nothing."""
        models = (node.facts.get("cpu model", "") for node in self.nodes)
        return any(model.startswith(EMULATED_PROCESSOR) for model in models)

    @property
    def ip_networks(self) -> tuple[Network, ...]:
        """Those of IP addresses, which nodes can try by themselves."""
        return tuple(network for network in self.networks if not network.has_rdma_ports)

    def node(self, name: str) -> Node | Skipped:
        return self._nodes.get(name, Skipped(f"{name} was not discovered"))

    def interface_of(self, member: Member) -> Interface | Skipped:
        """A member's interface, or its port as if it were one, as discovery found it."""
        node = self.node(member.node)
        return node if isinstance(node, Skipped) else node.interface(member.interface)

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {node.name: node for node in reversed(self.nodes)}
