"""Explain why a file gave no figure: what it seems to be, the line, and what was expected.

The line of an unread log that looks most like a suite's is found by signs: a program's name or
title is the strongest, then a column's name, a unit, a row of figures.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge.logs.read_files import FileLines
from fabricgauge.logs.readers.interface import FOREIGN
from fabricgauge.logs.readers.lines import text_of
from fabricgauge.logs.readers.suites import Found
from fabricgauge.logs.readers.table import SHOWN_CHARACTERS
from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine

#: Files that a refusal names; it counts the rest.
_MAX_FILES = 5
_SHOWN_CHARACTERS = 60

#: What an unknown file seems to be, by its first line that is not empty.
_LOOKS_LIKE = tuple(
    (re.compile(expression, re.IGNORECASE), text)
    for expression, text in (
        (r"<!doctype html|<html|<head|<body", "an HTML page: save the log itself"),
        (r"%PDF-", "a PDF: copy its text into a file"),
        (r"PK\x03\x04", "a ZIP archive: unpack it first"),
        (r"7z\xbc\xaf|\ufffd|.*\x00", "a binary file"),
        (r"\{\s*(?:[\"}]|$)|\[\s*(?:[\"{\[]|$)", "JSON of another program"),
        (
            r"(?:srun|sbatch|salloc|slurmstepd|mpirun|mpiexec\S*|prterun)\b.*(?:error|fail)",
            "a launcher's error: nothing was measured",
        ),
        (
            r".*command not found|.*no such file or directory",
            "a shell's error: nothing was started",
        ),
    )
)


class RefusedFile(msgspec.Struct, frozen=True):
    """Hold a file without a figure: its first table without one, and its most informative line."""

    name: str
    table: SuiteCurve | None = None
    line: UnparsedLine | None = None

    @property
    def is_foreign(self) -> bool:
        """Check that no reader knew a line, and that its first line does not show the file's
        kind.
        """
        is_explained = self.line is not None and (
            self.line.reason != FOREIGN or _looks_like(self.line)
        )
        return self.table is None and not is_explained

    def with_results(self, results: Sequence[Found]) -> "RefusedFile":
        """Return the file with further results; a line with a reader's own reason wins."""
        tables = (result for result in results if isinstance(result, SuiteCurve))
        lines = [line for line in (self.line, *results) if isinstance(line, UnparsedLine)]
        line = max(
            lines,
            key=lambda line: (line.reason.startswith(UNREADABLE), line.reason != FOREIGN),
            default=None,
        )
        return RefusedFile(self.name, self.table or next(tables, None), line)


def refusal(files: Sequence[RefusedFile]) -> str:
    """Return a clause for each of the first five files."""
    clauses = "; ".join(f"{file.name}{_reason(file)}" for file in files[:_MAX_FILES])
    more = len(files) - _MAX_FILES
    ending = f"; and {more} more files" if more > 0 else ""
    return f"found no figure of a known suite: {clauses or 'no file was given'}{ending}"


def _reason(file: RefusedFile) -> str:
    """Describe what the file seems to be, the line, and what was expected."""
    table, line = file.table, file.line
    if line is not None and line.reason.startswith(UNREADABLE):
        return f": {line.reason}"
    if table is None:
        return " holds no result" if line is None else _line_words(line)
    seems, sign = f" seems to be {table.suite} ({table.benchmark})", table.cut_off
    failed = next(iter(table.failures), None)
    # A failure that the suite itself reports explains more than a launcher's lines behind it.
    if line is not None and line.reason != FOREIGN and failed is None:
        return f"{seems}{_line_words(line)}"
    # A sign that quotes the failing line also explains it.
    if failed is not None and failed.text not in sign:
        sign = f"line {failed.line}: {failed.text}"
    return f"{seems}, line {table.first_line}: {sign or 'no row follows'}"


def _looks_like(line: UnparsedLine) -> str:
    return next((text for form, text in _LOOKS_LIKE if form.match(line.text)), "")


def _line_words(line: UnparsedLine) -> str:
    text = "".join(c if c.isprintable() else "�" for c in line.text)[:_SHOWN_CHARACTERS]
    place = f"line {line.line}, “{text}”"
    if line.reason != FOREIGN:
        return f", {place}: expected {line.reason}"
    seems = _looks_like(line)
    seeming = f" seems to be {seems}," if seems else ","
    return f"{seeming} {place}: expected the output of a known suite"


_HEADING = "a heading above it that names the suite"
#: The sign, and the expected form; the first sign that matches counts.
_SIGNS: tuple[tuple[str, str], ...] = (
    (r"(?i)\bclusterkit\b|^\s*Average (?:latency|bandwidth): ",
     "a suite whose units are known; ClusterKit's documents say neither what its MB is nor whether"
     " its latency is half a round trip"),
    (r"\bosu_[a-z]\w+|(?i:\bosu\b.*\b(?:test|latency|bandwidth))",
     "OSU's title as the program prints it, such as “# OSU MPI Bandwidth Test v7.4”"),
    (r"\bIMB-[A-Z]\w+|(?i:intel.{0,5} mpi benchmark)",
     "IMB's output from “# Benchmarking PingPong” on"),
    (r"\b(?:ib_(?:write|read|send|atomic)|raw_ethernet)_(?:bw|lat)\b",
     "perftest's output from its title on, such as “RDMA_Write BW Test”"),
    (r"\bibv_\w+_pingpong\b", "the lines “… bytes in … seconds” and “… iters in … seconds”"),
    (r"\b(?:all_reduce|all_gather|reduce_scatter|alltoall|sendrecv)_perf\b|(?i:\b[nr]ccl-tests\b)",
     "the table of nccl-tests with its heading (size, count, type, …, algbw, busbw)"),
    (r"(?i)\biperf ?[23]?\b", "iperf's output from “Connecting to host” on, or its JSON"),
    (r"(?i)\bnetperf\b", "netperf's title (“… TEST from … to …”) above its figures"),
    (r"(?i)\b(?:sockperf|qperf|netpipe|np(?:tcp|mpi)|mpigraph|(?:mpi_)?nxnlatbw|gpcnet|nvbandwidth|ucx_perftest|"
     r"ucc_perftest|rocm-bandwidth-test|hpcc|fi_(?:pingpong|msg_bw|rma_bw|rdm_\w+)|superbench|"
     r"reframe)\b",
     "the output of this program as it prints it"),
    (r"#bytes\b|#repetitions|\bt_(?:min|max|avg|typical)\[usec\]|\bBW (?:peak|average)\b"
     r"|Mbytes/sec",
     "this headline of IMB or perftest whole, with figures below it"),
    (r"\b(?:algbw|busbw)\b",
     "the heading of nccl-tests whole (size, count, type, …, algbw, busbw)"),
    (r"\b(?:Latency|Bandwidth) ?\((?:us|MB/s)\)", "OSU's title above this heading"),
    (r"\d ?(?:[KMGT]i?(?:b|B)(?:it|yte)?s?/s(?:ec)?|[KMGT]bps|usecs?|µs|us)\b", _HEADING),
    (r"^\D{0,40}\b\d{1,15}\s+\d+\.\d+(?:\s+\d+(?:\.\d+)?)*\s*$", _HEADING),
)  # fmt: skip
_COMPILED_SIGNS = tuple((re.compile(sign), expected) for sign, expected in _SIGNS)
_SEARCHED_CHARACTERS = 2000


def find_likest_line(path: Path, name: str, within: Path | None = None) -> UnparsedLine | None:
    """Return the line of a file without a figure that looks most like a suite's; None if none does.

    No link may lead out of ``within``.
    """
    best: tuple[int, int, str] | None = None
    number = 0
    for block in FileLines(path, within):
        for text in text_of(block).removesuffix("\n").split("\n"):
            number += 1
            rank_limit = len(_COMPILED_SIGNS) if best is None else best[0]
            for rank, (sign, _) in enumerate(_COMPILED_SIGNS[:rank_limit]):
                if sign.search(text[:_SEARCHED_CHARACTERS]):
                    best = rank, number, text
                    break
    if best is None:
        return None
    rank, number, text = best
    expected = _COMPILED_SIGNS[rank][1]
    return UnparsedLine(number, text.strip()[:SHOWN_CHARACTERS], expected, 1, name)
