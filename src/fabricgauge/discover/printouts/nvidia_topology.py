"""``nvidia-smi topo -m`` → how near GPUs and adapters are; pure.

Columns are split by tabs, which pasting turns into blanks; the head is underlined by terminal
sequences even in a file. Drivers before 515 head a column with the adapter's name, later ones
with ``NIC0`` and a legend.
"""

import re

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.lines import lines
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu, Nearness

_SEQUENCE = re.compile(r"\x1b\[[0-9;]{0,16}m")
_GPU = re.compile(r"GPU([0-9]{1,4})")
_NIC = re.compile(r"(NIC[0-9]{1,4}): (.+)")
#: SOC is what drivers before 384 called SYS.
_DISTANCES = {"PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}
#: Behind the matrix come CPU Affinity, NUMA Affinity, GPU NUMA ID.
_AFTER = "CPU"
_NUMA = "NUMA Affinity"


def topology(text: str) -> Parts:
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
    gpus = tuple(
        Gpu(index, "", "", _node(cells[len(columns) :], numa), ()) for index, cells in rows
    )
    return Parts(gpus=gpus, nearness=_nearness(columns, rows, legend))


def _nearness(
    columns: tuple[str, ...], rows: list[tuple[int, list[str]]], legend: dict[str, str]
) -> tuple[Nearness, ...]:
    return tuple(
        Nearness(index, legend.get(column, column), _DISTANCES[cell])
        for index, cells in rows
        for column, cell in zip(columns, cells, strict=False)
        if not _GPU.fullmatch(column) and cell in _DISTANCES
    )


def _node(after: list[str], numa: bool) -> int | Skipped:
    """Of the columns behind the matrix the second; ``0-1`` where the GPU is near to several."""
    text = after[1] if numa and len(after) > 1 else ""
    return figures.whole(text, "the NUMA affinity", most=1 << 16)
