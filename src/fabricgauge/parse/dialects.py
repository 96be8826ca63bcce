"""The suites whose output can be read: one row each; and which of them begins in a line."""

import re
from functools import lru_cache

from fabricgauge.parse import (
    fabtests,
    gpcnet,
    imb,
    iperf2,
    iperf3,
    iperf3_document,
    mpigraph,
    nccl,
    netpipe,
    nvbandwidth,
    nvbandwidth_json,
    osu,
    perftest,
    ucx,
)
from fabricgauge.parse.imb import mrate_table
from fabricgauge.parse.interface import Dialect, JsonDialect

DIALECTS: tuple[Dialect, ...] = (
    perftest.DIALECT,
    ucx.DIALECT,
    fabtests.DIALECT,
    osu.DIALECT,
    nccl.DIALECT,
    nvbandwidth.DIALECT,
    imb.DIALECT,
    mrate_table.DIALECT,
    iperf3.DIALECT,
    iperf2.DIALECT,
    netpipe.DIALECT,
    mpigraph.DIALECT,
    gpcnet.DIALECT,
)

JSON_DIALECTS: tuple[JsonDialect, ...] = (
    perftest.JSON_DIALECT,
    nccl.JSON_DIALECT,
    nvbandwidth_json.JSON_DIALECT,
    iperf3_document.JSON_DIALECT,
)

#: What each match contains, the dialect's place, and the expression.
_BEGINS = tuple(
    (literal, place, re.compile(expression))
    for place, dialect in enumerate(DIALECTS)
    for literal, expression in dialect.begins.items()
)
#: Longer lines are not remembered: they hardly come again, and memory stays bounded.
_REMEMBERED = 200


def dialect_begun(text: str, at_start: bool = False) -> int:
    """The place in ``DIALECTS`` of the suite whose output begins in a line, -1 if none does."""
    return (_remembered if len(text) <= _REMEMBERED else _begun)(text, at_start)


def _begun(text: str, at_start: bool) -> int:
    for literal, place, expression in _BEGINS:
        if literal in text:
            anchored = at_start or expression.pattern[0] == "^"
            if (expression.match if anchored else expression.search)(text):
                return place
    return -1


#: Headings, rulers and settings are most of what stands between rows, and alike in every table.
_remembered = lru_cache(maxsize=4096)(_begun)
