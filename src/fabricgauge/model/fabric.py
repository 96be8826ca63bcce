"""The result of discovery: nodes, their interfaces, and the networks that join them."""

from functools import cached_property

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import Adapter, RdmaPort
from fabricgauge.model.groups import group_by

#: QEMU's name of the processor that it emulates without KVM (target/i386/cpu.c, model ``max``).
EMULATED_PROCESSOR = "QEMU TCG CPU"


#: Drivers of interfaces without a cable: carrier, rate and addresses concern the node alone.
#: Linux 6.12: net/bridge/br_device.c; in drivers/net: dummy.c, tun.c, ifb.c, vxlan, geneve.c,
#: wireguard, macvlan.c, ipvlan, vrf.c; net/ipv4/ipip.c, net/openvswitch. veth is missing: it
#: joins containers and labs.
NO_CABLE = frozenset(
    {"bridge", "dummy", "tun", "tap", "ifb", "vxlan", "geneve", "wireguard", "macvlan", "ipvlan",
     "loopback", "sit", "ip6tnl", "gre", "ipip", "openvswitch", "vrf"}
)  # fmt: skip
_INSIDE = NO_CABLE | {"veth"}


#: Bytes that VXLAN adds to a packet of IP, by the outer IP's version: the inner Ethernet header,
#: headers of VXLAN and UDP of 8 bytes each, and the outer IP header (RFC 7348, section 5).
VXLAN_BYTES = {4: 14 + 8 + 8 + 20, 6: 14 + 8 + 8 + 40}

#: The largest factor by which a tunnel enlarges a packet: an acknowledgement of 66 octets
#: (Ethernet, IPv4, TCP with timestamps) with VXLAN's 50 around it.
TUNNEL_OVERHEAD = (66 + 50) / 66


#: Technologies that use TCP. Its packets are as large as both ends' interfaces allow.
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
    """The port below an interface of IP over InfiniBand, or over Omni-Path.

    ``mode`` is ``datagram`` or ``connected``; ``link`` is the port's link as ``Network`` names it.
    """

    mode: str | Skipped
    link: str | Skipped


NO_IPOIB = Skipped("the interface is not IP over InfiniBand")


class Interface(msgspec.Struct, frozen=True):
    """One network interface of one node.

    ``carrier`` is true if the kernel detects a live partner at the cable's other end.
    ``speed_bit_s`` is the driver's figure; a virtual driver has none.
    ``master`` is the bond or bridge that it is a port of. ``parent`` is the interface below it (for
    a VLAN), or a veth's other end. Both are empty if unknown or absent.
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

    ``facts`` are kernel and tuning facts by the name of their source, e.g.
    ``"net.ipv4.tcp_timestamps": "1"`` or ``"cpu model": "…"``. ``adapters`` are those of its
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
        """Return the interface, or the RDMA port (``mlx5_0:1``) as an interface."""
        for interface in self.interfaces:
            if interface.name == name:
                return interface
        for port in self.rdma_ports:
            if port.name == name:
                return as_interface(port)
        return Skipped(f"{self.name} has no interface {name}")

    def port_of(self, interface: str) -> RdmaPort | Skipped:
        ports = (port for port in self.rdma_ports if port.interface == interface)
        return next(ports, Skipped(f"no RDMA device is on {self.name}:{interface}"))

    def adapter_of(self, name: str) -> Adapter | Skipped:
        device = name.partition(":")[0]
        for adapter in self.adapters:
            if device in adapter.interfaces or device in adapter.rdma_devices:
                return adapter
        return Skipped(f"no source names the adapter of {self.name}:{name}")

    def parent_of(self, name: str) -> str:
        """Return the interface below another one, as a VLAN has; empty if there is none.

        If the parent is unknown, it follows from the name. A veth's ``parent`` is its other end and
        does not count.
        """
        interface = self.interface(name)
        if isinstance(interface, Skipped) or not interface.parent:
            return name.rpartition(".")[0]
        parent = self.interface(interface.parent)
        is_veth_pair = isinstance(parent, Interface) and parent.parent == name
        return "" if is_veth_pair else interface.parent

    def below(self, name: str) -> tuple[str, ...]:
        """Return all interfaces below one, down to the cables: parents, ports of bonds and bridges.

        It leaves out a bridge's ports to containers and virtual machines.
        """
        names = [name]
        for upper in names:
            parent = self.parent_of(upper)
            names += [
                lower.name
                for lower in self.interfaces
                if lower.name not in names
                and (
                    lower.name == parent or (lower.master == upper and lower.driver not in _INSIDE)
                )
            ]
        return tuple(names[1:])

    def path_ends(self, octets: dict[str, int]) -> dict[str, int]:
        """Return the octets of the interfaces that end a path, each octet once.

        The members of a bond or bridge have no address except IPv6's automatic one, and count the
        same octets as it; ``eth0`` counts those of its VLAN ``eth0.7``, with or without an address,
        and a little more than a tunnel on it. Only the partition itself counts the octets of a
        partition of IP over InfiniBand.
        """
        interfaces = self.interfaces
        partitions = {port.name for port in interfaces if isinstance(port.ipoib, IpoibPort)}
        parents = {child.name: self.parent_of(child.name) for child in interfaces}
        used = {parent for name, parent in parents.items() if name not in partitions}
        bare = {port.name for port in interfaces if self._is_bare(port, port.name in used)}
        end_octets = {name: count for name, count in octets.items() if name not in bare}
        for name in octets.keys() - partitions:
            if (parent := parents.get(name) or self.parent_of(name)) in end_octets:
                child = self.interface(name)
                is_tunnel = isinstance(child, Interface) and child.driver == "vxlan"
                counted = round(TUNNEL_OVERHEAD * octets[name]) if is_tunnel else octets[name]
                end_octets[parent] = max(0, end_octets[parent] - counted)
        return end_octets

    def _is_bare(self, interface: Interface, used: bool) -> bool:
        """Check that an interface ends no path; ``used``: another interface is on it.

        A VRF does not count its ports' octets.
        """
        if not interface.addresses:
            return interface.name != "lo"
        master = self.interface(interface.master)
        within = isinstance(master, Interface) and master.driver != "vrf"
        automatic = all(address.ip.lower().startswith("fe80:") for address in interface.addresses)
        return automatic and (used or within)


def is_adapter_port(name: str) -> bool:
    """Check that a counter's name is an adapter port's (``mlx5_0:1``), not a netdev's.

    Such a port may count the octets of its netdev a second time.
    """
    return ":" in name


def as_interface(port: RdmaPort) -> Interface:
    absent = Skipped("an RDMA port has none")
    return Interface(
        name=port.name, driver=absent, operstate=str(port.state),
        carrier=port.state if isinstance(port.state, Skipped) else port.state == "ACTIVE",
        speed_bit_s=port.rate_bit_s, mtu_bytes=0, mac="", addresses=(), shaper=absent,
        numa_node=absent,
    )  # fmt: skip


class Unreached(msgspec.Struct, frozen=True, tag="unreached"):
    """A node that discovery could not read, and the reason.

    ``answers`` is true if it was reached and cannot run the engine.
    """

    name: str
    reason: str
    answers: bool = False


class DeclaredNetwork(msgspec.Struct, frozen=True):
    """A network as a person, a site file or the lab describes it.

    ``origin`` names the source; every use of the rate quotes it.
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
    """A subnet that joins at least two of the nodes, or RDMA ports that reach each other.

    Without a ``subnet`` its members are RDMA ports (``mlx5_0:1``) without addresses, and MPI
    chooses how to use them. ``wire`` names the links that carry it: networks of the same wire share
    their links. ``slots`` is the number of PCI Express slots of a node's rails together, 0 if each
    rail has a slot for itself.

    ``rate_bit_s`` is the nominal line rate per direction; ``rate_origin`` names its source.
    ``timestamps`` is true if TCP timestamps are on at every member. ``burst_bytes`` are the bytes
    that a token bucket on the members may send above the line rate (0 without one). A network that
    was stated for imported figures has no members; ``stated_mtu_bytes`` is its MTU. The MTU of RDMA
    ports is the path MTU. ``rails`` is the number of links of that rate that a node has in it;
    ``host_link`` is the bus that attaches the adapter, e.g. ``PCIe 3.0 x8``, empty if unknown.
    ``link`` is the link's name in its standard, e.g. ``4x EDR``, empty if only its rate is known.
    ``assumed`` names unknown values for which the technology's usual value is used: ``mtu``,
    ``ip``, ``timestamps``; ``framing`` if only a rate was stated, which may be a cap that counts
    fewer bytes than the wire carries. ``tunnel_bytes`` are the bytes that a tunnel below adds to
    each packet. ``mode`` is IPoIB's, ``datagram`` or ``connected``; empty if the members differ or
    it is unknown. ``switches`` is the stated number of switches between two nodes, ``cable_m`` the
    stated length of each cable in metres.
    """

    name: str
    subnet: str
    technology: str
    rate_bit_s: float | Skipped
    rate_origin: str
    members: tuple[Member, ...]
    timestamps: bool = True
    burst_bytes: int = 0
    stated_mtu_bytes: int | Skipped = Skipped("the members' MTU holds")
    rails: int = 1
    host_link: str = ""
    link: str = ""
    assumed: tuple[str, ...] = ()
    mode: str = ""
    wire: str = ""
    slots: int = 0
    tunnel_bytes: int = 0
    switches: int | Skipped = Skipped("not stated")
    cable_m: float | Skipped = Skipped("not stated")

    @property
    def has_rdma_ports(self) -> bool:
        """True if its members are RDMA ports, not interfaces with addresses."""
        return bool(self.members) and is_adapter_port(self.members[0].interface)

    @property
    def mtu_bytes(self) -> int:
        """The stated MTU, or the smallest of the members: no larger packet can pass.

        Raises:
            ValueError: it has neither members nor a stated MTU.
        """
        if isinstance(self.stated_mtu_bytes, int):
            return self.stated_mtu_bytes
        if not self.members:
            raise ValueError(f"{self.name} has no members and no stated MTU")
        return min(member.mtu_bytes for member in self.members)

    def member(self, node: str) -> Member | Skipped:
        """Return the node's first member; ``rails_of`` returns all."""
        if rails := self.rails_of(node):
            return rails[0]
        return Skipped(f"{node} has no interface in {self.name} ({self.subnet or 'RDMA'})")

    def rails_of(self, node: str) -> tuple[Member, ...]:
        """Return all interfaces or ports of the node in this network."""
        return self._rails.get(node, ())

    @cached_property
    def _rails(self) -> dict[str, tuple[Member, ...]]:
        return group_by(self.members, lambda member: member.node)


class Group(msgspec.Struct, frozen=True):
    """Nodes that share a leaf switch, a rail or a block; ``parent`` is the next switch up.

    ``uplinks`` counts the cables to the next level, 0 if the source does not give it. ``is_switch``
    is true if the source states that the nodes are cabled to one switch.
    """

    name: str
    nodes: tuple[str, ...]
    parent: str = ""
    uplinks: int = 0
    is_switch: bool = False


class Topology(msgspec.Struct, frozen=True):
    """Groups of nodes that do not overlap, and the ``source`` of this information.

    A node without a group counts as a group by itself. An empty topology is unknown.
    """

    groups: tuple[Group, ...] = ()
    source: str = ""


class Fabric(msgspec.Struct, frozen=True, dict=True):
    """The nodes and networks that discovery found, and the nodes that it could not reach.

    ``unjoined`` are networks that were meant for these nodes and do not join them. ``partial`` are
    networks that some nodes lack and no option requested; ``lone`` are interfaces whose address is
    in no network of the nodes. ``topology`` are the switches and groups of a topology file; empty
    without a file. ``simulated`` is true if a simulator supplied nodes and networks.
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
        """True if a node's processor is emulated: times then mean nothing."""
        models = (node.facts.get("cpu model", "") for node in self.nodes)
        return any(model.startswith(EMULATED_PROCESSOR) for model in models)

    @property
    def ip_networks(self) -> tuple[Network, ...]:
        """The networks with IP addresses; nodes can test these themselves."""
        return tuple(network for network in self.networks if not network.has_rdma_ports)

    def node(self, name: str) -> Node | Skipped:
        return self._nodes.get(name, Skipped(f"{name} was not discovered"))

    def nodes_on(self, boot_id: str, net_namespace: str) -> tuple[Node, ...]:
        return self._stacks.get((boot_id, net_namespace), ())

    def interface_of(self, member: Member) -> Interface | Skipped:
        node = self.node(member.node)
        return node if isinstance(node, Skipped) else node.interface(member.interface)

    @cached_property
    def _stacks(self) -> dict[tuple[str, str], tuple[Node, ...]]:
        return group_by(self.nodes, lambda node: (node.boot_id, node.net_namespace))

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {node.name: node for node in reversed(self.nodes)}
