"""Variables of UCX and libfabric: MPI on RDMA ports, without the kernel's TCP; what UCX says.

Both are set, because which of the two an MPI uses depends on how it was built. UCX takes no other
network device than those that are named, and ends where it can use none of them. Where nodes call
their ports differently all names are given: UCX leaves out those that a node does not have.

Sources: UCX 1.20, ucx_info -cf and ucp_context.c (MAX_RNDV_RAILS is 2 by default); libfabric 1.20,
fi_verbs(7), fi_efa(7), fi_cxi(7), fi_opx(7); PSM2 Programmer's Guide, HFI_UNIT.
"""

import re
from types import MappingProxyType

import msgspec

from fabricgauge.model.plan import PlannedLaunch


class NativeProvider(msgspec.Struct, frozen=True):
    """libfabric's provider of a technology.

    ``devices`` is the variable that takes a list of devices, ``device`` one that takes a single
    device, ``units`` those that take its number.
    """

    name: str
    devices: str = ""
    device: str = ""
    units: tuple[str, ...] = ()


VERBS = "verbs;ofi_rxm"
_VERBS = NativeProvider(VERBS, device="FI_VERBS_DEVICE_NAME")

#: By technology of a network of RDMA ports.
PROVIDERS: dict[str, NativeProvider] = {
    "infiniband": _VERBS,
    "roce-v1": _VERBS,
    "roce-v2": _VERBS,
    "iwarp": _VERBS,
    "omni-path": NativeProvider("opx,psm2", units=("HFI_UNIT", "FI_OPX_HFI_SELECT")),
    "efa": NativeProvider("efa", devices="FI_EFA_IFACE"),
    "slingshot": NativeProvider("cxi", devices="FI_CXI_DEVICE_NAME"),
}
_UNIT = re.compile(r"hfi1_([0-9]+)")


def variables(launch: PlannedLaunch) -> dict[str, str]:
    """What keeps UCX and libfabric to the launch's ports; empty where it has none."""
    if not launch.ports:
        return {}
    devices = tuple(dict.fromkeys(port.partition(":")[0] for port in launch.ports))
    chosen = {
        "UCX_NET_DEVICES": ",".join(launch.ports),
        "UCX_MAX_RNDV_RAILS": str(len(launch.ports)),
    }
    provider = PROVIDERS.get(launch.technology)
    if provider is None:
        return chosen
    chosen["FI_PROVIDER"] = provider.name
    if provider.devices:
        chosen[provider.devices] = ",".join(devices)
    if len(devices) == 1:
        if provider.device:
            chosen[provider.device] = devices[0]
        if unit := _UNIT.fullmatch(devices[0]):
            chosen |= dict.fromkeys(provider.units, unit[1])
    return chosen


#: What makes UCX say which transports it chose; MPICH and Open MPI may both be built on it.
#: Source: ucp_worker.c of UCX 1.13.1 and 1.20.1, at log level info.
UCX_TELLS = MappingProxyType({"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr"})

#: What makes it print its tables of protocols too, which say how messages of a GPU's memory go.
#: Source: docs/source/faq.md of UCX; versions before 1.12 have no such tables.
UCX_TELLS_OF_GPUS = MappingProxyType({"UCX_PROTO_INFO": "y"})

#: How endpoints are configured: ``ep_cfg[1]: tag(tcp/eth0) …``, later ``inter-node cfg#1 tag(…)``.
_CONFIGURED = re.compile(
    r" UCX  INFO .*?(?:ep_cfg\[\d+\]:|cfg#\d+) (?:[a-z_]+\([^)]*\) +)*?tag\(([^)]+)\)"
)


def ucx_ways(line: str) -> tuple[str, ...]:
    """``("tcp/eth0",)``; nothing for an endpoint of a rank with itself."""
    found = _CONFIGURED.search(line[:1000])
    chosen = tuple(found[1].split()) if found else ()
    return () if any(one.startswith("self/") for one in chosen) else chosen
