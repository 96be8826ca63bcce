"""What nvidia-smi or rocm-smi printed beside a log of copies between GPUs: told by its content, and
joined to it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge.discover.printouts import nvidia_smi, rocm_smi
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.survey.same import gpus
from fabricgauge.files.reading import opened
from fabricgauge.model.gpu_pairs import GpuTopology
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.suites import Found

_LARGEST_BYTES = 1 << 20
_HEAD_BYTES = 512

#: How nvidia-smi's printouts of topo -m, nvlink -s and --query-gpu=index,… begin, and rocm-smi's.
_BEGINS = re.compile(
    r"\s*(?:\x1b\[4m)?\s*(?:GPU0\s|GPU 0: .{1,80}\(UUID|index, |(?P<rocm>=+ ROCm System Manage))"
)

#: What a file with figures has in it; such a file is no printout.
_FIGURES = re.compile(r"nvbandwidth Version|RocmBandwidthTest Version")


def read_printout(path: Path, within: Path | None = None) -> Parts | None:
    """What a printout of either tool says of GPUs; None of any other file."""
    try:
        with opened(path, within) as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
            begins = _BEGINS.match(head)
            if not begins:
                return None
            text = head + file.read(_LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    parts = rocm_smi.parse(text) if begins["rocm"] else nvidia_smi.parse(text)
    return None if _FIGURES.search(text) or not parts.gpus else parts


def by_folder(printouts: Mapping[Path, tuple[str, Parts]]) -> dict[Path, GpuTopology]:
    """What all printouts in a folder say together; those of one node are meant to be there."""
    folders: dict[Path, list[tuple[str, Parts]]] = {}
    for path, named in printouts.items():
        folders.setdefault(path.parent.absolute(), []).append(named)
    return {folder: _topology(every) for folder, every in folders.items()}


def _topology(every: Sequence[tuple[str, Parts]]) -> GpuTopology:
    said = [(name, gpu) for name, parts in every for gpu in parts.gpus]
    links = next((parts.gpu_links for _, parts in every if parts.gpu_links), ())
    return GpuTopology(", ".join(name for name, _ in every), gpus(said), links)


def joined(found: Iterable[Found], topology: GpuTopology | None) -> Iterator[Found]:
    """The same, with the topology beside each matrix of GPUs."""
    replace = msgspec.structs.replace
    for one in found:
        if isinstance(one, SuiteCurve) and one.evidence.gpu_pairs and topology:
            pairs = replace(one.evidence.gpu_pairs, topology=topology)
            one = replace(one, evidence=replace(one.evidence, gpu_pairs=pairs))
        yield one
