"""May GPUs and adapters reach each other without a detour?"""

from fabricgauge.doctor.places import Seen, nodes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "acs"
TITLE = "PCI bridges let GPUs and adapters reach each other directly"
WHY = (
    "Access Control Services send what a GPU and an adapter say to each other through the root"
    " complex: GPUDirect falls to a fraction."
)

FACT = "acs redirect"


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    concerned = [seen for seen in nodes(preflight) if seen.inventory.gpus and seen.has_rdma]
    if not concerned:
        return Skipped("no node has both GPUs and RDMA adapters")
    known = [seen for seen in concerned if FACT in seen.facts]
    if not known:
        return Skipped("no node could say what its PCI bridges do (lspci -vv needs root)")
    return tuple(_finding(seen) for seen in known if seen.facts[FACT].split())


def _finding(seen: Seen) -> Finding:
    return Finding(
        ID, Severity.WARN, seen.name, "its PCI bridges redirect what GPUs and adapters exchange",
        (f"{seen.name}: ACS redirects requests on {seen.facts[FACT]}",), WHY,
        "switch ACS off in the firmware, or for these bridges: setpci -s BRIDGE ECAP_ACS+6.w=0000"
        " (not where virtual machines are given devices)",
        (seen.name,),
    )  # fmt: skip
