"""Set UCX and libfabric for MPI on RDMA ports without the kernel's TCP, and parse UCX's output.

The variables of both are set, since an MPI uses one of the two, depending on its build. UCX uses
only the named network devices and ends if it can use none of them. If the nodes' ports have
different names, all names are given: UCX ignores names that a node does not have.

Sources: UCX 1.20, ucx_info -cf and ucp_context.c (MAX_RNDV_RAILS is 2 by default); libfabric 1.20,
fi_verbs(7), fi_efa(7), fi_cxi(7), fi_opx(7); PSM2 Programmer's Guide, HFI_UNIT.
"""

import re
from types import MappingProxyType

import msgspec

from fabricgauge.model.batch import EACH_DEVICES, EACH_PORTS, EACH_RAILS, ONE_DEVICE, ONE_UNIT
from fabricgauge.model.plan import PlannedLaunch


class NativeProvider(msgspec.Struct, frozen=True):
    """libfabric's provider of a technology.

    ``devices`` is the variable for a list of devices, ``device`` the one for a single device,
    ``units`` those for its number.
    """

    name: str
    devices: str = ""
    device: str = ""
    units: tuple[str, ...] = ()


VERBS = "verbs;ofi_rxm"
_VERBS = NativeProvider(VERBS, device="FI_VERBS_DEVICE_NAME")

#: Provider by technology of a network of RDMA ports.
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
    """Return variables that keep UCX and libfabric on the launch's ports; empty without ports."""
    if not launch.ports:
        return {}
    if launch.ports == (EACH_PORTS,):  # a job's launches know their ports only when the job runs
        rails, devices, device, unit = EACH_RAILS, EACH_DEVICES, ONE_DEVICE, ONE_UNIT
    else:
        names = dict.fromkeys(port.partition(":")[0] for port in launch.ports)
        rails, devices = str(len(launch.ports)), ",".join(names)
        device = devices if len(names) == 1 else ""
        match = _UNIT.fullmatch(device)
        unit = match[1] if match else ""
    values = {"UCX_NET_DEVICES": ",".join(launch.ports), "UCX_MAX_RNDV_RAILS": rails}
    if provider := PROVIDERS.get(launch.technology):
        values["FI_PROVIDER"] = provider.name
        if provider.devices:
            values[provider.devices] = devices
        if provider.device and device:
            values[provider.device] = device
        if unit:
            values |= dict.fromkeys(provider.units, unit)
    return values


#: With these variables UCX prints its transports; MPICH and Open MPI may both be built on it.
#: Source: ucp_worker.c of UCX 1.13.1 and 1.20.1, at log level info.
UCX_VERBOSE = MappingProxyType({"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr"})

#: With this variable UCX also prints its tables of protocols, which show the path of messages in
#: GPU memory. Source: docs/source/faq.md of UCX; versions before 1.12 have no such tables.
UCX_VERBOSE_GPU = MappingProxyType({"UCX_PROTO_INFO": "y"})

#: An endpoint's configuration: ``ep_cfg[1]: tag(tcp/eth0) …``, later ``inter-node cfg#1 tag(…)``.
_ENDPOINT = re.compile(
    r" UCX  INFO .*?(?:ep_cfg\[\d+\]:|cfg#\d+) (?:[a-z_]+\([^)]*\) +)*?tag\(([^)]+)\)"
)


def parse_ucx_transports(line: str) -> tuple[str, ...]:
    """Return e.g. ``("tcp/eth0",)``; empty for an endpoint of a rank with itself."""
    match = _ENDPOINT.search(line[:1000])
    transports = tuple(match[1].split()) if match else ()
    return () if any(transport.startswith("self/") for transport in transports) else transports
