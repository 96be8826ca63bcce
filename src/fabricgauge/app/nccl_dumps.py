"""Dumps of NCCL beside its logs: told by their content, and joined to the tables of those logs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge.files.reading import opened
from fabricgauge.model.nccl import NcclDump, NcclEvidence
from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.parse.nccl.dumps import LARGEST_BYTES, dump_of, is_dump
from fabricgauge.parse.nccl.library import SUITES
from fabricgauge.parse.suites import Found

_HEAD_BYTES = 256


def may_be_dump(path: Path, within: Path | None = None) -> bool:
    """Whether a file begins as a dump does; one that cannot be read is none."""
    try:
        with opened(path, within) as file:
            return is_dump(file.read(_HEAD_BYTES).decode("utf-8", "replace"))
    except OSError:
        return False


def read_dump(path: Path, name: str, within: Path | None = None) -> NcclDump | UnparsedLine:
    """What a dump holds, or why nothing could be made of it."""
    try:
        with opened(path, within) as file:
            return dump_of(file.read(LARGEST_BYTES + 1), name)
    except (OSError, ValueError) as error:
        return UnparsedLine(1, "", f"{UNREADABLE}: {error}", source=name)


def joined(found: Iterable[Found], dumps: Sequence[NcclDump]) -> Iterator[Found]:
    """The same, with the dumps as evidence of each table of nccl-tests and rccl-tests."""
    for one in found:
        if isinstance(one, SuiteCurve) and one.suite in SUITES and dumps:
            replace = msgspec.structs.replace
            told = replace(one.evidence.nccl or NcclEvidence(), dumps=tuple(dumps))
            one = replace(one, evidence=replace(one.evidence, nccl=told))
        yield one


def by_folder(paths: Mapping[Path, NcclDump]) -> dict[Path, list[NcclDump]]:
    """Dumps by the folder that they are in."""
    found: dict[Path, list[NcclDump]] = {}
    for path, dump in paths.items():
        found.setdefault(path.parent.absolute(), []).append(dump)
    return found
