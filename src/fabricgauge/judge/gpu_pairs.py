"""Copies from GPU to GPU or between GPU and host, against the links or the PCI Express they use.

Each path is compared with the rate of its link, and with the other paths over links of the same
kind. Through a processor (PHB, NODE, SYS, AMD's PCIE) the rate depends on the processor: such a
path is compared with other paths only.
"""

import re
from collections.abc import Iterator
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from fabricgauge.judge.interface import Subject, worst
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PcieLink
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Gpu
from fabricgauge.model.suite import GpuPairs, GpuTopology, SuiteCurve
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures, sentences

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
#: GPUs whose way to the host is no PCI Express (NVLink-C2C), or nothing (one memory for both).
_JOINED_TO_HOST = re.compile(r"GH200|GB[23]00|GB10\b|MI300A")
_UNKNOWN_GPU = Gpu(0, "", "", Skipped("no printout"), ())
#: The other end of a copy, in place of a GPU's number.
_HOST = -1
#: One to four links join these GPUs, and rocm-smi does not print how many.
_UNKNOWN_LINK_COUNT = re.compile(r"MI250")

#: nvidia-smi's words for paths without a processor (topo -m, legend); NV# is another.
_DIRECT = frozenset({"PIX", "PXB"})

_ADD_TOPOLOGY = (
    "on that node, write the output of nvidia-smi topo -m (AMD: rocm-smi --showtopo) to a file"
    " beside the log, and import both"
)
_SLOW = (
    "a dead or slow link between the GPUs, a PCIe slot below its rate, ACS or an IOMMU on the path",
    "on that node, check nvidia-smi nvlink -s and -e, nvidia-smi -q (PCIe link), AMD's rocm-smi"
    " --showxgmierr, and dmesg; run fabricgauge doctor (gpu, acs, iommu); exchange GPUs and see if"
    " the slow path moves with them",
)
_ABOVE = (
    "the topology numbers the GPUs differently, or it is from another node",
    "run topo -m on the measured node; set CUDA_DEVICE_ORDER=PCI_BUS_ID for it and for the test",
)
#: A verdict lists at most this many paths as evidence.
_MOST_PATHS = 8


class GpuPath(NamedTuple):
    """The path from one GPU to another; ``ceiling`` in bytes/s is 0 if unknown.

    An end may be _HOST. ``usual`` is the median rate in bytes/s of the paths with the same link and
    ceiling.
    """

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
        linked = self.word.startswith(("NV", "XGMI")) or _HOST in (self.origin, self.target)
        return bool(self.ceiling) and (linked or self.word in _DIRECT)

    @property
    def ends(self) -> str:
        """The ends in words: ``GPU 0 → GPU 1``, ``host → GPU 0``."""
        ends = (self.origin, self.target)
        return " → ".join("host" if end == _HOST else f"GPU {end}" for end in ends)

    @property
    def sentence(self) -> str:
        rate = figures.rate(self.rate)
        ceiling = f" of {figures.rate(self.ceiling)}" if self.ceiling else ""
        return f"{self.ends} ({self.word}): {rate}{ceiling}"


_ENDS = {"": ("GPUs", "GPUs"), "to": ("host", "GPUs"), "from": ("GPUs", "host")}


def judge_gpu_pairs(subject: Subject) -> Iterator[Verdict]:
    """Yield a verdict on each matrix of copies between GPUs, measured one direction at a time."""
    for curve in subject.curves:
        if curve.evidence.gpu_pairs and curve.points:
            yield _judge_matrix(subject, curve, curve.evidence.gpu_pairs)


def _judge_matrix(subject: Subject, curve: SuiteCurve, pairs: GpuPairs) -> Verdict:
    paths = _list_host_paths(pairs) if pairs.host else _list_paths(pairs)
    if isinstance(paths, Skipped):
        return Verdict(Outcome.SKIPPED, paths.reason, remedy=_ADD_TOPOLOGY)
    judged = [(_rate_path(subject, path), path) for path in paths]
    outcome = worst((path_outcome for path_outcome, _ in judged), empty=Outcome.SKIPPED)
    slow = sorted(
        (path for path_outcome, path in judged if path_outcome is not Outcome.PASS),
        key=attrgetter("share"),
    )
    # If all paths pass, the one with the lowest share represents them.
    lowest = slow[0] if slow else min(paths, key=attrgetter("share"))
    max_share = 1 + subject.limit("above-ceiling.tolerance")
    above_ceiling = [path for path in paths if path.ceiling and path.share > max_share]
    path_count = sentences.counted(len(paths), "path")
    share_text = f"{figures.percent(lowest.share)} of the link between them"
    if not lowest.ceiling:
        share_text = f"{figures.percent(lowest.share)} of the median of such paths"
    between = "between host and GPUs" if pairs.host else "between GPUs"
    lowest_text = f"{lowest.sentence}, has {share_text}"
    summary = f"all {path_count} {between} pass: the lowest, {lowest_text}"
    if len(paths) == 1:
        summary = lowest_text
    cause, remedy = "", ""
    if slow:
        are, cause, remedy = "is" if len(slow) == 1 else "are", *_SLOW
        common = set.intersection(*({path.origin, path.target} - {_HOST} for path in slow))
        gpu = f", all of GPU {common.pop()}" if len(slow) > 1 and len(common) == 1 else ""
        summary = (
            f"{len(slow)} of {path_count} {between} {are} slow{gpu};"
            f" {lowest.sentence}, {share_text}"
        )
    elif above_ceiling:
        outcome, (cause, remedy) = Outcome.WARN, _ABOVE
        highest = max(above_ceiling, key=attrgetter("share"))
        summary = f"more than the link between them carries: {highest.sentence}"
    return Verdict(
        outcome, summary,
        Figure(lowest.share, "share", f"{lowest.ends}, {lowest.word}"),
        subject.threshold("fraction.gpu_pass" if lowest.direct else "fraction.gpu_like"),
        (*_describe_classes(paths), *(f"slow: {path.sentence}" for path in slow[:_MOST_PATHS])),
        cause, remedy,
        about=VerdictSubject(
            "stream", subject.name, _ENDS[pairs.host], "bandwidth", source=curve.name,
        ),
    )  # fmt: skip


def _rate_path(subject: Subject, path: GpuPath) -> Outcome:
    share_of_usual = path.rate / path.usual
    low = path.direct and path.share < subject.limit("fraction.gpu_warn")
    if low or share_of_usual < subject.limit("fraction.gpu_like_fail"):
        return Outcome.FAIL
    low = path.direct and path.share < subject.limit("fraction.gpu_pass")
    low = low or share_of_usual < subject.limit("fraction.gpu_like")
    return Outcome.WARN if low else Outcome.PASS


def _describe_classes(paths: list[GpuPath]) -> Iterator[str]:
    for (link_word, ceiling), same in group_by(paths, attrgetter("word", "ceiling")).items():
        rates = [path.rate for path in same]
        ceiling_text = f" of {figures.rate(ceiling)} each way" if ceiling else ", unknown rate"
        yield (
            f"{link_word}{ceiling_text}: {sentences.counted(len(rates), 'path')},"
            f" {figures.rate(min(rates))} to {figures.rate(max(rates))},"
            f" median {figures.rate(median(rates))}"
        )


def _list_paths(pairs: GpuPairs) -> list[GpuPath] | Skipped:
    """Return each measured path with its link, or why that is unknown."""
    topology = pairs.topology
    if topology is None or not topology.links:
        return Skipped("the links between the GPUs are unknown")
    numbers = _match_numbers(pairs, topology)
    if isinstance(numbers, Skipped):
        return numbers
    link_words = {frozenset((link.gpu, link.other)): link.word for link in topology.links}
    is_unknown_count = any(map(_UNKNOWN_LINK_COUNT.search, pairs.products))
    if is_unknown_count and any("XGMI" in word for word in link_words.values()):
        return Skipped(f"{topology.source} does not state how many links join two of these GPUs")
    by_index = {gpu.index: gpu for gpu in topology.gpus}
    paths = []
    for row, cells in enumerate(pairs.bytes_per_s):
        for column, rate in enumerate(cells):
            ends = numbers[row], numbers[column]
            word = link_words.get(frozenset(ends), "")
            if rate and word and row != column:
                ceilings = [_ceiling(word, by_index[end], pairs.products) for end in ends]
                paths.append(GpuPath(row, column, rate, word, min(ceilings)))
    return _with_usual(paths) or Skipped(
        f"{topology.source} does not state the links between these GPUs"
    )


def _list_host_paths(pairs: GpuPairs) -> list[GpuPath] | Skipped:
    """Return the path between the host and each GPU, or why the rates of their slots are unknown.

    A slot's rate is that of the printout, else that of the product.
    """
    if any(map(_JOINED_TO_HOST.search, pairs.products)):
        return Skipped("these GPUs are joined to the host by another link than PCI Express")
    (rates,) = pairs.bytes_per_s
    topology = pairs.topology or GpuTopology("", (), ())
    numbers = _match_numbers(pairs, topology) if topology.gpus else Skipped("no printout")
    by_index = {gpu.index: gpu for gpu in topology.gpus}
    paths = []
    for number, rate in enumerate(rates):
        gpu = _UNKNOWN_GPU if isinstance(numbers, Skipped) else by_index[numbers[number]]
        ends = (_HOST, number) if pairs.host == "to" else (number, _HOST)
        if rate:
            paths.append(GpuPath(*ends, rate, "PCIe", _ceiling("PCIe", gpu, pairs.products)))
    return _with_usual(paths)


def _with_usual(paths: list[GpuPath]) -> list[GpuPath]:
    """Return the paths with the median rate of those with the same link and ceiling."""
    classes = group_by(paths, attrgetter("word", "ceiling"))
    usual = {key: median(path.rate for path in same) for key, same in classes.items()}
    return [path._replace(usual=usual[path.word, path.ceiling]) for path in paths]


def _match_numbers(pairs: GpuPairs, topology: GpuTopology) -> list[int] | Skipped:
    """Return nvidia-smi's number of each of nvbandwidth's GPUs: by PCI bus, else the same."""
    count = len(pairs.bytes_per_s[0])
    index_by_bus = {_bus_address(gpu.bus): gpu.index for gpu in topology.gpus if gpu.bus}
    if len(pairs.buses) == count and all(_bus_address(bus) in index_by_bus for bus in pairs.buses):
        return [index_by_bus[_bus_address(bus)] for bus in pairs.buses]
    indices = sorted(gpu.index for gpu in topology.gpus)
    if count == len(indices):
        return indices
    measured = f"{sentences.counted(count, 'GPU')} were measured, and {topology.source} lists"
    return Skipped(f"{measured} {len(indices)}: it is unknown which belong together")


def _bus_address(bus: str) -> tuple[str, ...]:
    """Return domain, bus and device of ``00000000:1b:00`` and ``0000:1b:00.0``."""
    domain, *bus_and_device = bus.lower().partition(".")[0].split(":")
    return (domain.lstrip("0"), *bus_and_device)


def _ceiling(word: str, gpu: Gpu, products: tuple[str, ...]) -> float:
    """Return what a GPU's link carries in bytes/s; 0 if topology and product do not state it."""
    product = gpu.product or (products[0] if len(products) == 1 else "")
    link, lane = next((row[1:] for row in _PRODUCTS if re.search(row[0], product)), (0.0, 0.0))
    if word.startswith("NV"):
        printed_rate = max(gpu.links_bit_s, default=0.0) / 8
        return int(word[2:]) * (printed_rate or link * 1e9)
    if word.startswith("XGMI"):
        return link * 1e9
    capable = gpu.pcie_capable
    if isinstance(capable, Skipped):
        capable = PcieLink(lane, 16)
    return capable.data_bit_s / 8
