"""Clusters with nothing wrong, to plant one fault in."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from fabricgauge.doctor.examining import examine
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Fabric, Interface, Member, Network, Node
from fabricgauge.model.finding import Finding
from fabricgauge.model.inventory import Adapter, Inventory, LinkModes, PcieLink, RdmaPort
from fabricgauge.model.preflight import Clock, Lookup, Ping, Preflight
from fabricgauge.nodes.discover.subnets import join_networks as joining

NO = Skipped("not here")
_T = TypeVar("_T")

FACTS = {
    "cpu model": "EPYC 7763",
    "cpu governor": "performance",
    "transparent hugepages": "[always] madvise never",
    "max locked memory bytes": "unlimited",
    "max open files": "65536",
    "/dev/shm bytes": str(128 << 30),
    "memory bytes": str(256 << 30),
    "kernel command line": "BOOT_IMAGE=/vmlinuz ro iommu=pt",
    "iommu groups": "80",
    "NUMA nodes": "0-1",
    "hosts file": "12345 678",
    "os release": "Rocky Linux 8.10",
    "firewall": "none",
    "service firewalld": "inactive",
    "service opensm": "active",
    "irqs of eth0": "16 on 16 processors",
    "acs redirect": "",
}


def interface(name: str, ip: str, mac: str, **changes: object) -> Interface:
    plain = Interface(
        name=name, driver="mlx5_core", operstate="up", carrier=True, speed_bit_s=100e9,
        mtu_bytes=9000, mac=mac, addresses=(Address(ip, 24),), shaper=NO, numa_node=0,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def adapter(**changes: object) -> Adapter:
    plain = Adapter(
        bus="0000:61:00.0", vendor="Mellanox", product="MT28908", kind="ethernet",
        driver="mlx5_core", driver_version="24.10", firmware="20.43", numa_node=0,
        pcie_now=PcieLink(16.0, 16), pcie_capable=PcieLink(16.0, 16), interfaces=("eth0",),
        modes=LinkModes((25e9, 50e9, 100e9), (100e9,), (100e9,), True, "full"),
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def hca(**changes: object) -> Adapter:
    return adapter(
        bus="0000:81:00.0", kind="infiniband", interfaces=("ib0",), rdma_devices=("mlx5_0",),
        modes=NO, **changes,
    )  # fmt: skip


def port(**changes: object) -> RdmaPort:
    plain = RdmaPort(
        device="mlx5_0", number=1, link_layer="InfiniBand", protocol="infiniband", state="ACTIVE",
        physical="LinkUp", rate_bit_s=200e9, lane_bit_s=50e9, lane_bit_s_enabled=(50e9,),
        lane_bit_s_supported=(25e9, 50e9), lanes=4, lanes_enabled=(1, 4), lanes_supported=(1, 4),
        lid=7, sm_lid=1, guid="0002:c903", mtu_bytes=4096, interface="ib0",
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def node(number: int) -> Node:
    name = f"c{number}"
    interfaces = (
        interface("lo", "127.0.0.1", "00:00:00:00:00:00", driver="loopback", operstate="unknown"),
        interface("eth0", f"10.1.0.{number}", f"02:00:00:00:00:{number:02x}"),
        interface(
            "ib0", f"10.2.0.{number}", f"80:00:00:00:00:{number:02x}", driver="ib_ipoib",
            speed_bit_s=200e9, mtu_bytes=4092,
        ),
        interface(
            "docker0", f"172.17.{number}.1", "02:42:00:00:00:01", driver="bridge", carrier=False,
            operstate="down", speed_bit_s=NO,
        ),
    )  # fmt: skip
    return Node(name, name, f"boot-{number}", "net:[4026531840]", 64, "4.18.0", interfaces, {})


def inventory(number: int) -> Inventory:
    found = node(number)
    facts = {**FACTS, "ipoib mode ib0": "datagram"}
    modules = ("mlx5_core", "mlx5_ib", "ib_uverbs", "ib_ipoib")
    return Inventory(
        found.name, found, adapters=(adapter(), hca()), rdma_ports=(port(lid=number + 1),),
        modules=modules, facts=facts,
    )  # fmt: skip


def network(nodes: tuple[Node, ...], name: str, place: str, rate_bit_s: float) -> Network:
    members = []
    for one in nodes:
        found = one.interface(place)
        assert isinstance(found, Interface)
        members.append(Member(one.name, place, found.addresses[0].ip, found.mtu_bytes))
    subnet = members[0].ip.rpartition(".")[0] + ".0/24"
    origin = f"c1:{place}'s driver reports it, the fastest port of the network"
    return Network(name, subnet, "ethernet", rate_bit_s, origin, tuple(members))


def ping(
    net: Network, source: Member, target: Member, size: int, whole: bool, **changes: object
) -> Ping:
    plain = Ping(
        net.name, source.node, source.interface, source.ip, target.node, target.ip, size, whole,
        5, 5, 50e-6 if size < 10000 else 80e-6,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def pings(net: Network) -> tuple[Ping, ...]:
    """Everybody tries everybody, as few nodes do."""
    return tuple(
        ping(net, a, b, size, whole)
        for a in net.members
        for b in net.members
        if a.node != b.node
        for size, whole in ((56, False), (net.mtu_bytes - 28, True), (65000, False))
    )


def lookups(nodes: tuple[Node, ...]) -> tuple[Lookup, ...]:
    return tuple(
        Lookup(asked.name, named.name, (named.interfaces[1].addresses[0].ip,))
        for asked in nodes
        for named in nodes
    )


def clean(count: int = 4) -> Preflight:
    """Nodes with Ethernet and InfiniBand, everything as it should be."""
    nodes = tuple(node(number) for number in range(1, count + 1))
    networks = (network(nodes, "eth", "eth0", 100e9), network(nodes, "ib", "ib0", 200e9))
    return Preflight(
        Fabric(nodes, (), networks),
        tuple(inventory(number) for number in range(1, count + 1)),
        tuple(one for net in networks for one in pings(net)),
        lookups(nodes),
        tuple(Clock(one.name, -0.002, 0.003) for one in nodes),
        (),
        3.0,
    )


def findings(preflight: Preflight) -> list[Finding]:
    return [finding for one in examine(preflight) for finding in one.findings]


def only(preflight: Preflight) -> Finding:
    """The one thing that is wrong; more or less of it fails."""
    found = findings(preflight)
    assert len(found) == 1, [(one.check, one.where, one.what) for one in found]
    return found[0]


def with_inventory(
    preflight: Preflight, name: str, change: Callable[[Inventory], Inventory]
) -> Preflight:
    changed = tuple(change(one) if one.name == name else one for one in preflight.inventories)
    return msgspec.structs.replace(preflight, inventories=changed)


def with_facts(preflight: Preflight, name: str, **facts: str) -> Preflight:
    """Facts are named with underscores for blanks here."""
    named = {key.replace("__", ".").replace("_", " "): value for key, value in facts.items()}
    return with_inventory(
        preflight, name, lambda one: msgspec.structs.replace(one, facts={**one.facts, **named})
    )


def with_fact(preflight: Preflight, name: str, fact: str, value: str) -> Preflight:
    return with_inventory(
        preflight, name, lambda one: msgspec.structs.replace(one, facts={**one.facts, fact: value})
    )


def with_interface(preflight: Preflight, where: str, **changes: object) -> Preflight:
    """Another interface at ``NODE:NAME``; its networks' members follow."""
    owner, _, name = where.partition(":")
    nodes = tuple(
        msgspec.structs.replace(
            one,
            interfaces=tuple(
                msgspec.structs.replace(i, **changes) if i.name == name else i
                for i in one.interfaces
            ),
        )
        if one.name == owner
        else one
        for one in preflight.fabric.nodes
    )
    networks = tuple(
        msgspec.structs.replace(net, members=tuple(_member(nodes, one) for one in net.members))
        for net in preflight.fabric.networks
    )
    fabric = msgspec.structs.replace(preflight.fabric, nodes=nodes, networks=networks)
    by_name = {one.name: one for one in nodes}
    inventories = tuple(
        msgspec.structs.replace(one, node=by_name[one.name]) for one in preflight.inventories
    )
    return msgspec.structs.replace(preflight, fabric=fabric, inventories=inventories)


def _member(nodes: tuple[Node, ...], member: Member) -> Member:
    found = next(one for one in nodes if one.name == member.node).interface(member.interface)
    assert isinstance(found, Interface)
    ip = found.addresses[0].ip if found.addresses else member.ip
    return msgspec.structs.replace(member, ip=ip, mtu_bytes=found.mtu_bytes)


def with_pings(preflight: Preflight, change: Callable[[Ping], Ping]) -> Preflight:
    return msgspec.structs.replace(preflight, pings=tuple(map(change, preflight.pings)))


def with_network(preflight: Preflight, name: str, **changes: object) -> Preflight:
    networks = tuple(
        msgspec.structs.replace(net, **changes) if net.name == name else net
        for net in preflight.fabric.networks
    )
    fabric = msgspec.structs.replace(preflight.fabric, networks=networks)
    return msgspec.structs.replace(preflight, fabric=fabric)


def joined(preflight: Preflight) -> Preflight:
    """The same with those networks that discovery would make of the nodes, and no echoes."""
    nodes = preflight.fabric.nodes
    fabric = msgspec.structs.replace(preflight.fabric, networks=joining(nodes, ()))
    return msgspec.structs.replace(preflight, fabric=fabric, pings=())


def with_more(preflight: Preflight, plan: Callable[[int], Interface], *names: str) -> Preflight:
    """One more interface on each node, or on those of ``names``; ``plan`` gets its number."""
    nodes = tuple(
        msgspec.structs.replace(one, interfaces=(*one.interfaces, plan(number)))
        if one.name in names or not names
        else one
        for number, one in enumerate(preflight.fabric.nodes, 1)
    )
    fabric = msgspec.structs.replace(preflight.fabric, nodes=nodes)
    inventories = tuple(
        msgspec.structs.replace(one, node=node)
        for one, node in zip(preflight.inventories, nodes, strict=True)
    )
    return msgspec.structs.replace(preflight, fabric=fabric, inventories=inventories)


def first(values: tuple[_T, ...], value: _T) -> tuple[_T, ...]:
    return (value, *values[1:])
