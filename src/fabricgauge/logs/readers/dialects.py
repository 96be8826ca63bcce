"""The suites whose output can be read, one row each, and the search for their first lines."""

import re

import msgspec

from fabricgauge.logs.readers import (
    fabtests,
    gpcnet,
    hpcc,
    imb,
    iperf2,
    iperf3,
    iperf3_document,
    mpigraph,
    nccl,
    netperf,
    netpipe,
    nvbandwidth,
    nxnlatbw,
    osu,
    perftest,
    pingpong,
    qperf,
    reframe,
    rocm_bandwidth,
    sockperf,
    superbench,
    ucc,
    ucx,
)
from fabricgauge.logs.readers.imb import mrate_table
from fabricgauge.logs.readers.interface import Dialect, JsonDialect
from fabricgauge.logs.readers.lines import remembered

DIALECTS: tuple[Dialect, ...] = (
    perftest.DIALECT,
    ucx.DIALECT,
    fabtests.DIALECT,
    osu.DIALECT,
    nccl.DIALECT,
    nvbandwidth.DIALECT,
    rocm_bandwidth.DIALECT,
    imb.DIALECT,
    mrate_table.DIALECT,
    iperf3.DIALECT,
    iperf2.DIALECT,
    netpipe.DIALECT,
    mpigraph.DIALECT,
    nxnlatbw.DIALECT,
    gpcnet.DIALECT,
    hpcc.DIALECT,
    netperf.DIALECT,
    sockperf.DIALECT,
    qperf.DIALECT,
    pingpong.DIALECT,
    ucc.DIALECT,
    reframe.DIALECT,
)

JSON_DIALECTS: tuple[JsonDialect, ...] = (
    perftest.JSON_DIALECT,
    nccl.JSON_DIALECT,
    nvbandwidth.JSON_DIALECT,
    iperf3_document.JSON_DIALECT,
    superbench.RAW_DIALECT,
    superbench.JSON_DIALECT,
)

#: A text that each match contains, the dialect's place, and the expression.
_BEGINS = tuple(
    (literal, place, re.compile(expression))
    for place, dialect in enumerate(DIALECTS)
    for literal, expression in dialect.begins.items()
)


#: Each line that begins an output contains one of these texts, with its ``# `` or without.
_TEXTS = frozenset(literal.lstrip("# ") for literal, _, _ in _BEGINS if len(literal) > 1)
_CSV_ROW = re.compile(r"\d{14}[.,]")


@remembered
def may_begin(text: str) -> bool:
    """Check quickly whether a suite's output can begin in a line, at any place of it."""
    for literal in _TEXTS:
        if literal in text:
            return True
    if "{" in text:
        return True
    # Beginnings whose text is one character are a test of qperf (``tcp_bw:``), a row of NetPIPE,
    # and of iperf 2's CSV.
    last_word = text.rstrip().rpartition(" ")[2]
    if last_word[-1:] == ":":
        return "_" in last_word
    return last_word.replace(".", "", 1).isdecimal() or _CSV_ROW.search(text) is not None


@remembered
def dialect_begun(text: str) -> int:
    """Return the place in ``DIALECTS`` of the suite whose output begins in a line, or -1."""
    if not may_begin(text):
        return -1
    for literal, place, expression in _BEGINS:
        if literal in text:
            anchored = expression.pattern[0] == "^"
            if (expression.match if anchored else expression.search)(text):
                return place
    return -1


#: Forms of lines that lost their ``# ``, for all suites.
_UNMARKED = re.compile(
    "|".join(f"(?:{dialect.unmarked})" for dialect in DIALECTS if dialect.unmarked)
)


class Opening(msgspec.Struct, frozen=True):
    """A line as its suite printed it. ``indent`` stood in front of a suite's first line."""

    text: str
    indent: str | None = None


@remembered
def opening_of(text: str) -> Opening:
    """Return a line as its suite printed it, with the ``# `` that Markdown removed."""
    bare = text.lstrip()
    blanks = text[: len(text) - len(bare)]
    if bare[:2] == r"\#":
        bare = bare[1:]
    elif _UNMARKED.fullmatch(bare.rstrip()):
        bare = f"# {bare}"
    return Opening(bare, blanks) if dialect_begun(bare) >= 0 else Opening(blanks + bare)


@remembered
def begins_at_start(text: str) -> bool:
    """Check whether a suite's first line stands at the very start of a text."""
    return dialect_begun(text) >= 0 and any(
        literal in text and expression.match(text) for literal, _, expression in _BEGINS
    )
