"""Write the lines for ``ip -batch`` and ``tc -batch`` that make a lab's links, and hosts files.

Interfaces are named by index, so no line contains a name that a user chose. A token bucket makes a
virtual link as fast as a real link, and no faster.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabFault, LabNetwork, LabNode, LabState


def switch_links(state: LabState) -> list[str]:
    """Return lines for one bridge per network, and one cable from the bridge to each node."""
    lines = []
    for network in state.networks:
        mtu, gso_bytes = network.mtu_bytes, nominal(network).gso_bytes
        lines.append(f"link add {network.bridge} mtu {mtu} type bridge mcast_snooping 0")
        lines.append(f"link set {network.bridge} up")
        for node in state.nodes:
            port, peer = network.port(node), network.interface
            veth = f"type veth peer name {peer} mtu {mtu} netns {node.holder.pid}"
            lines.append(f"link add {port} mtu {mtu} {veth}")
            lines.append(f"link set {port} gso_max_size {gso_bytes} master {network.bridge} up")
    return lines


def switch_shaping(state: LabState) -> list[str]:
    """Return lines that shape each link from the switch to a node: incast meets the line rate."""
    return [
        port_tbf(network.port(node), nominal(network))
        for network in state.networks
        for node in state.nodes
    ]


def node_links(state: LabState, node: LabNode) -> list[str]:
    """Return lines for a node's interfaces and their addresses."""
    lines = ["link set lo up"]
    for network in state.networks:
        gso_bytes = nominal(network).gso_bytes
        lines += [
            f"link set {network.interface} gso_max_size {gso_bytes} up",
            f"addr add {nominal_address(network, node)} brd + dev {network.interface}",
        ]
    return lines


def nominal_address(network: LabNetwork, node: LabNode) -> str:
    """Return a node's address in a network without a fault, with its prefix length."""
    prefix = network.subnet.rpartition("/")[2]
    return f"{address(network.index, node.index)}/{prefix}"


def node_shaping(state: LabState) -> list[str]:
    """Return lines that shape the links from a node to the switch."""
    return [node_tbf(network.interface, nominal(network)) for network in state.networks]


class Bucket(msgspec.Struct, frozen=True):
    """Settings of tbf for one direction of a link; ``rate_bit_s`` counts the bytes that tbf counts.

    ``gso_bytes`` is the largest piece that the kernel may hand to the interface: the bucket then
    never has to cut it.
    """

    rate_bit_s: int
    burst_bytes: int
    node_queue_bytes: int
    port_queue_bytes: int
    gso_bytes: int


def nominal(network: LabNetwork) -> Bucket:
    """Return the bucket of a link without a fault."""
    return bucket(network.rate_bit_s, network.mtu_bytes)


#: Octets of a frame on the wire that tbf does not count: preamble and start delimiter 8,
#: frame check sequence 4, inter-frame gap 12 (IEEE 802.3 clauses 3, 4.4.2).
_UNCOUNTED_BYTES = 24

#: Octets of the Ethernet header, which tbf counts.
_HEADER_BYTES = 14

#: Time that a full bucket lasts, a compromise: with a longer time, messages of many packets exceed
#: the line rate; with a shorter time, the link loses rate when the kernel's timer is late.
#: Measured with a bucket at the node and one at the switch, 1 Gb/s, windows of 64 x 1 MiB on
#: a busy two-core machine: 51 us carried 94 to 99 % of the line rate, 76 us 99.9 %, 102 us 99.9 %.
_BUCKET_S = 76e-6

#: Number of full frames that must fit in a bucket at low rates.
_LEAST_FRAMES = 2

#: tc rounds a bucket down to whole microseconds, and the kernel to 64 ns.
_ROUNDING_S = 1e-6

#: Queue behind a node's bucket: as large as the queues of many sockets, so that a node drops
#: nothing.
_NODE_QUEUE_BYTES = 4 << 20

#: Queue behind a switch port's bucket before frames are dropped: a port's share of a shallow
#: buffer, or the data of this time at high rates.
_PORT_QUEUE_BYTES, _PORT_QUEUE_S = 1_000_000, 2e-3

#: Largest packet that the kernel hands to an interface in one piece, and the share of a bucket
#: that a piece may take: measured pieces as large as the bucket lost 1 % of the rate.
_GSO_LIMIT_BYTES, _GSO_SHARE = 65536, 2 / 3


def bucket(line_rate_bit_s: float, mtu_bytes: int) -> Bucket:
    """Return the bucket for a line rate in bit/s, per direction.

    tbf counts a full frame as MTU + 14 octets, but the wire carries MTU + 38. So the bucket's rate
    is lower than the line rate by that ratio, and a full frame takes the time of the line. Smaller
    frames pass slightly too fast; large MPI messages do not consist of them.
    """
    frame_bytes = mtu_bytes + _HEADER_BYTES
    bytes_per_s = line_rate_bit_s / 8 * frame_bytes / (frame_bytes + _UNCOUNTED_BYTES)
    burst_bytes = max(_LEAST_FRAMES * frame_bytes, bytes_per_s * _BUCKET_S)
    return Bucket(
        rate_bit_s=round(bytes_per_s * 8),
        burst_bytes=math.ceil(burst_bytes + bytes_per_s * _ROUNDING_S),
        node_queue_bytes=max(_NODE_QUEUE_BYTES, round(bytes_per_s * _PORT_QUEUE_S)),
        port_queue_bytes=max(_PORT_QUEUE_BYTES, round(bytes_per_s * _PORT_QUEUE_S)),
        gso_bytes=min(_GSO_LIMIT_BYTES, int(burst_bytes * _GSO_SHARE)),
    )


#: Time on the wire of the data that one socket may have in a node's queue, like the byte queue
#: limits of drivers on real adapters. The kernel's 4 MiB take 34 ms at 1 Gb/s: acknowledgements of
#: one direction waited that long behind the data of the other direction. Streams in both directions
#: then carried 62 to 94 % together, and 90 to 99 % with this limit.
_SOCKET_QUEUE_S, _LEAST_SOCKET_QUEUE_BYTES = 1e-3, 131_072


#: Largest MTU with that limit. With larger frames the limit costs rate: at MTU 9000 one direction
#: carried 90 to 94 % with the limit, 95 to 96 % without.
_LIMITED_MTU_BYTES = 1500


def socket_queue_bytes(line_rate_bit_s: float, mtu_bytes: int) -> int:
    """Return ``net.ipv4.tcp_limit_output_bytes``: bytes that a socket may have in a queue."""
    if mtu_bytes > _LIMITED_MTU_BYTES:
        return _NODE_QUEUE_BYTES
    return max(_LEAST_SOCKET_QUEUE_BYTES, round(line_rate_bit_s / 8 * _SOCKET_QUEUE_S))


def node_tbf(interface: str, shape: Bucket) -> str:
    """Return the line for ``tc -batch`` that limits what a node sends."""
    return _tbf(interface, shape, shape.node_queue_bytes)


def port_tbf(interface: str, shape: Bucket) -> str:
    """Return the line for ``tc -batch`` that limits what a switch port sends."""
    return _tbf(interface, shape, shape.port_queue_bytes)


def _tbf(interface: str, shape: Bucket, queue_bytes: int) -> str:
    return (
        f"qdisc replace dev {interface} root tbf rate {shape.rate_bit_s}bit "
        f"burst {shape.burst_bytes}b limit {queue_bytes}b"
    )


HOSTS_FOLDER = "hosts"


def hosts_text(
    networks: Sequence[str], nodes: Sequence[str], faults: Sequence[LabFault] = ()
) -> str:
    """Return the text of a hosts file; ``nodes`` begins with the head, ``faults`` change entries.

    A plain name has the address in the first network, an alias NODE-NET that in network NET.
    """
    replacements = {(fault.network, fault.text.partition("=")[0]): fault.text for fault in faults}
    lines = ["127.0.0.1 localhost"]
    for index, network in enumerate(networks):
        for number, name in enumerate(nodes):
            plain = f"{name} " if index == 0 else ""
            ip = replacements.get((network, name), "").partition("=")[2] or address(index, number)
            lines.append(f"{ip} {plain}{name}-{network}")
    return "\n".join(lines) + "\n"


def write_hosts(
    directory: Path, networks: Sequence[str], nodes: Sequence[str], faults: Sequence[LabFault] = ()
) -> None:
    """Write each node's file in place: the nodes have mounted it and would not see a new file."""
    folder = directory / HOSTS_FOLDER
    folder.mkdir(exist_ok=True)
    for node in nodes:
        node_faults = [fault for fault in faults if fault.kind == "hosts" and fault.node == node]
        (folder / node).write_text(hosts_text(networks, nodes, node_faults))
