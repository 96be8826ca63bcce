"""Does an IOMMU translate each packet's address?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, nodes
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

FAST_BIT_S = 10e9


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if preflight.fabric.virtual:
        return Skipped("the nodes share one kernel")
    known = [seen for seen in nodes(preflight) if "kernel command line" in seen.facts]
    if not known:
        return Skipped("no node says its kernel's command line")
    return tuple(found for seen in known for found in _look(seen))


def _look(seen: Seen) -> Iterator[Finding]:
    words = seen.facts["kernel command line"].split()
    asked = [word for word in words if word in (*ON, *STRICT)]
    groups = seen.number("iommu groups")
    off = any(word in PASSING for word in words) or groups == 0.0
    if not asked or off or not _fast(seen) or seen.facts.get("virtual machine"):
        return
    told = f"{seen.name}: kernel command line has {' '.join(asked)}"
    yield Finding(
        ID, Severity.WARN, seen.name, "its IOMMU translates for the kernel's own devices", (told,),
        WHY, "put iommu=pt onto the kernel's command line (grubby, or the image's boot parameters)"
        " and start the node again",
        (seen.name,),
    )  # fmt: skip


def _fast(seen: Seen) -> bool:
    return seen.has_rdma or any(_rate(one) >= FAST_BIT_S for one in seen.node.interfaces)


def _rate(interface: Interface) -> float:
    return 0.0 if isinstance(interface.speed_bit_s, Skipped) else interface.speed_bit_s
