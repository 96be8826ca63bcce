"""``nvidia-smi --query-gpu=… --format=csv``, ``topo -m``, ``nvlink -s`` → GPUs; pure.

As drivers 470 to 570 print them. Each of the three says a part: GPUs are to be joined by
``index``, and an empty ``bus`` or ``product`` means that this printout does not tell it.
"""

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, nvidia_links, nvidia_topology, pci
from fabricgauge.discover.printouts.lines import lines, unrecognised
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu

TOOL = "nvidia-smi"
#: The columns where ``--format=csv,noheader`` leaves out their names: those that are asked for.
_COLUMNS = ("index", "name", "pci.bus_id")


def parse(text: str, argument: str = "") -> Parts:
    """GPUs, their nearness to adapters or their NVLinks; the printout shows which it is."""
    gpus = nvidia_links.links(text)
    if gpus:
        return Parts(gpus=gpus)
    found = nvidia_topology.topology(text)
    if found.gpus or found.nearness:
        return found
    gpus = _queried(text)
    return Parts(gpus=gpus, troubles=unrecognised(TOOL, text, gpus))


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
            found.append(Gpu(index, row.get("name", ""), bus or "", unsaid, ()))
    return tuple(found)
