"""The checks, one row each, from the basic to what builds on it; a module is loaded when used."""

from collections.abc import Collection
from importlib import import_module

from fabricgauge.doctor.check import Check

#: By id, the module of this folder and the name of its ``Check``.
CHECKS: dict[str, str] = {
    "reach": "hosts.REACH",
    "adapters": "hardware.ADAPTERS",
    "driver": "hardware.DRIVER",
    "link": "links.LINK",
    "port": "links.PORT",
    "rate": "rates.RATE",
    "rdma-rate": "rates.RDMA_RATE",
    "subnet-links": "subnet.SUBNET_LINKS",
    "gid": "gids.GIDS",
    "priority": "priority.PRIORITY",
    "pcie": "hardware.PCIE",
    "ipoib": "links.IPOIB",
    "mtu": "echoes.MTU",
    "addresses": "addresses.ADDRESSES",
    "members": "subnets.MEMBERS",
    "subnets": "subnets.SUBNETS",
    "arp": "routes.ARP",
    "reverse-path": "routes.REVERSE_PATH",
    "firewall": "firewall.FIREWALL",
    "names": "names.NAMES",
    "ping": "echoes.PING",
    "connect": "connect.CONNECT",
    "carried": "carried.CARRIED",
    "counters": "counters.COUNTERS",
    "port-errors": "subnet.PORT_ERRORS",
    "clocks": "likeness.CLOCKS",
    "limits": "hosts.LIMITS",
    "governor": "hosts.GOVERNOR",
    "idle": "hosts.IDLE",
    "thp": "hosts.THP",
    "iommu": "hosts.IOMMU",
    "acs": "hardware.ACS",
    "gpu": "gpus.GPU",
    "numa": "hardware.NUMA",
    "irqs": "hosts.IRQS",
    "likeness": "likeness.LIKENESS",
}

#: Checks that the quick probe and the connections suffice for. The other checks find nothing
#: without a survey of the nodes or a trial.
QUICK = (
    "reach", "link", "rate", "priority", "ipoib", "mtu", "addresses", "subnets", "connect",
    "limits", "governor", "thp", "likeness",
)  # fmt: skip


def load_checks(check_ids: Collection[str] | None = None) -> tuple[Check, ...]:
    """Return the checks with ``check_ids``, or all checks, in the order of the rows."""
    places = (
        place.partition(".")
        for check_id, place in CHECKS.items()
        if check_ids is None or check_id in check_ids
    )
    return tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, _, name in places)
