"""Are adapters driven, in a slot that carries them, and near processors and GPUs? pure."""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.check import Check, each, found
from fabricgauge.doctor.checks.rates import FAMILIES
from fabricgauge.doctor.places import Cluster, KnownNode, rate, told, usual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.inventory import Adapter, PcieLink
from fabricgauge.words.figures import link_rate
from fabricgauge.words.sentences import listed

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


NodeAdapter = tuple[KnownNode, Adapter]


def _adapters(cluster: Cluster) -> list[NodeAdapter]:
    return [(seen, adapter) for seen in cluster.nodes for adapter in seen.adapters]


def _drivers(cluster: Cluster, _: object) -> Iterator[Finding]:
    for group in cluster.alike:
        asked = [seen for seen in group if seen.asked]
        every = [(seen, one, seen.product(one)) for seen in asked for one in seen.adapters]
        driven = {product for _, one, product in every if isinstance(one.driver, str)}
        used = {product for _, one, product in every if one.interfaces or one.rdma_devices}
        for seen, adapter, product in every:
            yield from _driver_findings(seen, adapter, product in driven, product in used)
    for seen in cluster.nodes:
        yield from _verbs(seen)


def _driver_findings(
    seen: KnownNode, adapter: Adapter, driven: bool, used: bool
) -> Iterator[Finding]:
    """``driven`` and ``used``: this product has a driver, or an interface, on some like node."""
    what = told(adapter.product, adapter.kind)
    at = f"{seen.name}: {what} at {told(adapter.bus, 'a bus that is not told')}"
    if not isinstance(adapter.driver, str) or not adapter.driver:
        if not adapter.interfaces and not adapter.rdma_devices:
            meant = driven or adapter.kind in RDMA_KINDS
            severity = Severity.FAIL if meant else Severity.WARN
            yield found(severity, seen, f"{what} has no driver", at)
        return
    driver = f"{at}, driver {adapter.driver}"
    if adapter.driver in HANDED_ON:
        return
    if adapter.kind in RDMA_KINDS and not adapter.rdma_devices:
        module = RDMA_MODULES.get(adapter.driver, "")
        mends = (Command(seen.name, ("modprobe", module)),) if module else ()
        yield found(Severity.FAIL, seen, f"{what} has no RDMA device", driver, mends=mends)
    elif not adapter.interfaces and not adapter.rdma_devices:
        severity = Severity.WARN if used else Severity.NOTE
        yield found(severity, seen, f"{what} has a driver and no interface", driver)


def _verbs(seen: KnownNode) -> Iterator[Finding]:
    """Where RDMA's core is no module, it is built in, and the rest may be."""
    modules = seen.inventory.modules
    if seen.has_rdma and CORE_MODULE in modules and VERBS_MODULE not in modules:
        mends = (Command(seen.name, ("modprobe", VERBS_MODULE)),)
        evidence = f"{seen.name} has RDMA devices, and {VERBS_MODULE} is not among its modules"
        yield found(Severity.FAIL, seen, f"lacks the module {VERBS_MODULE}", evidence, mends=mends)


DRIVER = Check(
    "driver",
    "Every adapter has a driver, and RDMA adapters their RDMA device",
    "Without it the adapter is not there for MPI, which then takes a slower network in silence.",
    lambda cluster: [place for place in _adapters(cluster) if place[0].asked],
    lambda cluster: (
        "there are only printouts of tools" if _adapters(cluster) else "no adapter is known"
    ),
    _drivers,
    "load the module or install the driver's package, into the nodes' image as well; dmesg says why"
    " a driver refused",
)


def _counts(seen: KnownNode) -> Counter[str]:
    """How many adapters of each product a node has; virtual functions are a setting."""
    virtual = {bus for name, text in seen.facts.items() if name.startswith("virtual functions ")
               for bus in text.split()}  # fmt: skip
    real = (one for one in seen.adapters if one.bus not in virtual
            and not told(one.product, "").endswith("Virtual Function"))  # fmt: skip
    return Counter(seen.product(one) for one in real)


def _missing(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Adapters that more than half of the like nodes have, and a node lacks.

    A node whose answer was cut off, or of which no source tells adapters, may have them. Nodes that
    were not asked are held against those of the same printouts.
    """
    telling = [seen for seen in group if seen.adapters or (seen.asked and _was_surveyed(seen))]
    printed = usual(seen.inventory.sources for seen in telling if not seen.asked)
    whole = [
        seen
        for seen in telling
        if (
            seen.inventory.sources == printed
            if not seen.asked
            else seen.fact("answer") != "cut off"
        )
    ]
    counts = {seen.name: _counts(seen) for seen in whole}
    names = {seen.product(one): _name(one, seen.product(one))
             for seen in reversed(whole) for one in seen.adapters}  # fmt: skip
    kinds = {seen.product(one): one.kind for seen in whole for one in seen.adapters}
    for product, name in names.items():
        if product in ("", kinds[product]):
            continue  # no source tells what it is
        common = usual(count[product] for count in counts.values())
        if not isinstance(common, int) or not common:
            continue
        holders = [node for node, count in counts.items() if count[product] >= common]
        for seen in whole:
            own = counts[seen.name][product]
            if own >= common:
                continue
            is_rdma = kinds[product] in RDMA_KINDS or _has_devices(group, product)
            what = f"{name} is missing" if not own else f"has {own} of {common} {name}"
            yield found(
                Severity.FAIL if is_rdma else Severity.WARN, seen,
                f"{what}, {len(holders)} like nodes have {'it' if common == 1 else 'them'}",
                f"{seen.name}: {listed(sorted(_told_products(seen))) or 'no adapter'}",
                f"{holders[0]} has {counts[holders[0]][product]} {name}",
            )  # fmt: skip


def _name(adapter: Adapter, product: str) -> str:
    """Its name, else its family's, else its PCI numbers."""
    name = told(adapter.product, product)
    family = f"{FAMILIES[product][0]} ({product})" if product in FAMILIES else product
    return family if name == product else name


def _lacking(cluster: Cluster, groups: list[tuple[KnownNode, ...]]) -> Iterator[Finding]:
    """Of each group what it lacks; then nodes without a fabric that half of all have."""
    named = set[str]()
    for group in groups:
        for one in _missing(group):
            named |= {*one.nodes}
            yield one
    sorted_ = {node for nodes in cluster.preflight.alike for node in nodes}
    every = [seen for seen in cluster.asked
             if _was_surveyed(seen) and seen.fact("answer") != "cut off"
             and (not sorted_ or seen.name in sorted_)]  # fmt: skip
    for kind in sorted(RDMA_KINDS):
        having = [seen for seen in every if any(one.kind == kind for one in seen.adapters)]
        without = [seen for seen in every if seen not in having and seen.name not in named]
        for seen in without if having and 2 * len(having) >= len(every) else ():
            others = f"{having[0].name} has" if len(having) == 1 else f"{len(having)} nodes have"
            yield found(
                Severity.WARN, seen, f"has no {kind} adapter, {others}",
                f"{seen.name}: {listed(sorted(_told_products(seen))) or 'no adapter'}",
            )  # fmt: skip


def _was_surveyed(seen: KnownNode) -> bool:
    """Check whether the node was asked for its PCI functions, or has none at all."""
    return "/sys/bus/pci" in seen.inventory.sources or "the system" in seen.inventory.sources


def _has_devices(group: tuple[KnownNode, ...], product: str) -> bool:
    return any(
        one.rdma_devices for seen in group for one in seen.adapters if seen.product(one) == product
    )


def _told_products(seen: KnownNode) -> set[str]:
    return {told(one.product, seen.product(one)) for one in seen.adapters}


ADAPTERS = Check(
    "adapters",
    "Like nodes have the same adapters",
    "A rank on the node that lacks one cannot use its network: MPI hangs, aborts, or takes another"
    " network for all.",
    lambda cluster: (
        [g for g in cluster.alike if any(one.adapters for one in g)]
        if len(cluster.nodes) > 1
        else []
    ),
    "no two nodes tell of their adapters",
    _lacking,
    "see whether lspci shows the adapter: if not, reseat it or exchange it, and look at the"
    " firmware's settings for the slot (a link that does not train, a slot that is switched off);"
    " dmesg tells of an adapter that fell off the bus",
)

#: Share of a link's data rate that payload gets behind packet headers and flow control
#: (PCI Express Base Specification 3.0: 256-byte payloads, 24 octets around each, DLLPs).
PAYLOAD_SHARE = 0.87


def _links(cluster: Cluster) -> list[tuple[KnownNode, Adapter, PcieLink]]:
    every = ((seen, adapter, adapter.pcie_now) for seen, adapter in _adapters(cluster))
    return [(seen, one, now) for seen, one, now in every if isinstance(now, PcieLink)]


def _pcie(_: Cluster, every: list[tuple[KnownNode, Adapter, PcieLink]]) -> Iterator[Finding]:
    """Beside the link that most adapters of the same product have."""
    for same in grouped(every, lambda one: one[0].product(one[1])).values():
        common = usual(now for _, _, now in same)
        for seen, adapter, now in same:
            yield from _pcie_findings(seen, adapter, now, common)


def _in_use(seen: KnownNode, adapter: Adapter) -> bool:
    interfaces, ports = seen.on(adapter)
    return any(one.addresses for one in interfaces) or any(o.state == "ACTIVE" for o in ports)


def _pcie_name(link: PcieLink) -> str:
    return f"{link.gt_s:g} GT/s x{link.lanes}"


def _port_bit_s(seen: KnownNode, adapter: Adapter) -> float:
    """What the adapter's ports carry together, as far as it is known."""
    interfaces, ports = seen.on(adapter)
    rates = [one.rate_bit_s for one in ports if isinstance(one.rate_bit_s, float | int)]
    return max(sum(map(rate, interfaces)), sum(rates))


def _pcie_findings(
    seen: KnownNode, adapter: Adapter, now: PcieLink, common: PcieLink | Skipped
) -> Iterator[Finding]:
    """Less than the adapter can, or in a slot that is less than those of like adapters. A slot that
    suffices, and is no less than those, was bought so."""
    capable, odd, what = adapter.pcie_capable, False, ""
    if isinstance(common, PcieLink) and now.data_bit_s < common.data_bit_s:
        odd, what = True, f"the others at {_pcie_name(common)}"
    if isinstance(capable, PcieLink) and (now.lanes < capable.lanes or now.gt_s < capable.gt_s):
        what = f"capable of {_pcie_name(capable)}"
    if not what:
        return
    carried, port = PAYLOAD_SHARE * now.data_bit_s, _port_bit_s(seen, adapter)
    unknown = not port and _in_use(seen, adapter)
    bus = told(adapter.bus, "adapter")
    against = f", its port {link_rate(port)}" if port else ""
    severity = Severity.WARN if odd or unknown else Severity.NOTE
    yield found(
        Severity.FAIL if 0 < carried < port else severity,
        f"{seen.name}:{adapter.interfaces[0] if adapter.interfaces else bus}",
        f"runs at {_pcie_name(now)}, {what}",
        f"{seen.name}: {bus} {told(adapter.product, adapter.kind)}",
        f"{_pcie_name(now)} carries about {link_rate(carried)} of payload{against}",
        nodes=(seen.name,),
    )  # fmt: skip


PCIE = Check(
    "pcie",
    "Every adapter has its whole PCI Express link",
    "A slot that is narrower or slower than the adapter may carry less than its port.",
    _links,
    "no adapter's PCI Express link is known",
    _pcie,
    "put the adapter into a slot with all its lanes, reseat it, look at the firmware's settings for"
    " the slot (speed, bifurcation) and at dmesg for PCIe errors",
)

#: nvidia-smi's words for ways that leave the socket (nvidia-smi topo -m, legend).
FAR = frozenset({"SYS"})


def _used(cluster: Cluster) -> list[NodeAdapter]:
    """The adapters in use whose socket is known."""
    return [
        (seen, adapter)
        for seen, adapter in _adapters(cluster)
        if isinstance(adapter.numa_node, int)
        and (adapter.rdma_devices or any(one.addresses for one in seen.on(adapter)[0]))
    ]


def _numa(place: NodeAdapter) -> Iterator[Finding]:
    seen, adapter = place
    bus = told(adapter.bus, adapter.kind)
    where = f"{seen.name}:{(*adapter.rdma_devices, *adapter.interfaces, bus)[0]}"
    several = seen.facts.get("NUMA nodes", "0") not in ("0", "")
    rivals = [one.numa_node for one in seen.adapters if one.kind == adapter.kind]
    if several and adapter.numa_node != 0 and 0 not in rivals and not seen.inventory.gpus:
        what = f"hangs on NUMA node {adapter.numa_node}; ranks start on node 0"
        remedy = (
            "bind ranks that measure to that NUMA node (numactl --cpunodebind, --map-by), or move"
            " the adapter to a slot of the first socket"
        )
        evidence = f"{where}: numa_node {adapter.numa_node}"
        yield found(Severity.NOTE, where, what, evidence, remedy=remedy, nodes=(seen.name,))
    names = {adapter.bus, *adapter.interfaces, *adapter.rdma_devices}
    mine = [one for one in seen.inventory.nearness if one.adapter in names]
    if mine and all(one.distance in FAR for one in mine):
        ways = [f"{seen.name}: GPU {one.gpu} to {one.adapter}: {one.distance}" for one in mine]
        what = f"no GPU is on its socket ({listed([str(one.gpu) for one in mine])} are far)"
        remedy = "use the adapter of each GPU's own socket (NCCL_IB_HCA, UCX_NET_DEVICES)"
        yield found(Severity.NOTE, where, what, *ways, remedy=remedy, nodes=(seen.name,))


NUMA = Check(
    "numa",
    "Adapters hang on the socket of the first ranks, and near the GPUs",
    "Crossing to the other socket adds some 0.1 µs to latency, and takes bandwidth between"
    " sockets.",
    _used,
    "no adapter in use says which socket it hangs on",
    each(_numa),
)

FACT = "acs redirect"


def _concerned(cluster: Cluster) -> list[KnownNode]:
    return [seen for seen in cluster.nodes if seen.inventory.gpus and seen.has_rdma]


def _acs(seen: KnownNode) -> Iterator[Finding]:
    if on := seen.fact(FACT):
        what = "its PCI bridges redirect what GPUs and adapters exchange"
        yield found(Severity.WARN, seen, what, f"{seen.name}: ACS redirects requests on {on}")


ACS = Check(
    "acs",
    "PCI bridges let GPUs and adapters reach each other directly",
    "Access Control Services send what a GPU and an adapter say to each other through the root"
    " complex: GPUDirect falls to a fraction.",
    lambda cluster: [seen for seen in _concerned(cluster) if FACT in seen.facts],
    lambda cluster: (
        "no node could say what its PCI bridges do (lspci -vv needs root)"
        if _concerned(cluster)
        else "no node has both GPUs and RDMA adapters"
    ),
    each(_acs),
    "switch ACS off in the firmware, or for these bridges: setpci -s BRIDGE ECAP_ACS+6.w=0000"
    " (not where virtual machines are given devices)",
)
