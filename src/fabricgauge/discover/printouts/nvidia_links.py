"""``nvidia-smi nvlink -s`` → the NVLinks of each GPU that are up; pure.

The figure is one direction's, coding included: a V100's six links of 25.781 GB/s are sold as
300 GB/s, an H100's eighteen of 26.562 GB/s as 900 GB/s, a B200's eighteen of 53.125 GB/s as
1.8 TB/s, each time both directions together (NVIDIA's data sheets of V100, H100 and B200).
GB is 10^9 octets.
"""

import re

from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.lines import lines
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Gpu

_GPU = re.compile(r"GPU ([0-9]{1,4}): ")
_LINK = re.compile(r"Link [0-9]{1,3}: ([0-9.]{1,12}) GB/s")
_UUID = " (UUID: "


def links(text: str) -> tuple[Gpu, ...]:
    """GPUs with index, product and one rate for each link that has one."""
    found: list[tuple[int, str, list[float]]] = []
    for line in lines(text):
        head, link = _GPU.match(line[:60]), _LINK.fullmatch(line.strip()[:60])
        if head and _UUID in line:
            found.append((int(head[1]), line[head.end() :].rpartition(_UUID)[0], []))
        elif link and found:
            rate = figures.number(link[1], "the rate", 8e9)
            found[-1][2].extend([] if isinstance(rate, Skipped) else [rate])
    unsaid = Skipped("nvidia-smi tells it with topo -m")
    return tuple(Gpu(index, name, "", unsaid, tuple(rates)) for index, name, rates in found)
