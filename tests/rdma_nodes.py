"""Answers of RDMA nodes that this machine has not: a row for each cluster, two nodes of each.

Faithful, not recorded. Written after Linux 6.12: drivers/infiniband/core/sysfs.c (state, rate,
link_layer "Unknown" where a driver names none, gid_attrs), hw/mlx5, hw/hfi1 (board_id, 100 Gb/sec
as 4X EDR), hw/efa/efa_verbs.c (efa_query_port), Documentation/ABI/testing/sysfs-bus-pci; and after
HPE's Slingshot driver (net device and class cxi on one PCI function). iproute2 6.1: ip -d -j addr.
"""

from typing import NamedTuple


class Card(NamedTuple):
    """One RDMA device of every node, with the interface beside it, if any."""

    device: str
    bus: str
    driver: str
    rate: str
    layer: str
    interface: str = ""
    speed: int = 0
    mtu: int = 2044
    subnet: str = ""
    gt_s: str = "16.0"
    lanes: int = 16
    numa: int = 0
    lid: int = 0
    prefix: str = "fe80:0000:0000:0000"
    gids: tuple[str, ...] = ("IB/RoCE v1",)
    pkeys: tuple[str, ...] = ("0xffff",)
    #: Places of the GID table: index, address or ``link`` for the link-local one, and kind.
    table: tuple[tuple[int, str, str], ...] = ()


def _mlx5(number: int, rate: str, **known: object) -> Card:
    bus = f"0000:{0x31 + 0x40 * number:02x}:00.0"
    one = Card(f"mlx5_{number}", bus, "mlx5_core", rate, "InfiniBand", lid=10 * (number + 1))
    return one._replace(numa=number, **known)  # type: ignore[arg-type]


HDR = (_mlx5(0, "200 Gb/sec (4X HDR)", interface="ib0", speed=200000, subnet="10.20.0"),)
NDR = tuple(_mlx5(n, "400 Gb/sec (4X NDR)", gt_s="32.0") for n in (0, 1))
ROCE = (
    _mlx5(
        0, "100 Gb/sec (4X EDR)", layer="Ethernet", interface="ens1f0np0", speed=100000, mtu=9000,
        subnet="10.30.0", gt_s="8.0", lanes=8, lid=0, gids=("IB/RoCE v1", "RoCE v2"),
    ),
)  # fmt: skip
OPA = (
    Card("hfi1_0", "0000:5e:00.0", "hfi1", "100 Gb/sec (4X EDR)", "InfiniBand", gt_s="8.0", lid=1),
)
EFA = tuple(
    Card(f"rdmap{slot}s27", f"0000:{slot:02x}:1b.0", "efa", "100 Gb/sec (4X EDR)", "Unknown",
         gt_s="8.0", gids=())
    for slot in (0x10, 0x20, 0x90, 0xA0)
)  # fmt: skip
SLINGSHOT = (
    Card("cxi0", "0000:21:00.0", "cxi_ss1", "", "", "hsn0", 200000, 9000, "10.150.0", gids=()),
)

#: Both ports of one adapter in one slot of PCI Express 4.0 x16.
DUAL_PORT = tuple(
    _mlx5(0, "200 Gb/sec (4X HDR)")._replace(device=f"mlx5_{n}", bus=f"0000:31:00.{n}", lid=10 + n)
    for n in (0, 1)
)


def answer(number: int, cards: tuple[Card, ...]) -> str:
    """What nodes/discover/probe.sh prints on node ``c<number>``."""
    links = ", ".join(_ip(number, place, card) for place, card in enumerate(cards, 2) if card.speed)
    lines = [
        "== fabricgauge-probe 1", "== hostname", f"c{number}", "== kernel", "5.14.0-427.el9.x86_64",
        "== boot_id", f"boot-c{number}", "== net_namespace", "net:[4026531992]", "== cpus", "64",
        "== ip_json", f"[{links}]",
    ]  # fmt: skip
    for place, card in enumerate(cards, 2):
        if card.speed:
            lines += [
                f"== sys {card.interface}", f"ifindex: {place}", f"address: {_mac(number, place)}",
                "operstate: up", "carrier: 1", f"speed: {card.speed}", f"mtu: {card.mtu}",
                *_infiniband(card), *_behind(card),
            ]  # fmt: skip
    for card in cards:
        lines += _rdma(number, card)
    return "\n".join([*lines, "== settings", "== facts", "NUMA nodes: 0-1", "== end", ""])


def _infiniband(card: Card) -> list[str]:
    if card.layer != "InfiniBand":
        return ["type: 1"]
    return ["type: 32", "mode: datagram", "dev_port: 0", f"rate 1: {card.rate}"]


def _behind(card: Card) -> list[str]:
    return [
        f"bus: {card.bus}", f"driver: {card.driver}", f"numa_node: {card.numa}",
        f"current_link_speed: {card.gt_s} GT/s PCIe", f"current_link_width: {card.lanes}",
    ]  # fmt: skip


def _rdma(number: int, card: Card) -> list[str]:
    head = f"== rdma-port 1 {card.device}"
    if card.driver == "cxi_ss1":
        port = [head, "state: up", f"speed: {card.speed}", f"netdev: {card.interface}"]
        return [f"== rdma {card.device}", *_behind(card), *port]
    lid = f"{card.lid + 100 * number:#x}" if card.lid else "0x0"
    bus = card.bus.replace(":", "")[4:6] + card.bus[-1]
    return [
        f"== rdma {card.device}", "node_type: 1: CA", *_behind(card), head, "state: 4: ACTIVE",
        "phys_state: 5: LinkUp", f"rate: {card.rate}", f"lid: {lid}",
        f"sm_lid: {'0x1' if card.lid else '0x0'}", f"link_layer: {card.layer}",
        f"gid: {card.prefix}:b8ce:f603:0{bus}:000{number}",
        *(f"gid_type: {one}" for one in card.gids), *(f"pkey: {one}" for one in card.pkeys),
        *([f"netdev: {card.interface}"] if card.layer == "Ethernet" else []),
        *(
            f"gids: {index} {_gid(number, card, address)} {card.interface or '-'} {kind}"
            for index, address, kind in card.table
        ),
    ]  # fmt: skip


def _gid(number: int, card: Card, address: str) -> str:
    if address == "link":
        return f"fe80:0000:0000:0000:bace:f6ff:fe00:{number:04x}"
    octets = [int(one) for one in f"{address or card.subnet}.{number}".split(".")]
    return f"0000:0000:0000:0000:0000:ffff:{bytes(octets).hex()[:4]}:{bytes(octets).hex()[4:]}"


def _mac(number: int, place: int) -> str:
    return f"b8:ce:f6:00:0{number}:0{place}"


def _ip(number: int, place: int, card: Card) -> str:
    kind = "infiniband" if card.layer == "InfiniBand" else "ether"
    return (
        f'{{"ifindex": {place}, "ifname": "{card.interface}", "flags": ["UP", "LOWER_UP"],'
        f' "mtu": {card.mtu}, "operstate": "UP", "link_type": "{kind}",'
        f' "address": "{_mac(number, place)}", "addr_info": [{{"family": "inet",'
        f' "local": "{card.subnet}.{number}", "prefixlen": 24}}]}}'
    )
