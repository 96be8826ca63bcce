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
_REFUSALS = (
    (re.compile(r"\s*# !! Benchmark .* invalid for"), "a number of processes that it can run on"),
    (re.compile(r"\s*# NO SUCCESSFUL EXECUTIONS"), "a table; IMB-MT says that no rank could run"),
    (re.compile(r"Invalid (?:benchmark name|option|data_type) \S"), "a command that IMB accepts"),
    (re.compile(r"\s*#\s*Attention, invalid benchmark name"), "a command that IMB accepts"),
    (re.compile(r"\s*(?:\d+: )?Error .*,\s*size = \d+,\s*sample #\d+"), "data without errors"),
    (re.compile(r".*(?:Benchmark unsuccessful !!!|BENCHMARKS? FAILED|: FAILED !!)"), "success"),
)


def is_prose(text: str) -> bool:
    """Whether a line is one of IMB's that tell nothing more of the figures."""
    return _PROSE.fullmatch(text) is not None


def is_last_line(text: str) -> bool:
    """Whether IMB says that it is done."""
    return _LAST_LINE.fullmatch(text) is not None


def zone_of(text: str) -> Literal["command", "list"] | None:
    """What the lines after this one are, if it begins the command or the list."""
    if _COMMAND.fullmatch(text):
        return "command"
    return "list" if _LIST.fullmatch(text) else None


def refusal_in(text: str) -> str:
    """What should have been where IMB says that it cannot, or that data are wrong."""
    return next((reason for pattern, reason in _REFUSALS if pattern.match(text)), "")
