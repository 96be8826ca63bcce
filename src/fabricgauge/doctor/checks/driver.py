"""Has every adapter its driver, and what the driver should bring?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, like, nodes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Adapter
from fabricgauge.model.preflight import Preflight

ID = "driver"
TITLE = "Every adapter has a driver, and RDMA adapters their RDMA device"
WHY = "Without it the adapter is not there for MPI, which then takes a slower network in silence."

#: Kinds of adapter that are of no use without an RDMA device.
RDMA_KINDS = frozenset({"infiniband", "omni-path", "efa"})

#: Driver: the module that makes its RDMA device. Linux 6.12: drivers/infiniband/hw/*/Kconfig,
#: drivers/net/ethernet/*/Kconfig.
RDMA_MODULES = {
    "mlx4_core": "mlx4_ib", "mlx4_en": "mlx4_ib", "mlx5_core": "mlx5_ib", "hfi1": "hfi1",
    "bnxt_en": "bnxt_re", "cxgb4": "iw_cxgb4", "qede": "qedr", "efa": "efa",
}  # fmt: skip

#: What programs in user space reach verbs by (Linux: drivers/infiniband/core/uverbs_main.c).
VERBS_MODULE, CORE_MODULE = "ib_uverbs", "ib_core"

#: Drivers that hand an adapter to a guest or to a program (Linux 6.12: drivers/vfio/pci,
#: drivers/uio, drivers/xen/xen-pciback, drivers/pci/pci-stub.c; DPDK, Linux Drivers).
HANDED_ON = frozenset({"vfio-pci", "pci-stub", "pciback", "uio_pci_generic", "igb_uio"})


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = nodes(preflight)
    if not any(seen.adapters for seen in every):
        return Skipped("no adapter is known")
    found = [one for group in like(preflight) for one in _of_group(group)]
    return (*found, *(one for seen in every for one in _verbs(seen)))


def _of_group(group: tuple[Seen, ...]) -> Iterator[Finding]:
    every = [(seen, adapter, seen.product(adapter)) for seen in group for adapter in seen.adapters]
    driven = {product for _, adapter, product in every if isinstance(adapter.driver, str)}
    used = {product for _, adapter, product in every if adapter.interfaces or adapter.rdma_devices}
    for seen, adapter, product in every:
        yield from _look(seen, adapter, product in driven, product in used)


def _look(seen: Seen, adapter: Adapter, driven: bool, used: bool) -> Iterator[Finding]:
    """``driven`` and ``used``: this product has a driver, or an interface, on some like node."""
    what = adapter.product if isinstance(adapter.product, str) else adapter.kind
    bus = adapter.bus if isinstance(adapter.bus, str) else "a bus that is not told"
    told = f"{seen.name}: {what} at {bus}"
    if not isinstance(adapter.driver, str) or not adapter.driver:
        if not adapter.interfaces and not adapter.rdma_devices:
            meant = driven or adapter.kind in RDMA_KINDS
            severity = Severity.FAIL if meant else Severity.WARN
            yield _finding(seen, severity, f"{what} has no driver", told)
        return
    driver = f"{told}, driver {adapter.driver}"
    if adapter.driver in HANDED_ON:
        return
    if adapter.kind in RDMA_KINDS and not adapter.rdma_devices:
        module = RDMA_MODULES.get(adapter.driver, "")
        mends = (Command(seen.name, ("modprobe", module)),) if module else ()
        yield _finding(seen, Severity.FAIL, f"{what} has no RDMA device", driver, mends)
    elif not adapter.interfaces and not adapter.rdma_devices:
        severity = Severity.WARN if used else Severity.NOTE
        yield _finding(seen, severity, f"{what} has a driver and no interface", driver)


def _verbs(seen: Seen) -> Iterator[Finding]:
    """Where RDMA's core is no module, it is built in, and the rest may be."""
    modules = seen.inventory.modules
    if seen.has_rdma and CORE_MODULE in modules and VERBS_MODULE not in modules:
        mends = (Command(seen.name, ("modprobe", VERBS_MODULE)),)
        told = f"{seen.name} has RDMA devices, and {VERBS_MODULE} is not among its modules"
        yield _finding(seen, Severity.FAIL, f"lacks the module {VERBS_MODULE}", told, mends)


def _finding(
    seen: Seen, severity: Severity, what: str, told: str, mends: tuple[Command, ...] = ()
) -> Finding:
    return Finding(
        ID, severity, seen.name, what, (told,), WHY,
        "load the module or install the driver's package, into the nodes' image as well; dmesg says"
        " why a driver refused",
        (seen.name,), "", mends,
    )  # fmt: skip
