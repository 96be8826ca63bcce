"""GPU to GPU inside a node, way by way, against the links or the PCI Express between them.

A way is judged by the share of what joins the two GPUs, and beside the ways that are joined alike.
Through a processor (PHB, NODE, SYS, AMD's PCIE) the share depends on the processor: there like ways
alone count.
"""

import re
from collections.abc import Iterator
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from fabricgauge.judge.interface import Said, worst
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PcieLink
from fabricgauge.model.gpu_pairs import GpuPairs, GpuTopology
from fabricgauge.model.inventory import Gpu
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
from fabricgauge.words import figures, sentences

#: By product: one NVLink in GB/s each way as nvidia-smi nvlink -s prints it, or one link of AMD's
#: Infinity Fabric, and a lane's GT/s (the vendors' data sheets; NVLink 1 to 5:
#: open-mpi/hwloc#574). All have 16 lanes.
_PRODUCTS: tuple[tuple[str, float, float], ...] = (
    (r"P100", 20.0, 8.0),
    (r"V100", 25.781, 8.0),
    (r"A100|A800|A30\b", 25.0, 16.0),
    (r"RTX A[456]\d00|A40\b", 14.062, 16.0),
    (r"L40S?\b|RTX [34]0\d\d|RTX 6000 Ada|A10\b", 0.0, 16.0),
    (r"H100|H200|H800|H20\b", 26.562, 32.0),
    (r"B100|B200|B300", 53.125, 32.0),
    (r"RTX 50\d\d", 0.0, 32.0),
    (r"MI300X|MI308X|MI325X", 64.0, 32.0),
    (r"MI35[05]X", 76.8, 32.0),
)
#: Between these GPUs are one to four links, and rocm-smi does not say how many.
_UNLIKE = re.compile(r"MI250")

#: nvidia-smi's words for ways that no processor is part of (topo -m, legend); NV# as well.
_DIRECT = frozenset({"PIX", "PXB"})

_TELL = (
    "put what nvidia-smi topo -m (AMD: rocm-smi --showtopo) prints on that node into a file beside"
    " the log, and import both"
)
_SLOW = (
    "a dead or slow link between the GPUs, a PCIe slot below its rate, ACS or an IOMMU on the way",
    "look at nvidia-smi nvlink -s and -e, nvidia-smi -q (PCIe link), AMD's rocm-smi --showxgmierr,"
    " and dmesg on that node; run fabricgauge doctor (gpu, acs, iommu); exchange GPUs to see"
    " whether the slow way moves along",
)
_ABOVE = (
    "the GPUs are numbered otherwise, or the printout is of another node",
    "print topo -m on the node that was measured, with CUDA_DEVICE_ORDER=PCI_BUS_ID for both",
)
_MOST_TOLD = 8


class GpuWay(NamedTuple):
    """From one GPU to another; ``ceiling`` in bytes/s is 0 where it is not known."""

    origin: int
    target: int
    rate: float
    word: str
    ceiling: float
    usual: float = 0.0

    @property
    def share(self) -> float:
        return self.rate / self.ceiling if self.ceiling else self.rate / self.usual

    @property
    def direct(self) -> bool:
        linked = self.word.startswith(("NV", "XGMI"))
        return bool(self.ceiling) and (linked or self.word in _DIRECT)

    @property
    def told(self) -> str:
        whole = f" of {figures.rate(self.ceiling)}" if self.ceiling else ""
        return (
            f"GPU {self.origin} → GPU {self.target} ({self.word}): {figures.rate(self.rate)}{whole}"
        )


def pair_words(subject: Subject) -> Iterator[Said]:
    """Yield a word on each matrix of GPUs that was measured one way at a time."""
    for curve in subject.curves:
        if curve.evidence.gpu_pairs and curve.points:
            yield _said(subject, curve, curve.evidence.gpu_pairs)


def _said(subject: Subject, curve: SuiteCurve, pairs: GpuPairs) -> Said:
    ways = _ways(pairs)
    if isinstance(ways, Skipped):
        return Said(Outcome.SKIPPED, ways.reason, remedy=_TELL)
    judged = [(_outcome(subject, way), way) for way in ways]
    outcome = worst((one for one, _ in judged), empty=Outcome.SKIPPED)
    slow = sorted((way for one, way in judged if one is not Outcome.PASS), key=attrgetter("share"))
    # Where all is well, the way that is lowest by what joins it stands for all.
    lowest = slow[0] if slow else min(ways, key=attrgetter("share"))
    most = 1 + subject.limit("above-ceiling.tolerance")
    above = [one for one in ways if one.ceiling and one.share > most]
    counted = sentences.counted(len(ways), "way")
    of = f"{figures.percent(lowest.share)} of what joins them"
    if not lowest.ceiling:
        of = f"{figures.percent(lowest.share)} of the usual rate of such ways"
    summary = f"all {counted} between GPUs: the lowest, {lowest.told}, is {of}"
    cause, remedy = "", ""
    if slow:
        summary = f"{len(slow)} of {counted} between GPUs slow{_common(slow)}; {lowest.told}, {of}"
        cause, remedy = _SLOW
    elif above:
        outcome, (cause, remedy) = Outcome.WARN, _ABOVE
        summary = f"more than what joins them: {max(above, key=attrgetter('share')).told}"
    return Said(
        outcome, summary,
        Figure(lowest.share, "share", f"GPU {lowest.origin} → GPU {lowest.target}, {lowest.word}"),
        subject.threshold("fraction.gpu_pass" if lowest.direct else "fraction.gpu_like"),
        (*_classes(ways), *(f"slow: {way.told}" for way in slow[:_MOST_TOLD])),
        cause, remedy,
        about=VerdictSubject(
            "stream", subject.name, ("GPUs", "GPUs"), "bandwidth",
            source=f"{curve.source}:{curve.first_line} {curve.benchmark}",
        ),
    )  # fmt: skip


def _outcome(subject: Subject, way: GpuWay) -> Outcome:
    beside = way.rate / way.usual
    low = way.direct and way.share < subject.limit("fraction.gpu_warn")
    if low or beside < subject.limit("fraction.gpu_like_fail"):
        return Outcome.FAIL
    low = way.direct and way.share < subject.limit("fraction.gpu_pass")
    return Outcome.WARN if low or beside < subject.limit("fraction.gpu_like") else Outcome.PASS


def _common(slow: list[GpuWay]) -> str:
    """The GPU that all slow ways have in common, where there is one alone and several ways."""
    common = set.intersection(*({way.origin, way.target} for way in slow))
    return f", all of GPU {common.pop()}" if len(slow) > 1 and len(common) == 1 else ""


def _classes(ways: list[GpuWay]) -> Iterator[str]:
    """Yield a line for the ways that are joined alike."""
    for word, ceiling in dict.fromkeys((way.word, way.ceiling) for way in ways):
        rates = [way.rate for way in ways if (way.word, way.ceiling) == (word, ceiling)]
        whole = f" of {figures.rate(ceiling)} each way" if ceiling else ", rate not known"
        yield (
            f"{word}{whole}: {sentences.counted(len(rates), 'way')},"
            f" {figures.rate(min(rates))} to {figures.rate(max(rates))},"
            f" median {figures.rate(median(rates))}"
        )


def _ways(pairs: GpuPairs) -> list[GpuWay] | Skipped:
    """Each measured way with what joins its ends, or why that is not known."""
    topology = pairs.topology
    if topology is None or not topology.links:
        return Skipped("what is between the GPUs is not known")
    numbers = _numbers(pairs, topology)
    if isinstance(numbers, Skipped):
        return numbers
    words = {frozenset((one.gpu, one.other)): one.word for one in topology.links}
    if any(map(_UNLIKE.search, pairs.products)) and any("XGMI" in one for one in words.values()):
        return Skipped(f"{topology.source} does not say how many links join two of these GPUs")
    by_index = {gpu.index: gpu for gpu in topology.gpus}
    found = []
    for row, cells in enumerate(pairs.bytes_per_s):
        for column, rate in enumerate(cells):
            ends = numbers[row], numbers[column]
            word = words.get(frozenset(ends), "")
            if rate and word and row != column:
                ceilings = [_ceiling(word, by_index[end], pairs.products) for end in ends]
                found.append(GpuWay(row, column, rate, word, min(ceilings)))
    usual = {
        key: median(way.rate for way in found if (way.word, way.ceiling) == key)
        for key in {(way.word, way.ceiling) for way in found}
    }
    return [way._replace(usual=usual[way.word, way.ceiling]) for way in found] or Skipped(
        f"{topology.source} does not say what is between these GPUs"
    )


def _numbers(pairs: GpuPairs, topology: GpuTopology) -> list[int] | Skipped:
    """nvidia-smi's number of each of nvbandwidth's: by their place on the bus, else the same."""
    count = len(pairs.bytes_per_s)
    places = {_place(gpu.bus): gpu.index for gpu in topology.gpus if gpu.bus}
    if len(pairs.buses) == count and all(_place(bus) in places for bus in pairs.buses):
        return [places[_place(bus)] for bus in pairs.buses]
    indices = sorted(gpu.index for gpu in topology.gpus)
    if count == len(indices):
        return indices
    told = f"{sentences.counted(count, 'GPU')} were measured, and {topology.source} tells of"
    return Skipped(f"{told} {len(indices)}: which are which is not known")


def _place(bus: str) -> tuple[str, ...]:
    """Domain, bus and device of ``00000000:1b:00`` and ``0000:1b:00.0``."""
    domain, *rest = bus.lower().partition(".")[0].split(":")
    return (domain.lstrip("0"), *rest)


def _ceiling(word: str, gpu: Gpu, products: tuple[str, ...]) -> float:
    """Return the GPU's link rate in bytes/s, 0 if neither printout nor product shows it."""
    product = gpu.product or (products[0] if len(products) == 1 else "")
    link, lane = next((row[1:] for row in _PRODUCTS if re.search(row[0], product)), (0.0, 0.0))
    if word.startswith("NV"):
        told = max(gpu.links_bit_s, default=0.0) / 8
        return int(word[2:]) * (told or link * 1e9)
    if word.startswith("XGMI"):
        return link * 1e9
    capable = gpu.pcie_capable
    if isinstance(capable, Skipped):
        capable = PcieLink(lane, 16)
    return capable.data_bit_s / 8
