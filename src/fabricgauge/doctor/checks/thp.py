"""Are transparent huge pages to be had, and alike everywhere?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, like, nodes, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "thp"
TITLE = "Transparent huge pages are not off, and the same on like nodes"
WHY = "Large buffers in small pages cost registration time and TLB misses; nodes then differ."

FACT = "transparent hugepages"


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if preflight.fabric.virtual:
        return Skipped("the nodes share one kernel")
    if not any(_mode(seen) for seen in nodes(preflight)):
        return Skipped("no node says whether it has transparent huge pages")
    return tuple(found for group in like(preflight) for found in _look(group))


def _mode(seen: Seen) -> str:
    """The word in brackets: ``always [madvise] never``."""
    return seen.facts.get(FACT, "").partition("[")[2].partition("]")[0]


def _look(group: tuple[Seen, ...]) -> Iterator[Finding]:
    modes = {seen.name: mode for seen in group if (mode := _mode(seen))}
    common, odd = unusual(modes)
    for node, mode in modes.items():
        told = f"{node}: {FACT}: {mode}"
        if node in odd and isinstance(common, str):
            yield _finding(Severity.WARN, node, f"has huge pages {mode}, like nodes {common}", told)
        elif mode == "never":
            yield _finding(Severity.NOTE, node, "has transparent huge pages switched off", told)


def _finding(severity: Severity, node: str, what: str, told: str) -> Finding:
    return Finding(
        ID, severity, node, what, (told,), WHY,
        "write madvise or always to /sys/kernel/mm/transparent_hugepage/enabled, at each start as"
        " well (kernel command line: transparent_hugepage=madvise)",
        (node,),
    )  # fmt: skip
