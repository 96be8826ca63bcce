"""``rocm-smi --showtopo``, ``--showbus``, ``--showproductname`` → GPUs and what joins them; pure.

As ROCm 5 to 7 print them. A way's word is the link's type with the weight that the driver gives it:
``XGMI 15`` is one Infinity Fabric link, ``PCIE 72`` is between two sockets. Hops are left out: they
are 1 for every way by Infinity Fabric (ROCm/rocm-systems issue 5763).
"""

import re

from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import lines, unrecognised
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu, GpuLink

TOOL = "rocm-smi"

_TABLE = re.compile(r"=+ (?P<what>Weight|Hops|Link Type) between two GPUs =+$")
_GPU = re.compile(r"GPU(\d{1,4})")
_FACT = re.compile(
    r"GPU ?\[?(?P<index>\d{1,4})\]?\s*: (?P<what>\(Topology\) Numa Node|PCI Bus|Card [Ss]eries)"
    r":\s*(?P<value>\S.*)"
)
_TYPES = ("XGMI", "PCIE")

_Cells = dict[tuple[int, int], str]


def parse(text: str, argument: str = "") -> Parts:
    """GPUs with NUMA node, bus and product, and the ways between them; any of these may lack."""
    tables: dict[str, _Cells] = {}
    facts: dict[int, dict[str, str]] = {}
    columns: list[int] = []
    cells: _Cells = {}
    for line in lines(text):
        words = line.split()
        if table := _TABLE.match(line.strip()):
            columns, cells = [], tables.setdefault(table["what"], {})
        elif fact := _FACT.match(line.strip()):
            facts.setdefault(int(fact["index"]), {})[fact["what"]] = fact["value"].strip()
        elif words and (first := _GPU.fullmatch(words[0])):
            found = [_GPU.fullmatch(word) for word in words]
            if all(found):
                columns = [int(one[1]) for one in found if one]
            else:
                row = int(first[1])
                others = zip(columns, words[1:], strict=False)
                cells |= {(row, other): word for other, word in others}
                facts.setdefault(row, {})
    gpus = tuple(_gpu(index, facts[index]) for index in sorted(facts))
    return Parts(
        gpus=gpus, gpu_links=_links(tables), troubles=unrecognised(TOOL, text, gpus)
    )  # fmt: skip


def _links(tables: dict[str, _Cells]) -> tuple[GpuLink, ...]:
    weights = tables.get("Weight", {})
    return tuple(
        GpuLink(*ends, f"{word} {weights[ends]}" if ends in weights else word)
        for ends, word in tables.get("Link Type", {}).items()
        if word in _TYPES
    )


def _gpu(index: int, said: dict[str, str]) -> Gpu:
    numa = figures.whole(said.get("(Topology) Numa Node", ""), "the NUMA node", most=1 << 16)
    product = next((said[key] for key in said if key.startswith("Card")), "")
    bus = pci.address(said.get("PCI Bus", "")) or ""
    return Gpu(index, product, bus, numa, (), Skipped("rocm-smi does not say it"))
