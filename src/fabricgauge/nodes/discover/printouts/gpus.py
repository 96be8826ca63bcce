"""``nvidia-smi`` and ``rocm-smi`` → GPUs and their links; pure.

``nvidia-smi --query-gpu=… --format=csv``, ``topo -m``, ``nvlink -s``: as drivers 470 to 570 print
them. Each of the three gives a part: GPUs are joined by ``index``, and an empty ``bus`` or
``product`` means that this printout does not give it.

``rocm-smi --showtopo``, ``--showbus``, ``--showproductname``: as ROCm 5 to 7 print them. A link's
word is its type with the weight that the driver gives it: ``XGMI 15`` is one Infinity Fabric link,
``PCIE 72`` is between two sockets. Hops are left out: they are 1 for every path by Infinity Fabric
(ROCm/rocm-systems issue 5763).
"""

import re

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu, GpuLink, Nearness, PcieLink
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    parse_number,
    parse_whole,
    report_unrecognised,
    split_lines,
)

_NVIDIA_SMI, _ROCM_SMI = "nvidia-smi", "rocm-smi"

#: The queried columns, whose names ``--format=csv,noheader`` leaves out.
_COLUMNS = ("index", "name", "pci.bus_id")

_NUMA_UNKNOWN = Skipped("nvidia-smi gives it with topo -m")


def parse_nvidia_smi(text: str, argument: str = "") -> Parts:
    """Return GPUs, their links to each other and to adapters, and NVLinks.

    A printout may hold several of the three.
    """
    topology = _parse_topology(text)
    gpus = (*topology.gpus, *_parse_query(text), *_parse_nvlinks(text))
    troubles = report_unrecognised(_NVIDIA_SMI, text, gpus)
    return msgspec.structs.replace(topology, gpus=gpus, troubles=troubles)


def _parse_query(text: str) -> tuple[Gpu, ...]:
    columns: tuple[str, ...] = _COLUMNS
    gpus: list[Gpu] = []
    for line in split_lines(text):
        cells = tuple(cell.strip() for cell in line.split(","))
        if "index" in cells:
            columns = tuple(cell.partition(" [")[0] for cell in cells)
            continue
        row = dict(zip(columns, cells, strict=False))
        index = parse_whole(row.get("index", ""), "the index", largest=4095)
        bus = pci.parse_address(row.get("pci.bus_id", ""))
        if isinstance(index, int) and (bus or row.get("name")) and len(cells) == len(columns):
            name, link = row.get("name", ""), _parse_pcie_link(row)
            gpus.append(Gpu(index, name, bus or "", _NUMA_UNKNOWN, (), pcie_capable=link))
    return tuple(gpus)


def _parse_pcie_link(row: dict[str, str]) -> PcieLink | Skipped:
    """Return the best link of GPU and slot together, if its columns were queried."""
    generation = parse_whole(row.get("pcie.link.gen.max", ""), "the generation", len(pci.GT_S))
    lanes = parse_whole(row.get("pcie.link.width.max", ""), "the width", largest=32)
    if isinstance(generation, Skipped) or isinstance(lanes, Skipped) or not generation or not lanes:
        return Skipped("nvidia-smi was not asked for pcie.link.gen.max and pcie.link.width.max")
    return PcieLink(pci.GT_S[generation - 1], lanes)


_SEQUENCE = re.compile(r"\x1b\[[0-9;]{0,16}m")
_GPU = re.compile(r"GPU([0-9]{1,4})")
_NVLINKS = re.compile(r"NV[0-9]{1,3}")
_NIC = re.compile(r"(NIC[0-9]{1,4}): (.+)")

#: SOC is the name of SYS in drivers before 384.
_DISTANCES = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}

#: CPU Affinity, NUMA Affinity, GPU NUMA ID follow the matrix.
_AFTER_MATRIX = "CPU"
_NUMA = "NUMA Affinity"


def _parse_topology(text: str) -> Parts:
    """Return GPUs with their NUMA node, and each GPU's distance to each adapter."""
    columns: tuple[str, ...] = ()
    has_numa, legend = False, dict[str, str]()
    rows: list[tuple[int, list[str]]] = []
    for line in split_lines(_SEQUENCE.sub("", text)):
        words = line.split()
        row_head = _GPU.fullmatch(words[0]) if words else None
        nic = _NIC.fullmatch(line.strip()[:200])
        if not columns and row_head and _AFTER_MATRIX in words:
            columns, has_numa = tuple(words[: words.index(_AFTER_MATRIX)]), _NUMA in line
        elif columns and row_head:
            rows.append((int(row_head[1]), words[1:]))
        elif nic:
            legend[nic[1]] = nic[2]
    gpus, nearness, links = [], [], []
    for index, cells in rows:
        affinities = cells[len(columns) :]
        # The second is NUMA's; 0-1 if the GPU is near to several nodes.
        text = affinities[1] if has_numa and len(affinities) > 1 else ""
        numa_node = parse_whole(text, "the NUMA affinity", largest=1 << 16)
        gpus.append(Gpu(index, "", "", numa_node, ()))
        links += [
            GpuLink(index, int(peer[1]), _DISTANCES.get(cell, cell))
            for column, cell in zip(columns, cells, strict=False)
            if (peer := _GPU.fullmatch(column)) and (cell in _DISTANCES or _NVLINKS.fullmatch(cell))
        ]
        nearness += [
            Nearness(index, legend.get(column, column), _DISTANCES[cell])
            for column, cell in zip(columns, cells, strict=False)
            if not _GPU.fullmatch(column) and cell in _DISTANCES
        ]
    return Parts(gpus=tuple(gpus), nearness=tuple(nearness), gpu_links=tuple(links))


_LINKS_OF = re.compile(r"GPU ([0-9]{1,4}): ")
_LINK = re.compile(r"Link [0-9]{1,3}: ([0-9.]{1,12}) GB/s")
_UUID = " (UUID: "


def _parse_nvlinks(text: str) -> tuple[Gpu, ...]:
    """Return GPUs with index, product and one rate for each link that has one."""
    gpus: list[tuple[int, str, list[float]]] = []
    for line in split_lines(text):
        head, link = _LINKS_OF.match(line[:60]), _LINK.fullmatch(line.strip()[:60])
        if head and _UUID in line:
            gpus.append((int(head[1]), line[head.end() :].rpartition(_UUID)[0], []))
        elif link and gpus:
            rate = parse_number(link[1], "the rate", 8e9)
            gpus[-1][2].extend([] if isinstance(rate, Skipped) else [rate])
    return tuple(Gpu(index, name, "", _NUMA_UNKNOWN, tuple(rates)) for index, name, rates in gpus)


_TABLE = re.compile(r"=+ (?P<quantity>Weight|Hops|Link Type) between two GPUs =+$")
_FACT = re.compile(
    r"GPU ?\[?(?P<index>\d{1,4})\]?\s*: (?P<name>\(Topology\) Numa Node|PCI Bus|Card [Ss]eries)"
    r":\s*(?P<value>\S.*)"
)
_TYPES = ("XGMI", "PCIE")

_Cells = dict[tuple[int, int], str]


def parse_rocm_smi(text: str, argument: str = "") -> Parts:
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
    gpus: list[Gpu] = []
    for index, values in sorted(facts.items()):
        numa = parse_whole(values.get("(Topology) Numa Node", ""), "the NUMA node", 1 << 16)
        product = next((values[key] for key in values if key.startswith("Card")), "")
        bus = pci.parse_address(values.get("PCI Bus", "")) or ""
        gpus.append(Gpu(index, product, bus, numa, (), Skipped("rocm-smi does not give it")))
    troubles = report_unrecognised(_ROCM_SMI, text, gpus)
    weights = tables.get("Weight", {})
    links = tuple(
        GpuLink(*pair, f"{word} {weights[pair]}" if pair in weights else word)
        for pair, word in tables.get("Link Type", {}).items()
        if word in _TYPES
    )
    return Parts(gpus=tuple(gpus), gpu_links=links, troubles=troubles)
