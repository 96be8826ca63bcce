"""What lies beside logs and is evidence of them: dumps of NCCL, and printouts on a node's GPUs.

Both are told by their content.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from fabricgauge.discover.printouts import nvidia_smi, rocm_smi
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.discover.survey.same import merge_gpus
from fabricgauge.files.reading import opened
from fabricgauge.model.gpu_pairs import GpuTopology
from fabricgauge.model.nccl import SUITES, NcclDump, NcclEvidence
from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.parse.nccl.dumps import LARGEST_BYTES, dump_of, is_dump
from fabricgauge.parse.suites import Found

_LARGEST_PRINTOUT_BYTES = 1 << 20
_HEAD_BYTES = 512

#: How nvidia-smi's printouts of topo -m, nvlink -s and --query-gpu=index,… begin, and rocm-smi's.
_BEGINS = re.compile(
    r"\s*(?:\x1b\[4m)?\s*(?:GPU0\s|GPU 0: .{1,80}\(UUID|index, |(?P<rocm>=+ ROCm System Manage))"
)

#: What a file with figures has in it; such a file is no printout.
_FIGURES = re.compile(r"nvbandwidth Version|RocmBandwidthTest Version")


class Beside(msgspec.Struct):
    """What lies beside the logs of one folder; printouts, with their names, are of one node."""

    dumps: list[NcclDump] = []
    printouts: list[tuple[str, Parts]] = []

    def joined(self, found: Iterable[Found]) -> Iterator[Found]:
        """The same: dumps stand at tables of collectives, what joins GPUs at matrices of them."""
        replace, topology = msgspec.structs.replace, self._topology()
        for one in found:
            if isinstance(one, SuiteCurve) and one.suite in SUITES and self.dumps:
                told = replace(one.evidence.nccl or NcclEvidence(), dumps=tuple(self.dumps))
                one = replace(one, evidence=replace(one.evidence, nccl=told))
            if isinstance(one, SuiteCurve) and one.evidence.gpu_pairs and topology:
                pairs = replace(one.evidence.gpu_pairs, topology=topology)
                one = replace(one, evidence=replace(one.evidence, gpu_pairs=pairs))
            yield one

    def _topology(self) -> GpuTopology | None:
        if not self.printouts:
            return None
        said = [(name, gpu) for name, parts in self.printouts for gpu in parts.gpus]
        links = next((parts.gpu_links for _, parts in self.printouts if parts.gpu_links), ())
        return GpuTopology(", ".join(name for name, _ in self.printouts), merge_gpus(said), links)


def read_dump(path: Path, name: str, within: Path | None = None) -> NcclDump | UnparsedLine | None:
    """What a dump of NCCL holds, or why nothing could be made of it; None of any other file."""
    try:
        with opened(path, within) as file:
            head = file.read(_HEAD_BYTES)
            if not is_dump(head.decode("utf-8", "replace")):
                return None
            return dump_of(head + file.read(LARGEST_BYTES + 1 - len(head)), name)
    except OSError:
        return None
    except ValueError as error:
        return UnparsedLine(1, "", f"{UNREADABLE}: {error}", source=name)


def read_printout(path: Path, within: Path | None = None) -> Parts | None:
    """What a printout of nvidia-smi or rocm-smi says of GPUs; None of any other file."""
    try:
        with opened(path, within) as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
            begins = _BEGINS.match(head)
            if not begins:
                return None
            text = head + file.read(_LARGEST_PRINTOUT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    parts = rocm_smi.parse(text) if begins["rocm"] else nvidia_smi.parse(text)
    return None if _FIGURES.search(text) or not parts.gpus else parts
