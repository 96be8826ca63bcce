"""``rocm-smi --showtopo``, ``--showbus``, ``--showproductname`` → GPUs and their links; pure.

As ROCm 5 to 7 print them. A link's word is its type with the weight that the driver gives it:
``XGMI 15`` is one Infinity Fabric link, ``PCIE 72`` is between two sockets. Hops are left out: they
are 1 for every path by Infinity Fabric (ROCm/rocm-systems issue 5763).
"""

import re

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu, GpuLink
from fabricgauge.nodes.discover.printouts import figures, pci
from fabricgauge.nodes.discover.printouts.lines import report_unrecognised, split_lines
from fabricgauge.nodes.discover.printouts.parts import Parts

TOOL = "rocm-smi"

_TABLE = re.compile(r"=+ (?P<quantity>Weight|Hops|Link Type) between two GPUs =+$")
_GPU = re.compile(r"GPU(\d{1,4})")
_FACT = re.compile(
    r"GPU ?\[?(?P<index>\d{1,4})\]?\s*: (?P<name>\(Topology\) Numa Node|PCI Bus|Card [Ss]eries)"
    r":\s*(?P<value>\S.*)"
)
_TYPES = ("XGMI", "PCIE")

_Cells = dict[tuple[int, int], str]


def parse(text: str, argument: str = "") -> Parts:
    """Return GPUs with NUMA node, bus and product, and the links between them, if printed."""
    tables: dict[str, _Cells] = {}
    facts: dict[int, dict[str, str]] = {}
    columns: list[int] = []
    cells: _Cells = {}
    for line in split_lines(text):
        words = line.split()
        if table := _TABLE.match(line.strip()):
            columns, cells = [], tables.setdefault(table["quantity"], {})
        elif fact := _FACT.match(line.strip()):
            facts.setdefault(int(fact["index"]), {})[fact["name"]] = fact["value"].strip()
        elif words and (row_head := _GPU.fullmatch(words[0])):
            matches = [_GPU.fullmatch(word) for word in words]
            if all(matches):
                columns = [int(match[1]) for match in matches if match]
            else:
                row = int(row_head[1])
                cells |= {
                    (row, column): word for column, word in zip(columns, words[1:], strict=False)
                }
                facts.setdefault(row, {})
    gpus = tuple(_make_gpu(index, facts[index]) for index in sorted(facts))
    return Parts(
        gpus=gpus, gpu_links=_list_links(tables), troubles=report_unrecognised(TOOL, text, gpus)
    )  # fmt: skip


def _list_links(tables: dict[str, _Cells]) -> tuple[GpuLink, ...]:
    weights = tables.get("Weight", {})
    return tuple(
        GpuLink(*pair, f"{word} {weights[pair]}" if pair in weights else word)
        for pair, word in tables.get("Link Type", {}).items()
        if word in _TYPES
    )


def _make_gpu(index: int, facts: dict[str, str]) -> Gpu:
    numa_node = figures.parse_whole(
        facts.get("(Topology) Numa Node", ""), "the NUMA node", largest=1 << 16
    )
    product = next((facts[key] for key in facts if key.startswith("Card")), "")
    bus = pci.parse_address(facts.get("PCI Bus", "")) or ""
    return Gpu(index, product, bus, numa_node, (), Skipped("rocm-smi does not give it"))
