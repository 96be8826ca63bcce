"""The lines for ``ip -batch`` and ``tc -batch`` that make a lab's links, and the hosts files.

Interfaces are named by index, so no name that a person chose is ever in a line. A token bucket
makes a virtual link as fast as a real one, and no faster.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge.lab.fault_kinds import LabFault
from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabNetwork, LabNode, LabState


def switch_links(state: LabState) -> list[str]:
    """One bridge per network, and one cable from it to every node."""
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
    """The way from the switch to every node, so that incast meets the node's line rate."""
    return [
        port_tbf(network.port(node), nominal(network))
        for network in state.networks
        for node in state.nodes
    ]


def node_links(state: LabState, node: LabNode) -> list[str]:
    """A node's own interfaces with their addresses."""
    lines = ["link set lo up"]
    for network in state.networks:
        gso_bytes = nominal(network).gso_bytes
        lines += [
            f"link set {network.interface} gso_max_size {gso_bytes} up",
            f"addr add {own_address(network, node)} brd + dev {network.interface}",
        ]
    return lines


def own_address(network: LabNetwork, node: LabNode) -> str:
    """The address that a node has in a network without a fault, with its prefix length."""
    prefix = network.subnet.rpartition("/")[2]
    return f"{address(network.index, node.index)}/{prefix}"


def node_shaping(state: LabState) -> list[str]:
    """The way from a node to the switch."""
    return [node_tbf(network.interface, nominal(network)) for network in state.networks]


class Bucket(msgspec.Struct, frozen=True):
    """Settings of tbf for one direction of a link; ``rate_bit_s`` is as tbf counts.

    ``gso_bytes`` is the largest piece that the interface may be handed, so that the
    bucket does not have to cut it.
    """

    rate_bit_s: int
    burst_bytes: int
    node_queue_bytes: int
    port_queue_bytes: int
    gso_bytes: int


def nominal(network: LabNetwork) -> Bucket:
    """The bucket of a link without a fault."""
    return bucket(network.rate_bit_s, network.mtu_bytes)


#: Octets that Ethernet puts on the wire around what tbf counts: preamble and start
#: delimiter 8, frame check sequence 4, inter-frame gap 12 (IEEE 802.3 clauses 3, 4.4.2).
_UNCOUNTED_BYTES = 24

#: The Ethernet header, which tbf does count.
_HEADER_BYTES = 14

#: Time that a full bucket lasts, a trade: a longer one lets messages of many packets pass
#: above the line rate, a shorter one loses rate whenever the kernel's timer comes late.
#: Measured with a bucket at the node and one at the switch, 1 Gb/s, windows of 64 x 1 MiB on
#: a busy two-core machine: 51 us carried 94 to 99 % of the line rate, 76 us 99.9 %, 102 us 99.9 %.
_BUCKET_S = 76e-6

#: The least number of full frames that must fit in a bucket at low rates.
_LEAST_FRAMES = 2

#: tc rounds a bucket down to whole microseconds, and the kernel to 64 ns.
_ROUNDING_S = 1e-6

#: What waits behind a node's bucket: as much as many sockets may queue, so that a node drops
#: nothing.
_NODE_QUEUE_BYTES = 4 << 20

#: What waits behind a switch port's bucket before frames are dropped: as a port's share of a
#: shallow buffer, or this long at high rates.
_PORT_QUEUE_BYTES, _PORT_QUEUE_S = 1_000_000, 2e-3

#: The largest packet that the kernel hands to an interface in one piece, and the share of
#: a bucket that one may take: pieces as large as the bucket were measured to lose 1 % of rate.
_GSO_LIMIT_BYTES, _GSO_SHARE = 65536, 2 / 3


def bucket(line_rate_bit_s: float, mtu_bytes: int) -> Bucket:
    """The bucket for a line rate in bit/s, per direction.

    tbf counts a full frame as MTU + 14 octets where the wire carries MTU + 38, so its
    rate is lower than the line's by that ratio: full frames then take line time. Smaller
    frames are charged too little, which no MPI message of a size that matters consists of.
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


#: How long what one socket has in a node's queue takes on the wire, as drivers' byte queue limits
#: do it on real adapters. The kernel's 4 MiB are 34 ms at 1 Gb/s: acknowledgements of one direction
#: waited that long behind the data of the other. Streams of both directions then carried 62 to 94 %
#: together, with this limit 90 to 99 %.
_SOCKET_QUEUE_S, _LEAST_SOCKET_QUEUE_BYTES = 1e-3, 131_072


#: With larger frames the limit costs rate: at MTU 9000 one direction carried 90 to 94 % with it,
#: 95 to 96 % without.
_LIMITED_MTU_BYTES = 1500


def socket_queue_bytes(line_rate_bit_s: float, mtu_bytes: int) -> int:
    """What one socket of a node may have in its queue, ``net.ipv4.tcp_limit_output_bytes``."""
    if mtu_bytes > _LIMITED_MTU_BYTES:
        return _NODE_QUEUE_BYTES
    return max(_LEAST_SOCKET_QUEUE_BYTES, round(line_rate_bit_s / 8 * _SOCKET_QUEUE_S))


def node_tbf(interface: str, shape: Bucket) -> str:
    """The line for ``tc -batch`` that puts the bucket on a node's way out."""
    return _tbf(interface, shape, shape.node_queue_bytes)


def port_tbf(interface: str, shape: Bucket) -> str:
    """The same for a switch port's."""
    return _tbf(interface, shape, shape.port_queue_bytes)


def _tbf(interface: str, shape: Bucket, queue_bytes: int) -> str:
    return (
        f"qdisc replace dev {interface} root tbf rate {shape.rate_bit_s}bit "
        f"burst {shape.burst_bytes}b limit {queue_bytes}b"
    )


HOSTS_FOLDER = "hosts"


def hosts_text(
    networks: Sequence[str], nodes: Sequence[str], wrong: Sequence[LabFault] = ()
) -> str:
    """What stands in the file: ``nodes`` begins with the head, ``wrong`` are its wrong lines.

    In the first network a node has its plain name, in network NET the alias NODE-NET.
    """
    instead = {(fault.network, fault.text.partition("=")[0]): fault.text for fault in wrong}
    lines = ["127.0.0.1 localhost"]
    for index, network in enumerate(networks):
        for number, name in enumerate(nodes):
            plain = f"{name} " if index == 0 else ""
            ip = instead.get((network, name), "").partition("=")[2] or address(index, number)
            lines.append(f"{ip} {plain}{name}-{network}")
    return "\n".join(lines) + "\n"


def write_hosts(
    directory: Path, networks: Sequence[str], nodes: Sequence[str], faults: Sequence[LabFault] = ()
) -> None:
    """Write every node's file in place: the nodes have it mounted, and a new one would not be."""
    folder = directory / HOSTS_FOLDER
    folder.mkdir(exist_ok=True)
    for node in nodes:
        wrong = [one for one in faults if one.kind == "hosts" and one.node == node]
        (folder / node).write_text(hosts_text(networks, nodes, wrong))
