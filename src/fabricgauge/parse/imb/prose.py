"""Lines of IMB that say nothing of the figures, and those that say that there are none.

From IMB_output.c, IMB_g_info.c, IMB_benchlist.c and IMB.c of 4.0.0 and 2018, and the same,
MT_benchmark.h, MT_suite.cpp and P2P/imb_p2p.c of 2021.11.
"""

import re
from typing import Literal

_PROSE = re.compile(
    r"\s*(?:"
    r"#[\s#]*$"
    r"|#\s*(?:Date|Machine|System|Release|Version|MPI Version|MPI Thread Environment|MPI_Op)\s*:.*"
    r"|#\s*(?:MPI_Datatype|Minimum (?:message length|io portion) in bytes).*"
    r"|#\s*New default behavior from Version 3\.2 on:.*"
    r"|#\s*(?:the number of iterations|dynamically when|is expected to be|\"SECS_PER_SAMPLE\").*"
    r"|#\s*or through the flag => -time.*"
    r"|#\s*For nonblocking benchmarks:.*|#\s*Function CPU_Exploit obtains.*"
    r"|#\s*performance of\s+[\d.]+ MFlops.*"
    r"|#\s*Remarks on the current Version:.*|#\s*!! Attention: results have been achieved.*"
    r"|#\s*!! IMB_OPTIONAL mode.*|#\s*!! Results may differ.*"
    r"|#\s*of calls to IMB_v_alloc / IMB_v_free match.*"
    r"|!!!!\s+ALL BENCHMARKS SUCCESSFUL !!!!|\S+\s+: Successful"
    r")\s*"
)
_LAST_LINE = re.compile(r"\s*# (?:All processes entering MPI_Finalize|IMB has MPI_Finalize-d)\s*")
_COMMAND = re.compile(r"\s*#\s*Calling sequence was:.*")
_LIST = re.compile(r"\s*#\s*List of Benchmarks to run:.*")
_RANKS_REFUSED = "a number of processes that it can run on"
_NO_RANKS = "a table; IMB-MT says that no rank could run"
_COMMAND_REFUSED = "a command that IMB accepts"
#: What a refusal contains, how it reads, and what should have been instead.
_REFUSALS = tuple(
    (literal, re.compile(expression), expected)
    for literal, expression, expected in (
        (" invalid for", r"\s*# !! Benchmark .* invalid for", _RANKS_REFUSED),
        ("NO SUCC", r"\s*# NO SUCCESSFUL EXECUTIONS", _NO_RANKS),
        ("Invalid ", r"Invalid (?:benchmark name|option|data_type) \S", _COMMAND_REFUSED),
        ("Attention", r"\s*#\s*Attention, invalid benchmark name", _COMMAND_REFUSED),
        ("Error ", r"\s*(?:\d+: )?Error .*,\s*size = \d+,\s*sample #\d+", "data without errors"),
        ("FAILED", r".*(?:BENCHMARKS? FAILED|: FAILED !!)", "success"),
        ("unsucc", r".*Benchmark unsuccessful !!!", "success"),
    )
)


def is_prose(text: str) -> bool:
    """Whether a line is one of IMB's that tell nothing more of the figures."""
    return _PROSE.fullmatch(text) is not None


def is_last_line(text: str) -> bool:
    """Whether IMB says that it is done."""
    return "MPI_Finalize" in text and _LAST_LINE.fullmatch(text) is not None


def zone_of(text: str) -> Literal["command", "list"] | None:
    """What the lines after this one are, if it begins the command or the list."""
    if _COMMAND.fullmatch(text):
        return "command"
    return "list" if _LIST.fullmatch(text) else None


def refusal_in(text: str) -> str:
    """What should have been where IMB says that it cannot, or that data are wrong."""
    for literal, expression, expected in _REFUSALS:
        if literal in text and expression.match(text):
            return expected
    return ""
