"""Read the evidence beside logs: dumps of NCCL, and printouts on a node's GPUs.

Their content shows which they are.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from fabricgauge.logs.readers.nccl.dumps import LARGEST_BYTES, dump_of, is_dump
from fabricgauge.model.nccl import SUITES, NcclDump, NcclEvidence
from fabricgauge.model.suite import (
    UNREADABLE,
    GpuTopology,
    LogContent,
    SuiteCurve,
    TableFamily,
    UnparsedLine,
)
from fabricgauge.nodes.discover.printouts import gpus
from fabricgauge.nodes.discover.printouts.parsing import Parts
from fabricgauge.nodes.discover.survey.same import merge_gpus
from fabricgauge.store.files.reading import opened

_LARGEST_PRINTOUT_BYTES = 1 << 20
_HEAD_BYTES = 512

#: First words of nvidia-smi's printouts of topo -m, nvlink -s, --query-gpu=index,…; of rocm-smi's.
_PRINTOUT_HEAD = re.compile(
    r"\s*(?:\x1b\[4m)?\s*(?:GPU0\s|GPU 0: .{1,80}\(UUID|index, |(?P<rocm>=+ ROCm System Manage))"
)

#: Words of a file with figures; such a file is no printout.
_FIGURES = re.compile(r"nvbandwidth Version|RocmBandwidthTest Version")


_Content = TypeVar("_Content", bound=LogContent)


class Companions(msgspec.Struct):
    """Hold the evidence beside the logs of one folder; the named printouts are of one node."""

    dumps: list[NcclDump] = []
    printouts: list[tuple[str, Parts]] = []

    def join_evidence(self, contents: Iterable[_Content]) -> Iterator[_Content | SuiteCurve]:
        """Add dumps to tables of collectives, and the GPUs' links to matrices of GPU pairs."""
        replace = msgspec.structs.replace
        gpus_by_file = [(name, gpu) for name, parts in self.printouts for gpu in parts.gpus]
        links = next((parts.gpu_links for _, parts in self.printouts if parts.gpu_links), ())
        names = ", ".join(name for name, _ in self.printouts)
        topology = GpuTopology(names, merge_gpus(gpus_by_file), links) if self.printouts else None
        for content in self._unfold(contents):
            if isinstance(content, SuiteCurve) and content.suite in SUITES and self.dumps:
                nccl = replace(content.evidence.nccl or NcclEvidence(), dumps=tuple(self.dumps))
                content = replace(content, evidence=replace(content.evidence, nccl=nccl))
            if isinstance(content, SuiteCurve) and content.evidence.gpu_pairs and topology:
                pairs = replace(content.evidence.gpu_pairs, topology=topology)
                content = replace(content, evidence=replace(content.evidence, gpu_pairs=pairs))
            yield content

    def _unfold(self, contents: Iterable[_Content]) -> Iterator[_Content | SuiteCurve]:
        """Yield tables of collectives one by one if dumps of NCCL belong to them."""
        for content in contents:
            is_family = isinstance(content, TableFamily) and content.curves[0].suite in SUITES
            if isinstance(content, TableFamily) and is_family and self.dumps:
                from fabricgauge.model.families import rows_of

                rows = rows_of((content,))
                for row in range(content.tables):
                    yield from rows.table(row)
            else:
                yield content


def read_dump(path: Path, name: str, within: Path | None = None) -> NcclDump | UnparsedLine | None:
    """Return an NCCL dump, or why it is unreadable; None for any other file."""
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
    """Return the GPUs of a printout of nvidia-smi or rocm-smi; None for any other file."""
    try:
        with opened(path, within) as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
            begins = _PRINTOUT_HEAD.match(head)
            if not begins:
                return None
            text = head + file.read(_LARGEST_PRINTOUT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    parts = gpus.parse_rocm_smi(text) if begins["rocm"] else gpus.parse_nvidia_smi(text)
    return None if _FIGURES.search(text) or not parts.gpus else parts
