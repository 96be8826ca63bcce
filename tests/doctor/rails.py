"""Nodes with two interfaces in one subnet, and their routes."""

import msgspec
from tests.doctor import clusters
from tests.doctor.clusters import clean, with_inventory

from fabricgauge.model.inventory import Route
from fabricgauge.model.preflight import Preflight

RAILS = {"arp_ignore": "1", "arp_announce": "2", "arp_filter": "0"}


def two_rails(**settings: str) -> Preflight:
    """Each node's second InfiniBand port is in the first one's subnet."""
    preflight = clean()
    for number, one in enumerate(preflight.fabric.nodes, 1):
        rail = clusters.interface(
            "ib1", f"10.2.0.{100 + number}", f"80:00:00:00:01:{number:02x}", driver="ib_ipoib",
            speed_bit_s=200e9, mtu_bytes=4092,
        )  # fmt: skip
        changed = msgspec.structs.replace(one, interfaces=(*one.interfaces, rail))
        nodes = tuple(changed if n.name == one.name else n for n in preflight.fabric.nodes)
        fabric = msgspec.structs.replace(preflight.fabric, nodes=nodes)
        preflight = msgspec.structs.replace(preflight, fabric=fabric)
        for name, value in settings.items():
            for interface in ("ib0", "ib1"):
                preflight = clusters.with_fact(
                    preflight, one.name, f"net.ipv4.conf.{interface}.{name}", value
                )
    return preflight


def routed(preflight: Preflight, *routes: Route) -> Preflight:
    return with_inventory(preflight, "c2", lambda one: msgspec.structs.replace(one, routes=routes))


DIRECT = Route("10.1.0.0/24", "eth0", "", "10.1.0.2", 100)
OTHER = Route("10.2.0.0/24", "ib0", "", "10.2.0.2", 100)
DEFAULT = Route("default", "eth0", "10.1.0.254", "", 0)
