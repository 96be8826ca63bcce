"""``nvidia-smi --query-gpu=… --format=csv``, ``topo -m``, ``nvlink -s`` → GPUs; pure.

As drivers 470 to 570 print them. Each of the three says a part: GPUs are to be joined by
``index``, and an empty ``bus`` or ``product`` means that this printout does not tell it.
"""

import re

import msgspec

from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import lines, unrecognised
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu, GpuLink, Nearness, PcieLink

TOOL = "nvidia-smi"

#: The columns where ``--format=csv,noheader`` leaves out their names: those that are asked for.
_COLUMNS = ("index", "name", "pci.bus_id")


def parse(text: str, argument: str = "") -> Parts:
    """GPUs, what is between them and adapters, NVLinks; a printout may hold several of these."""
    found = _topology(text)
    gpus = (*found.gpus, *_queried(text), *_linked(text))
    return msgspec.structs.replace(found, gpus=gpus, troubles=unrecognised(TOOL, text, gpus))


def _queried(text: str) -> tuple[Gpu, ...]:
    columns: tuple[str, ...] = _COLUMNS
    found: list[Gpu] = []
    for line in lines(text):
        cells = tuple(cell.strip() for cell in line.split(","))
        if "index" in cells:
            columns = tuple(cell.partition(" [")[0] for cell in cells)
            continue
        row = dict(zip(columns, cells, strict=False))
        index = figures.whole(row.get("index", ""), "the index", most=4095)
        bus = pci.address(row.get("pci.bus_id", ""))
        if isinstance(index, int) and (bus or row.get("name")) and len(cells) == len(columns):
            unsaid = Skipped("nvidia-smi tells it with topo -m")
            found.append(
                Gpu(index, row.get("name", ""), bus or "", unsaid, (), pcie_capable=_pcie(row))
            )
    return tuple(found)


def _pcie(row: dict[str, str]) -> PcieLink | Skipped:
    """What GPU and slot can do together, where the columns for it were asked for."""
    generation = figures.whole(row.get("pcie.link.gen.max", ""), "the generation", len(pci.GT_S))
    lanes = figures.whole(row.get("pcie.link.width.max", ""), "the width", most=32)
    if isinstance(generation, Skipped) or isinstance(lanes, Skipped) or not generation or not lanes:
        return Skipped("nvidia-smi was not asked for pcie.link.gen.max and pcie.link.width.max")
    return PcieLink(pci.GT_S[generation - 1], lanes)


_SEQUENCE = re.compile(r"\x1b\[[0-9;]{0,16}m")
_GPU = re.compile(r"GPU([0-9]{1,4})")
_NVLINKS = re.compile(r"NV[0-9]{1,3}")
_NIC = re.compile(r"(NIC[0-9]{1,4}): (.+)")

#: SOC is what drivers before 384 called SYS.
_DISTANCES = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}

#: Behind the matrix come CPU Affinity, NUMA Affinity, GPU NUMA ID.
_AFTER = "CPU"
_NUMA = "NUMA Affinity"


def _topology(text: str) -> Parts:
    """GPUs with their NUMA node, and each GPU's distance to each adapter."""
    columns: tuple[str, ...] = ()
    numa, legend = False, dict[str, str]()
    rows: list[tuple[int, list[str]]] = []
    for line in lines(_SEQUENCE.sub("", text)):
        words = line.split()
        first = _GPU.fullmatch(words[0]) if words else None
        nic = _NIC.fullmatch(line.strip()[:200])
        if not columns and first and _AFTER in words:
            columns, numa = tuple(words[: words.index(_AFTER)]), _NUMA in line
        elif columns and first:
            rows.append((int(first[1]), words[1:]))
        elif nic:
            legend[nic[1]] = nic[2]
    gpus, nearness, links = [], [], []
    for index, cells in rows:
        after = cells[len(columns) :]  # the second; 0-1 where the GPU is near to several nodes
        text = after[1] if numa and len(after) > 1 else ""
        node = figures.whole(text, "the NUMA affinity", most=1 << 16)
        gpus.append(Gpu(index, "", "", node, ()))
        links += [
            GpuLink(index, int(other[1]), _DISTANCES.get(cell, cell))
            for column, cell in zip(columns, cells, strict=False)
            if (other := _GPU.fullmatch(column))
            and (cell in _DISTANCES or _NVLINKS.fullmatch(cell))
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


def _linked(text: str) -> tuple[Gpu, ...]:
    """GPUs with index, product and one rate for each link that has one."""
    found: list[tuple[int, str, list[float]]] = []
    for line in lines(text):
        head, link = _LINKS_OF.match(line[:60]), _LINK.fullmatch(line.strip()[:60])
        if head and _UUID in line:
            found.append((int(head[1]), line[head.end() :].rpartition(_UUID)[0], []))
        elif link and found:
            rate = figures.number(link[1], "the rate", 8e9)
            found[-1][2].extend([] if isinstance(rate, Skipped) else [rate])
    unsaid = Skipped("nvidia-smi tells it with topo -m")
    return tuple(Gpu(index, name, "", unsaid, tuple(rates)) for index, name, rates in found)
