"""Are adapters driven, in a slot that carries them, and near processors and GPUs? pure."""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.checks import Check, examine_separately, make_finding
from fabricgauge.doctor.checks.rates import FAMILIES
from fabricgauge.doctor.places import Cluster, KnownNode, find_majority, get_rate, get_text
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Adapter, PcieLink
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.sentences import listed

#: Kinds of adapter that are of no use without an RDMA device.
RDMA_KINDS = frozenset({"infiniband", "omni-path", "efa"})

#: Driver: the module that makes its RDMA device. Linux 6.12: drivers/infiniband/hw/*/Kconfig,
#: drivers/net/ethernet/*/Kconfig.
RDMA_MODULES = {
    "mlx4_core": "mlx4_ib", "mlx4_en": "mlx4_ib", "mlx5_core": "mlx5_ib", "hfi1": "hfi1",
    "bnxt_en": "bnxt_re", "cxgb4": "iw_cxgb4", "qede": "qedr", "efa": "efa",
}  # fmt: skip

#: Modules by which user space reaches verbs (Linux: drivers/infiniband/core/uverbs_main.c).
VERBS_MODULE, CORE_MODULE = "ib_uverbs", "ib_core"

#: Drivers that hand an adapter to a guest or to a program (Linux 6.12: drivers/vfio/pci,
#: drivers/uio, drivers/xen/xen-pciback, drivers/pci/pci-stub.c; DPDK, Linux Drivers).
HANDED_ON = frozenset({"vfio-pci", "pci-stub", "pciback", "uio_pci_generic", "igb_uio"})


NodeAdapter = tuple[KnownNode, Adapter]


def _list_adapters(cluster: Cluster) -> list[NodeAdapter]:
    return [(node, adapter) for node in cluster.nodes for adapter in node.adapters]


def _examine_drivers(cluster: Cluster, _: object) -> Iterator[Finding]:
    for group in cluster.peer_groups:
        entries = [(node, adapter) for node in group if node.answered for adapter in node.adapters]
        driven, used = set[str](), set[str]()
        for node, adapter in entries:
            product = {node.get_product(adapter)}
            driven |= product if isinstance(adapter.driver, str) else set()
            used |= product if adapter.interfaces or adapter.rdma_devices else set()
        for node, adapter in entries:
            product_name = node.get_product(adapter)
            yield from _examine_driver(node, adapter, product_name in driven, product_name in used)
    for node in cluster.nodes:
        # If RDMA's core is not a module, it is built in, and so may be the rest.
        modules = node.inventory.modules
        if node.has_rdma and CORE_MODULE in modules and VERBS_MODULE not in modules:
            mends = (Command(node.name, ("modprobe", VERBS_MODULE)),)
            evidence = f"{node.name} has RDMA devices, and {VERBS_MODULE} is not loaded"
            summary = f"lacks the module {VERBS_MODULE}"
            yield make_finding(Severity.FAIL, node, summary, evidence, mends=mends)


def _examine_driver(
    node: KnownNode, adapter: Adapter, is_driven: bool, is_used: bool
) -> Iterator[Finding]:
    """Report an adapter without driver or device.

    ``is_driven``: some like node has a driver for this product. ``is_used``: some like node has an
    interface or RDMA device of it.
    """
    product = get_text(adapter.product, adapter.kind)
    adapter_line = f"{node.name}: {product} at {get_text(adapter.bus, 'an unknown bus')}"
    if not isinstance(adapter.driver, str) or not adapter.driver:
        if not adapter.interfaces and not adapter.rdma_devices:
            is_needed = is_driven or adapter.kind in RDMA_KINDS
            severity = Severity.FAIL if is_needed else Severity.WARN
            yield make_finding(severity, node, f"has no driver for {product}", adapter_line)
        return
    driver_line = f"{adapter_line}, driver {adapter.driver}"
    if adapter.driver in HANDED_ON:
        return
    if adapter.kind in RDMA_KINDS and not adapter.rdma_devices:
        module = RDMA_MODULES.get(adapter.driver, "")
        mends = (Command(node.name, ("modprobe", module)),) if module else ()
        summary = f"has no RDMA device of {product}"
        yield make_finding(Severity.FAIL, node, summary, driver_line, mends=mends)
    elif not adapter.interfaces and not adapter.rdma_devices:
        severity = Severity.WARN if is_used else Severity.NOTE
        summary = f"has a driver for {product}, but no interface"
        yield make_finding(severity, node, summary, driver_line)


DRIVER = Check(
    "driver",
    "Every adapter has a driver, and RDMA adapters their RDMA device",
    "MPI cannot see an adapter without them, and takes a slower network without a warning.",
    lambda cluster: [entry for entry in _list_adapters(cluster) if entry[0].answered],
    lambda cluster: (
        "only printouts of tools are available"
        if _list_adapters(cluster)
        else "no adapter is known"
    ),
    _examine_drivers,
    "load the module or install the driver's package, also in the nodes' image; dmesg gives the"
    " reason if a driver refused",
)


def _count_products(node: KnownNode) -> Counter[str]:
    """Count a node's adapters by product; virtual functions, which are a setting, are left out."""
    virtual_buses = {
        bus
        for name, text in node.facts.items()
        if name.startswith("virtual functions ")
        for bus in text.split()
    }
    physical = (
        adapter
        for adapter in node.adapters
        if adapter.bus not in virtual_buses
        and not get_text(adapter.product, "").endswith("Virtual Function")
    )
    return Counter(node.get_product(adapter) for adapter in physical)


def _find_missing_adapters(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Report adapters that more than half of the like nodes have, and a node lacks.

    A node may have them if its answer was cut off, or if no source reports adapters. Nodes that did
    not answer are compared with nodes of the same printouts.
    """
    reporting = [node for node in group if node.adapters or (node.answered and _was_surveyed(node))]
    printed_sources = [node.inventory.sources for node in reporting if not node.answered]
    common_sources = find_majority(printed_sources)
    complete = [
        node
        for node in reporting
        if (node.answered and node.get_fact("answer") != "cut off")
        or (not node.answered and node.inventory.sources == common_sources)
    ]
    counts = {node.name: _count_products(node) for node in complete}
    examples = {
        node.get_product(adapter): adapter
        for node in reversed(complete)
        for adapter in node.adapters
    }
    kinds = {
        node.get_product(adapter): adapter.kind for node in complete for adapter in node.adapters
    }
    rdma_products = {product for product, kind in kinds.items() if kind in RDMA_KINDS} | {
        node.get_product(adapter)
        for node in group
        for adapter in node.adapters
        if adapter.rdma_devices
    }
    for product, example in examples.items():
        if product in ("", kinds[product]):
            continue  # no source names the product
        common = find_majority(count[product] for count in counts.values())
        if not isinstance(common, int) or not common:
            continue
        name = _get_name(example, product)
        holders = [node for node, count in counts.items() if count[product] >= common]
        for node in complete:
            count = counts[node.name][product]
            if count >= common:
                continue
            lack = f"lacks {name}" if not count else f"has {count} of {common} {name}"
            yield make_finding(
                Severity.FAIL if product in rdma_products else Severity.WARN, node,
                f"{lack}, {len(holders)} like nodes have {'it' if common == 1 else 'them'}",
                f"{node.name}: {listed(sorted(_list_products(node))) or 'no adapter'}",
                f"{holders[0]} has {counts[holders[0]][product]} {name}",
            )  # fmt: skip


def _get_name(adapter: Adapter, product: str) -> str:
    """Return its name, else its family's, else its PCI numbers."""
    name = get_text(adapter.product, product)
    family = f"{FAMILIES[product][0]} ({product})" if product in FAMILIES else product
    return family if name == product else name


def _examine_adapters(cluster: Cluster, groups: list[tuple[KnownNode, ...]]) -> Iterator[Finding]:
    """Report adapters that like nodes have; then nodes without a fabric that half of all have."""
    named_nodes = set[str]()
    for group in groups:
        for finding in _find_missing_adapters(group):
            named_nodes |= {*finding.nodes}
            yield finding
    classified = {name for names in cluster.preflight.alike for name in names}
    surveyed = [
        node
        for node in cluster.answered_nodes
        if _was_surveyed(node)
        and node.get_fact("answer") != "cut off"
        and (not classified or node.name in classified)
    ]
    for kind in sorted(RDMA_KINDS):
        having = [
            node for node in surveyed if any(adapter.kind == kind for adapter in node.adapters)
        ]
        lacking = [node for node in surveyed if node not in having and node.name not in named_nodes]
        for node in lacking if having and 2 * len(having) >= len(surveyed) else ():
            holders = f"{having[0].name} has" if len(having) == 1 else f"{len(having)} nodes have"
            yield make_finding(
                Severity.WARN, node, f"has no {kind} adapter, {holders} one",
                f"{node.name}: {listed(sorted(_list_products(node))) or 'no adapter'}",
            )  # fmt: skip


def _was_surveyed(node: KnownNode) -> bool:
    """Check whether the survey listed the node's PCI functions, or the node has none at all."""
    return "/sys/bus/pci" in node.inventory.sources or "the system" in node.inventory.sources


def _list_products(node: KnownNode) -> set[str]:
    return {get_text(adapter.product, node.get_product(adapter)) for adapter in node.adapters}


ADAPTERS = Check(
    "adapters",
    "Like nodes have the same adapters",
    "A rank on the node that lacks one cannot use its network: MPI hangs, aborts, or takes another"
    " network for all.",
    lambda cluster: (
        [group for group in cluster.peer_groups if any(node.adapters for node in group)]
        if len(cluster.nodes) > 1
        else []
    ),
    "no two nodes report their adapters",
    _examine_adapters,
    "check whether lspci shows the adapter: if not, reseat or exchange it, and look at the"
    " firmware's settings for the slot (a link that does not train, a slot that is switched off);"
    " dmesg shows an adapter that fell off the bus",
)

#: Share of a link's data rate that is left for payload after packet headers and flow control
#: (PCI Express Base Specification 3.0: 256-byte payloads, 24 octets around each, DLLPs).
PAYLOAD_SHARE = 0.87


def _list_links(cluster: Cluster) -> list[tuple[KnownNode, Adapter, PcieLink]]:
    links = ((node, adapter, adapter.pcie_now) for node, adapter in _list_adapters(cluster))
    return [(node, adapter, link) for node, adapter, link in links if isinstance(link, PcieLink)]


def _examine_links(
    _: Cluster, links: list[tuple[KnownNode, Adapter, PcieLink]]
) -> Iterator[Finding]:
    """Compare each link with the link of most adapters of the same product."""
    for group in group_by(links, lambda entry: entry[0].get_product(entry[1])).values():
        common = find_majority(link for _, _, link in group)
        for node, adapter, link in group:
            yield from _examine_link(node, adapter, link, common)


def _is_in_use(node: KnownNode, adapter: Adapter) -> bool:
    interfaces, ports = node.find_ports(adapter)
    is_active = any(port.state == "ACTIVE" for port in ports)
    return is_active or any(interface.addresses for interface in interfaces)


def _sum_port_rates(node: KnownNode, adapter: Adapter) -> float:
    interfaces, ports = node.find_ports(adapter)
    rates = [port.rate_bit_s for port in ports if isinstance(port.rate_bit_s, float | int)]
    return max(sum(map(get_rate, interfaces)), sum(rates))


def _examine_link(
    node: KnownNode, adapter: Adapter, link: PcieLink, common: PcieLink | Skipped
) -> Iterator[Finding]:
    """Report a link below what the adapter can do, or below the links of like adapters.

    A slot that suffices, and is as good as those of like adapters, was bought so.
    """
    capable, is_outlier, comparison = adapter.pcie_capable, False, ""
    if isinstance(common, PcieLink) and link.data_bit_s < common.data_bit_s:
        is_outlier, comparison = True, f"like adapters at {common}"
    if isinstance(capable, PcieLink) and (link.lanes < capable.lanes or link.gt_s < capable.gt_s):
        comparison = f"the adapter can do {capable}"
    if not comparison:
        return
    payload_bit_s, ports_bit_s = PAYLOAD_SHARE * link.data_bit_s, _sum_port_rates(node, adapter)
    is_unknown = not ports_bit_s and _is_in_use(node, adapter)
    bus = get_text(adapter.bus, "adapter")
    port_rate = f", its port {link_rate(ports_bit_s)}" if ports_bit_s else ""
    severity = Severity.WARN if is_outlier or is_unknown else Severity.NOTE
    yield make_finding(
        Severity.FAIL if 0 < payload_bit_s < ports_bit_s else severity,
        f"{node.name}:{adapter.interfaces[0] if adapter.interfaces else bus}",
        f"runs at {link}, {comparison}",
        f"{node.name}: {bus} {get_text(adapter.product, adapter.kind)}",
        f"{link} carries about {link_rate(payload_bit_s)} of payload{port_rate}",
        nodes=(node.name,),
    )  # fmt: skip


PCIE = Check(
    "pcie",
    "Every adapter has its whole PCI Express link",
    "A slot that is narrower or slower than the adapter may carry less than its port.",
    _list_links,
    "no adapter's PCI Express link is known",
    _examine_links,
    "put the adapter into a slot with all its lanes, reseat it, look at the firmware's settings for"
    " the slot (speed, bifurcation) and at dmesg for PCIe errors",
)

#: nvidia-smi's words for paths that leave the socket (nvidia-smi topo -m, legend).
FAR = frozenset({"SYS"})


def _find_used_adapters(cluster: Cluster) -> list[NodeAdapter]:
    return [
        (node, adapter)
        for node, adapter in _list_adapters(cluster)
        if isinstance(adapter.numa_node, int)
        if adapter.rdma_devices or any(port.addresses for port in node.find_ports(adapter)[0])
    ]


def _examine_numa(entry: NodeAdapter) -> Iterator[Finding]:
    node, adapter = entry
    bus = get_text(adapter.bus, adapter.kind)
    label = f"{node.name}:{(*adapter.rdma_devices, *adapter.interfaces, bus)[0]}"
    has_several = node.facts.get("NUMA nodes", "0") not in ("0", "")
    rivals = [peer.numa_node for peer in node.adapters if peer.kind == adapter.kind]
    if has_several and adapter.numa_node != 0 and 0 not in rivals and not node.inventory.gpus:
        yield make_finding(
            Severity.NOTE, label, f"is on NUMA node {adapter.numa_node}; ranks start on node 0",
            f"{label}: numa_node {adapter.numa_node}",
            remedy=f"bind ranks that measure to NUMA node {adapter.numa_node} (numactl"
            " --cpunodebind, --map-by), or move the adapter to a slot of the first socket",
            nodes=(node.name,),
        )  # fmt: skip
    names = {adapter.bus, *adapter.interfaces, *adapter.rdma_devices}
    distances = [entry for entry in node.inventory.nearness if entry.adapter in names]
    if distances and all(entry.distance in FAR for entry in distances):
        gpus = listed([str(entry.gpu) for entry in distances])
        yield make_finding(
            Severity.NOTE, label, f"has no GPU on its socket ({gpus} are far)",
            *(f"{node.name}: GPU {e.gpu} to {e.adapter}: {e.distance}" for e in distances),
            remedy="use the adapter of each GPU's own socket (NCCL_IB_HCA, UCX_NET_DEVICES)",
            nodes=(node.name,),
        )  # fmt: skip


NUMA = Check(
    "numa",
    "Adapters are on the socket of the first ranks, and near the GPUs",
    "Crossing to the other socket adds some 0.1 µs to latency, and takes bandwidth between"
    " sockets.",
    _find_used_adapters,
    "no adapter in use reports its socket",
    examine_separately(_examine_numa),
)

FACT = "acs redirect"


def _find_gpu_nodes(cluster: Cluster) -> list[KnownNode]:
    return [node for node in cluster.nodes if node.inventory.gpus and node.has_rdma]


def _examine_acs(node: KnownNode) -> Iterator[Finding]:
    if bridges := node.get_fact(FACT):
        summary = "has PCI bridges that redirect traffic between GPUs and adapters"
        evidence = f"{node.name}: ACS redirects requests on {bridges}"
        yield make_finding(Severity.WARN, node, summary, evidence)


ACS = Check(
    "acs",
    "PCI bridges let GPUs and adapters reach each other directly",
    "Access Control Services send traffic between a GPU and an adapter through the root complex:"
    " GPUDirect falls to a fraction.",
    lambda cluster: [node for node in _find_gpu_nodes(cluster) if FACT in node.facts],
    lambda cluster: (
        "no node reports the settings of its PCI bridges (lspci -vv needs root)"
        if _find_gpu_nodes(cluster)
        else "no node has both GPUs and RDMA adapters"
    ),
    examine_separately(_examine_acs),
    "switch ACS off in the firmware, or for these bridges: setpci -s BRIDGE ECAP_ACS+6.w=0000"
    " (not if virtual machines use devices)",
)
