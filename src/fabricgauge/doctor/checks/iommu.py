"""Does an IOMMU translate each packet's address?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, nodes
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "iommu"
TITLE = "No IOMMU translates the addresses of fast adapters"
WHY = "Translating each buffer costs processors and bandwidth; strict mode does so at each packet."

#: Linux, Documentation/admin-guide/kernel-parameters.txt: what switches translation on, what
#: lets the kernel's own devices pass by it, and what makes it strict.
ON = ("intel_iommu=on", "amd_iommu=on", "iommu=force", "iommu=nopt", "iommu.passthrough=0")
PASSING = ("iommu=pt", "iommu.passthrough=1", "intel_iommu=off", "amd_iommu=off", "iommu=off")
STRICT = ("iommu.strict=1", "intel_iommu=strict", "iommu=strict")

#: Linux, Documentation/ABI/testing/sysfs-kernel-iommu_groups: types of a group's domain.
TRANSLATING = {"DMA": "each packet in strict mode", "DMA-FQ": "in lazy mode"}

COMMAND_LINE = "kernel command line"

FAST_BIT_S = 10e9


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if preflight.fabric.virtual:
        return Skipped("the nodes share one kernel")
    known = [seen for seen in nodes(preflight) if COMMAND_LINE in seen.facts or _types(seen)]
    if not known:
        return Skipped("no node says its IOMMU's groups or its kernel's command line")
    return tuple(found for seen in known for found in _look(seen))


def _look(seen: Seen) -> Iterator[Finding]:
    if not _fast(seen) or seen.facts.get("virtual machine"):
        return
    types = _types(seen)
    told = _translated(seen, types) if types else _asked(seen)
    if told:
        yield Finding(
            ID, Severity.WARN, seen.name, "its IOMMU translates for the kernel's own devices",
            told, WHY, "put iommu=pt onto the kernel's command line (grubby, or the image's boot"
            " parameters) and start the node again",
            (seen.name,),
        )  # fmt: skip


def _types(seen: Seen) -> dict[str, str]:
    """What the kernel does for each fast port and RDMA device; empty where it does not say so."""
    fast = [one.name for one in seen.node.interfaces if _rate(one) >= FAST_BIT_S]
    rdma = [name for one in seen.adapters for name in one.rdma_devices]
    rdma += [one.device for one in seen.inventory.rdma_ports]
    asked = ((name, seen.facts.get(f"iommu type of {name}", "")) for name in (*fast, *rdma))
    return {name: told for name, told in asked if told}


def _translated(seen: Seen, types: dict[str, str]) -> tuple[str, ...]:
    by_type: dict[str, list[str]] = {}
    for name, told in types.items():
        if told in TRANSLATING:
            by_type.setdefault(told, []).append(name)
    return tuple(
        f"{seen.name}: {listed(names)}: {told}, {TRANSLATING[told]}"
        for told, names in by_type.items()
    )


def _asked(seen: Seen) -> tuple[str, ...]:
    """By the command line, where the kernel does not say what it does."""
    words = seen.facts[COMMAND_LINE].split()
    asked = [word for word in words if word in (*ON, *STRICT)]
    off = any(word in PASSING for word in words) or seen.number("iommu groups") == 0.0
    if not asked or off:
        return ()
    return (f"{seen.name}: kernel command line has {' '.join(asked)}",)


def _fast(seen: Seen) -> bool:
    return seen.has_rdma or any(_rate(one) >= FAST_BIT_S for one in seen.node.interfaces)


def _rate(interface: Interface) -> float:
    return 0.0 if isinstance(interface.speed_bit_s, Skipped) else interface.speed_bit_s
