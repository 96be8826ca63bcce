"""``ompi_info``, with ``--parsable`` or without → Open MPI; pure.

As Open MPI 4.1 and 5.0 print it.
"""

from collections.abc import Iterator

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.inventory import Stack

TOOL = "ompi_info"
#: The frameworks that choose the network: point to point, byte transfer, matching, one-sided.
FRAMEWORKS = ("pml", "btl", "mtl", "osc")


def parse(text: str, argument: str = "") -> Parts:
    """A row ``openmpi`` with its prefix.

    Fact ``openmpi components``: those of four frameworks, ``pml:ucx btl:tcp``, sorted.
    """
    version, prefix = "", ""
    components: set[str] = set()
    for line in lines(text):
        key, value = pair(line)
        if key == "Open MPI":
            version = version or value
        elif line.startswith("ompi:version:full:"):
            version = version or line.partition("full:")[2]
        elif key == "Prefix":
            prefix = prefix or value
        elif line.startswith("path:prefix:"):
            prefix = prefix or line.removeprefix("path:prefix:")
        components.update(_components(line))
    if not version:
        return Parts(troubles=unrecognised(TOOL, text, known=False))
    facts = {"openmpi components": " ".join(sorted(components))} if components else {}
    return Parts(stacks=(Stack("openmpi", version, prefix),), facts=facts)


def _components(line: str) -> Iterator[str]:
    """``mca:btl:tcp:version:…`` or ``MCA btl: tcp (MCA v2.1.0, …)``."""
    kind, _, rest = line.strip()[:200].partition(":")
    name, _, after = rest.partition(":")
    if kind == "mca" and name in FRAMEWORKS and ":version" in after:
        yield f"{name}:{after.partition(':')[0]}"
    elif kind.startswith("MCA ") and kind[4:] in FRAMEWORKS and rest.split():
        yield f"{kind[4:]}:{rest.split()[0]}"
